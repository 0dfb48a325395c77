#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "cluster/rendezvous.h"
#include "support.h"

// Ranks of a job, as threads of this process.

namespace railgauge::cluster {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline const std::string kToken = "k7qd-2m9x-0v4t-of-tests";

/// Far away for what has to work, also under sanitizers on a busy machine.
inline Deadline soon() { return Deadline::after(seconds(30)); }

/// A loopback port that nobody listens on.
inline std::uint16_t free_port() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) throw system_error("bind", errno);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// A rank of a job by srun whose ranks stand on hosts host-a (0, 1, 2), host-b (3, 4, 5), host-c, …
inline RendezvousOptions options_of(int rank, int world, std::uint16_t port) {
  RendezvousOptions options;
  options.launch.source = Launcher::slurm;
  options.launch.rank = rank;
  options.launch.world = world;
  options.launch.rendezvous = MeetingPoint{"127.0.0.1", port};
  options.launch.launched = true;
  options.launch.job = "51234.2";
  options.launch.why = "as the test says";
  options.self.hostname = std::string("host-") + static_cast<char>('a' + rank / 3);
  options.self.pid = 1000 + rank;
  options.self.tool_version = "1.2.3";
  options.token = kToken;
  options.budget = seconds(20);
  return options;
}

/// What became of a rank: the Error it ended with, or none.
using Outcome = std::optional<Error>;
using RankBody = std::function<void(Rendezvous&)>;

inline Outcome run_rank(const RendezvousOptions& options, const RankBody& body = {}) {
  try {
    Rendezvous rendezvous(options);
    if (body) body(rendezvous);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

inline std::future<Outcome> start_rank(RendezvousOptions options, RankBody body = {}) {
  return std::async(std::launch::async, [options = std::move(options), body = std::move(body)] { return run_rank(options, body); });
}

/// All ranks of a world run `body`; `change` may alter a rank's options before.
inline std::vector<Outcome> run_world(int world, const RankBody& body, const std::function<void(RendezvousOptions&)>& change = {}) {
  std::uint16_t port = free_port();
  std::vector<std::future<Outcome>> ranks;
  for (int rank = 0; rank < world; ++rank) {
    RendezvousOptions options = options_of(rank, world, port);
    if (change) change(options);
    ranks.push_back(start_rank(options, body));
  }
  std::vector<Outcome> outcomes;
  for (auto& rank : ranks) outcomes.push_back(rank.get());
  return outcomes;
}

inline std::string text_of(const Outcome& outcome) { return outcome ? outcome->what() : "no error"; }

}  // namespace railgauge::cluster
