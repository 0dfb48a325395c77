// Good days, and ranks that do not come or should not: ranks are threads.
#include "cluster/rendezvous.h"

#include <fmt/format.h>

#include <atomic>

#include "control/connect.h"
#include "control/protocol.h"
#include "ranks.h"
#include "unit/control/doors.h"

namespace railgauge::cluster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class World : public ::testing::TestWithParam<int> {};

TEST_P(World, MeetsAndTalks) {
  const int world = GetParam();
  std::string blob;
  for (int i = 0; i < 128; ++i) blob += static_cast<char>(i * 37 + 11);
  std::string big(300'000, 'b');
  std::atomic<int> checked{0};
  auto body = [&](Rendezvous& r) {
    ASSERT_EQ(r.world(), world);
    EXPECT_EQ(r.blob(), blob);
    for (int i = 0; i < world; ++i) {
      EXPECT_EQ(r.roster()[static_cast<std::size_t>(i)].rank, i);
      EXPECT_EQ(r.roster()[static_cast<std::size_t>(i)].pid, 1000 + i);
      EXPECT_EQ(r.roster()[static_cast<std::size_t>(i)].gpu_uuid, fmt::format("GPU-{}", 7 * i + 5));
    }
    for (int turn = 3; turn < 6; ++turn) {
      r.report_step(fmt::format("turn {}", turn));
      r.barrier(fmt::format("turn {}", turn), soon());
      auto texts = r.gather("times", fmt::format("[{}, {}]", r.rank() * 11, turn), soon());
      ASSERT_EQ(texts.size(), static_cast<std::size_t>(r.rank() == 0 ? world : 1));
      for (int i = 0; i < world && r.rank() == 0; ++i) EXPECT_EQ(texts[static_cast<std::size_t>(i)], fmt::format("[{}, {}]", i * 11, turn));
      EXPECT_EQ(r.broadcast("plan", r.rank() == 0 ? big + fmt::format("{}", turn) : "not looked at", soon()),
                big + fmt::format("{}", turn));
    }
    EXPECT_FALSE(r.ended());
    r.barrier("the end", soon());
    ++checked;
  };
  auto outcomes = run_world(world, body, [&](RendezvousOptions& o) {
    o.self.gpu_uuid = fmt::format("GPU-{}", 7 * o.launch.rank + 5);
    if (o.launch.rank == 0) o.blob = blob;
  });
  for (const Outcome& outcome : outcomes) EXPECT_FALSE(outcome) << text_of(outcome);
  EXPECT_EQ(checked, world);
}
INSTANTIATE_TEST_SUITE_P(Sizes, World, ::testing::Values(1, 2, 8));

TEST(Rendezvous, LateRanksAreWaitedForAlsoRankZero) {
  std::uint16_t port = free_port();
  auto two = start_rank(options_of(2, 3, port), [](Rendezvous& r) { r.barrier("x", soon()); });
  std::this_thread::sleep_for(milliseconds(400));
  auto zero = start_rank(options_of(0, 3, port), [](Rendezvous& r) { r.barrier("x", soon()); });
  std::this_thread::sleep_for(milliseconds(400));
  auto one = start_rank(options_of(1, 3, port), [](Rendezvous& r) { r.barrier("x", soon()); });
  for (auto* rank : {&zero, &one, &two}) EXPECT_EQ(text_of(rank->get()), "no error");
}

TEST(Rendezvous, MissingRanksAreNamedOnEveryRank) {
  std::uint16_t port = free_port();
  std::vector<std::future<Outcome>> here;
  for (int rank : {0, 1, 2, 4, 6, 7}) {
    RendezvousOptions options = options_of(rank, 8, port);
    if (rank == 0) options.budget = milliseconds(2500);
    here.push_back(start_rank(options));
  }
  for (auto& rank : here) {
    Outcome outcome = rank.get();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind(), ErrorKind::timeout) << text_of(outcome);
    EXPECT_THAT(text_of(outcome),
                AllOf(HasSubstr("ranks 3, 5 of 8 have not arrived after 2.5 s; here are 0-2 (host-a), 4 (host-b), 6, 7 (host-c)"),
                      HasSubstr("started with world 8 by slurm"), HasSubstr("127.0.0.1")));
  }
}

TEST(Rendezvous, WithoutRankZeroItSaysWhereItLooked) {
  RendezvousOptions options = options_of(3, 8, free_port());
  options.budget = milliseconds(700);
  Outcome outcome = run_rank(options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind(), ErrorKind::timeout);
  EXPECT_THAT(text_of(outcome),
              AllOf(HasSubstr("rank 3 of 8 (host-b) could not reach rank 0 at 127.0.0.1 port"), HasSubstr("nothing listens there")));
}

