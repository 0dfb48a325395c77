#pragma once
#include <memory>
#include <string>
#include <thread>

#include "bench/engine.h"

namespace railgauge::bench {

/// Both sides of one TCP measurement in this process, each on a thread of its own, as two hosts would run it.
struct EnginePair {
  std::unique_ptr<Engine> server;
  std::unique_ptr<Engine> client;
  RunControl server_control;
  RunControl client_control;
  results::SideResult server_result;
  results::SideResult client_result;

  EnginePair(const plan::Plan& plan, const std::string& address, const host::Snapshot& host = {})
      : server(make_tcp_engine({plan, Side::server, host, host, address, address})), client(make_tcp_engine({plan, Side::client, host, host, address, address})) {}

  /// Throws what either side's connect throws.
  void connect() {
    const auto offer = server->offer(nullptr);
    const auto mine = client->offer(&offer);
    std::exception_ptr failure;
    std::thread accepting([&] {
      try {
        server->connect(mine, Deadline::after(std::chrono::seconds(5)));
      } catch (...) {
        failure = std::current_exception();
      }
    });
    try {
      client->connect(offer, Deadline::after(std::chrono::seconds(5)));
    } catch (...) {
      failure = std::current_exception();
    }
    accepting.join();
    if (failure) std::rethrow_exception(failure);
  }

  void run() {
    std::thread serving([&] { server_result = server->run(server_control); });
    client_result = client->run(client_control);
    serving.join();
  }
};

}  // namespace railgauge::bench
