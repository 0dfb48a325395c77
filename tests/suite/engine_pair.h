#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <latch>
#include <memory>
#include <thread>

#include "bench/engine.h"
#include "verbs/device.h"

namespace railgauge::testing_support {

/// Both sides of one measurement in this process, each on a thread, with what a session does between them: the offers,
/// and "the other side's active part has ended".
class EnginePair {
 public:
  /// `client_faults`: a fault script of the stand-in device (tests/sim/verbs/formats.md) for the client's side only.
  explicit EnginePair(const plan::Plan& plan, const char* client_faults = "") : plan_(plan) {
    host::Snapshot facts;
    facts.hostname = "here";
    verbs::merge_into(facts);
    const std::string address = "127.0.0.1";
    unsetenv("RAILGAUGE_SIM_FAULTS");
    server_ = bench::make_rdma_engine({plan_, bench::Side::server, facts, facts, address, address});
    setenv("RAILGAUGE_SIM_FAULTS", client_faults, 1);
    client_ = bench::make_rdma_engine({plan_, bench::Side::client, facts, facts, address, address});
    unsetenv("RAILGAUGE_SIM_FAULTS");
  }

  void connect() {
    transport::Offer server_offer = server_->offer(nullptr);
    transport::Offer client_offer = client_->offer(&server_offer);
    Deadline deadline = Deadline::after(std::chrono::seconds(10));
    server_->connect(client_offer, deadline);
    client_->connect(server_offer, deadline);
  }

  /// Runs both to the end.
  void run() {
    std::latch all_here(1);  // an engine may take the last thread there is
    std::thread server([&] { all_here.wait(), server_result = server_->run(server_control); });
    std::thread client([&] { all_here.wait(), client_result = client_->run(client_control); });
    std::thread messenger([&] { all_here.wait(), carry_messages(); });
    all_here.count_down();
    server.join();
    client.join();
    over_ = true;
    messenger.join();
  }

  bench::RunControl client_control;
  bench::RunControl server_control;
  results::SideResult client_result;
  results::SideResult server_result;

 private:
  void carry_messages() {
    while (!over_) {
      pass_on(client_control, server_control);
      pass_on(server_control, client_control);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  static void pass_on(const bench::RunControl& from, bench::RunControl& to) {
    if (!from.active_done || to.peer_done) return;
    to.peer_completed = from.completed;
    to.peer_done = true;
  }

  plan::Plan plan_;
  std::atomic<bool> over_{false};
  std::unique_ptr<bench::Engine> server_;
  std::unique_ptr<bench::Engine> client_;
};

}  // namespace railgauge::testing_support