/// Runs ranks 0 and 1 of 3 and, once they wait, `odd`; then the right rank 2. Returns what became of `odd`.
Outcome meet_beside(const RendezvousOptions& odd, std::uint16_t port) {
  auto body = [](Rendezvous& r) { r.barrier("x", soon()); };
  auto zero = start_rank(options_of(0, 3, port), body);
  auto one = start_rank(options_of(1, 3, port), body);
  Outcome outcome = run_rank(odd);
  EXPECT_EQ(text_of(run_rank(options_of(2, 3, port), body)), "no error");
  EXPECT_EQ(text_of(zero.get()), "no error");
  EXPECT_EQ(text_of(one.get()), "no error");
  return outcome;
}

TEST(Rendezvous, WrongWorldIsRefusedAndTheJobGoesOn) {
  std::uint16_t port = free_port();
  Outcome outcome = meet_beside(options_of(2, 5, port), port);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind(), ErrorKind::usage);
  EXPECT_THAT(text_of(outcome), HasSubstr("rank 0 (host-a, process 1000) waits for 3 ranks, this process is one of 5"));
}

TEST(Rendezvous, OtherJobIsRefused) {
  std::uint16_t port = free_port();
  RendezvousOptions other = options_of(2, 3, port);
  other.launch.job = "51235.0";
  EXPECT_THAT(text_of(meet_beside(other, port)), AllOf(HasSubstr("is of job 51234.2 of slurm, this process of job 51235.0 of slurm")));
}

TEST(Rendezvous, WrongTokenIsSaidAtOnce) {
  std::uint16_t port = free_port();
  RendezvousOptions odd = options_of(2, 3, port);
  odd.token = "another-token-of-tests";
  Outcome outcome = meet_beside(odd, port);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind(), ErrorKind::peer);
  EXPECT_THAT(text_of(outcome), AllOf(HasSubstr("rank 2 of 3 (host-a) cannot join rank 0"), HasSubstr("does not accept this side's token"),
                                      Not(HasSubstr("another-token"))));
  odd.token.clear();
  EXPECT_THAT(text_of(meet_beside(odd, port)), HasSubstr("asks for a token"));
}

TEST(Rendezvous, SecondProcessOfARankIsRefused) {
  std::uint16_t port = free_port();
  std::promise<void> met;
  auto until_met = met.get_future().share();
  auto body = [&](Rendezvous& r) {
    until_met.wait();
    r.barrier("x", soon());
  };
  auto zero = start_rank(options_of(0, 3, port), [&](Rendezvous& r) {
    Outcome second = run_rank(options_of(2, 3, port));
    EXPECT_THAT(
        text_of(second),
        HasSubstr(
            "rank 2 of 3 is here already (host-a, process 1002), and this process (host-a, process 1002) says that it is rank 2 too"));
    met.set_value();
    r.barrier("x", soon());
  });
  auto one = start_rank(options_of(1, 3, port), body);
  auto two = start_rank(options_of(2, 3, port), body);
  for (auto* rank : {&zero, &one, &two}) EXPECT_EQ(text_of(rank->get()), "no error");
}

TEST(Rendezvous, OtherMajorEndsTheJobAndIsSaidOnBothSides) {
  for (bool nccl : {false, true}) {
    auto outcomes = run_world(3, {}, [&](RendezvousOptions& o) {
      o.self.nccl_version = "2.27.5";
      if (o.launch.rank == 1) (nccl ? *o.self.nccl_version : o.self.tool_version) = "3.0.1";
    });
    std::string wanted = nccl ? "rank 0 has NCCL 2.27.5, this process 3.0.1" : "rank 0 has railgauge 1.2.3, this process 3.0.1";
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->kind(), ErrorKind::usage);
      EXPECT_THAT(text_of(outcome), HasSubstr(wanted));
    }
    EXPECT_THAT(text_of(outcomes[0]), HasSubstr("rank 1 (host-a, process 1001) is refused"));
  }
}

TEST(Rendezvous, RefusedRanksStandInTheDeadlinesText) {
  std::uint16_t port = free_port();
  RendezvousOptions options = options_of(0, 3, port);
  options.budget = seconds(2);
  auto zero = start_rank(options);
  (void)run_rank(options_of(1, 9, port));
  RendezvousOptions stranger = options_of(1, 3, port);
  stranger.token = "another-token-of-tests";
  (void)run_rank(stranger);
  EXPECT_THAT(text_of(zero.get()),
              AllOf(HasSubstr("ranks 1, 2 of 3 have not arrived"), HasSubstr("refused was rank 1 (host-a, process 1001)"),
                    HasSubstr("one of 9"), HasSubstr("1 connections came with a wrong token")));
}

// Several processes that each believe to be rank 0 of the same job.
TEST(Rendezvous, SecondRankZeroIsToldOfTheFirst) {
  std::uint16_t port = free_port();
  auto body = [](Rendezvous& r) { r.barrier("x", soon()); };
  std::promise<void> listening;
  RendezvousOptions first = options_of(0, 2, port);
  first.on_listening = [&](std::uint16_t used) {
    EXPECT_EQ(used, port);
    listening.set_value();
  };
  auto zero = start_rank(first, body);
  listening.get_future().wait();
  RendezvousOptions second = options_of(0, 2, port);
  second.self.pid = 4711;
  Outcome outcome = run_rank(second);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind(), ErrorKind::usage);
  EXPECT_THAT(text_of(outcome),
              AllOf(HasSubstr("rank 0 cannot listen on port"), HasSubstr("rank 0 of 2 is here already (host-a, process 1000)"),
                    HasSubstr("process 4711) says that it is rank 0 too"), HasSubstr("start all with one launcher")));
  second.launch.job = "99.0";
  EXPECT_THAT(text_of(run_rank(second)), AllOf(HasSubstr("this process of job 99.0"), HasSubstr("give all ranks --master 127.0.0.1:PORT")));
  EXPECT_EQ(text_of(run_rank(options_of(1, 2, port), body)), "no error");
  EXPECT_EQ(text_of(zero.get()), "no error");
}

TEST(Rendezvous, PortOfAnotherProgramIsNamed) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(fd.get(), 5), 0);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  EXPECT_THAT(text_of(run_rank(options_of(0, 3, ntohs(address.sin_port)))),
              AllOf(HasSubstr("cannot listen on port"), HasSubstr("another program has it")));
}

TEST(Rendezvous, BeyondLoopbackNeedsATokenOrALauncher) {
  RendezvousOptions options = options_of(1, 2, 4711);
  options.launch.rendezvous->host = "192.0.2.7";  // RFC 5737: nobody's
  options.token.clear();
  options.launch.launched = false;
  EXPECT_THAT(text_of(run_rank(options)), AllOf(HasSubstr("192.0.2.7 without a token"), HasSubstr("--token-file"), HasSubstr("--open")));
  options.launch.rendezvous = std::nullopt;
  EXPECT_THAT(text_of(run_rank(options)), HasSubstr("--master"));
}

TEST(Rendezvous, ProtectionIsWhatTheRecordWillSay) {
  auto protection_with = [](const std::function<void(RendezvousOptions&)>& change) {
    std::optional<Protection> seen;
    auto outcomes = run_world(
        2,
        [&](Rendezvous& r) {
          if (r.rank() == 0) seen = r.protection();
        },
        change);
    for (const Outcome& outcome : outcomes) EXPECT_EQ(text_of(outcome), "no error");
    return std::string(name_of(seen.value()));
  };
  EXPECT_EQ(protection_with([](RendezvousOptions&) {}), "token");
  EXPECT_EQ(protection_with([](RendezvousOptions& o) { o.token.clear(); }), "loopback");
  // 0.0.0.0 is no loopback name, and yet reaches this host (ip(7)).
  EXPECT_EQ(protection_with([](RendezvousOptions& o) {
              o.token.clear();
              o.launch.rendezvous->host = "0.0.0.0";
            }),
            "open");
}

TEST(Rendezvous, GarbageOnThePortCostsNothing) {
  std::uint16_t port = free_port();
  std::promise<void> listening;
  RendezvousOptions options = options_of(0, 2, port);
  options.on_listening = [&](std::uint16_t) { listening.set_value(); };
  auto body = [](Rendezvous& r) { r.barrier("x", soon()); };
  auto zero = start_rank(options, body);
  listening.get_future().wait();
  std::vector<UniqueFd> strangers;
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(5000, '\xff'),
                                   std::string("RAILGAUG") + std::string(500, '\x7f'), std::string("RAIL")}) {
    strangers.push_back(control::plain_connect(port));
    (void)::send(strangers.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Knows the token, and talks nonsense.
  control::Channel odd = control::connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, soon());
  odd.send(control::MessageType::release, R"({"text":"x"})", soon());
  control::Channel malformed = control::connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, soon());
  malformed.send(control::MessageType::join, R"({"rank":1})", soon());
  control::Channel silent = control::connect_client({.host = "127.0.0.1", .port = port, .token = kToken}, soon());
  EXPECT_THROW(odd.receive(soon()), Error);
  EXPECT_THROW(malformed.receive(soon()), Error);
  EXPECT_EQ(text_of(run_rank(options_of(1, 2, port), body)), "no error");
  EXPECT_EQ(text_of(zero.get()), "no error");
}

TEST(ThisProcess, KnowsItself) {
  LaunchContext launch;
  launch.source = Launcher::openmpi;
  launch.rank = 3;
  launch.world = 7;
  launch.job = "ns@1";
  auto member = this_process(launch);
  EXPECT_EQ(member.rank, 3);
  EXPECT_EQ(member.world, 7);
  EXPECT_EQ(member.pid, ::getpid());
  EXPECT_EQ(member.launcher, "openmpi");
  EXPECT_EQ(member.job, "ns@1");
  EXPECT_FALSE(member.hostname.empty());
}

}  // namespace
}  // namespace railgauge::cluster
