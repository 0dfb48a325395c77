// Ranks that die, freeze, fail, stop or are late once all have met. What dies or freezes is a process of its own.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "control/heartbeat.h"
#include "ranks.h"

namespace railgauge::cluster {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// The promise of rendezvous.h, with room for a busy machine under sanitizers.
constexpr seconds kNoticed{5 + 5};

/// A rank in a process of its own; must be made before this process has other threads that hold locks. It writes a byte to
/// a pipe where its body calls `reached`.
class Child {
 public:
  using Body = std::function<void(Rendezvous&, const std::function<void()>& reached)>;
  Child(const RendezvousOptions& options, const Body& body) {
    if (::pipe(pipe_.data()) != 0) throw system_error("pipe", errno);
    pid_ = ::fork();
    ::close(pipe_[pid_ != 0 ? 1 : 0]);  // so that a child that dies early ends the read below
    if (pid_ != 0) return;
    run_rank(options, [&](Rendezvous& r) { body(r, [&] { (void)!::write(pipe_[1], "x", 1); }); });
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(pipe_[0]);
  }
  void await_reached() const {
    char byte = 0;
    ASSERT_EQ(::read(pipe_[0], &byte, 1), 1);
  }
  void send(int signal) const { ::kill(pid_, signal); }
  pid_t pid() const { return pid_; }

 private:
  std::array<int, 2> pipe_{};
  pid_t pid_ = 0;
};

/// Sits in no call, as while NCCL initialises, and looks now and then whether the job is over.
void be_busy_until_the_end(Rendezvous& r) {
  for (Deadline limit = soon(); !r.ended() && !limit.passed();) std::this_thread::sleep_for(milliseconds(2));
  if (auto reason = r.ended()) throw *reason;
}

const Child::Body kHang = [](Rendezvous& r, const std::function<void()>& reached) {
  r.report_step("step 17 of the test");
  r.barrier("met", soon());
  reached();
  ::pause();
};

TEST(Processes, MeetAndTalk) {
  std::uint16_t port = free_port();
  std::vector<std::unique_ptr<Child>> others;
  for (int rank = 1; rank < 8; ++rank) {
    others.push_back(std::make_unique<Child>(options_of(rank, 8, port), [](Rendezvous& r, const std::function<void()>& reached) {
      r.gather("processes", fmt::format("{} of {}: {}", r.rank(), r.world(), ::getpid()), soon());
      if (r.broadcast("plan", {}, soon()) == "size 96K") reached();
      r.barrier("the end", soon());
    }));
  }
  Outcome outcome = run_rank(options_of(0, 8, port), [&](Rendezvous& r) {
    auto texts = r.gather("processes", "here", soon());
    for (int rank = 1; rank < 8; ++rank) {
      EXPECT_EQ(texts.at(static_cast<std::size_t>(rank)),
                fmt::format("{} of 8: {}", rank, others[static_cast<std::size_t>(rank) - 1]->pid()));
    }
    r.broadcast("plan", "size 96K", soon());
    r.barrier("the end", soon());
  });
  EXPECT_EQ(text_of(outcome), "no error");
  for (const auto& child : others) child->await_reached();
}

/// Ranks 0, 1, 3 are threads and rank 2 is a child that gets `signal` once all have met, or while it sits in a call.
std::vector<Outcome> others_of(const Child& two, std::uint16_t port, int signal, const RankBody& body) {
  std::vector<std::future<Outcome>> ranks;
  for (int rank : {0, 1, 3}) {
    ranks.push_back(start_rank(options_of(rank, 4, port), [&](Rendezvous& r) {
      r.barrier("met", soon());
      body(r);
    }));
  }
  two.await_reached();
  std::this_thread::sleep_for(milliseconds(100));
  two.send(signal);
  auto begin = Clock::now();
  std::vector<Outcome> outcomes;
  for (auto& rank : ranks) outcomes.push_back(rank.get());
  EXPECT_LT(Clock::now() - begin, kNoticed);
  return outcomes;
}

void expect_all(const std::vector<Outcome>& outcomes, ErrorKind kind, const ::testing::Matcher<std::string>& text) {
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->kind(), kind) << text_of(outcome);
    EXPECT_THAT(text_of(outcome), text);
  }
}

TEST(Failure, KilledRankEndsAllThatWait) {
  std::uint16_t port = free_port();
  Child two(options_of(2, 4, port), kHang);
  expect_all(others_of(two, port, SIGKILL, [](Rendezvous& r) { r.barrier("x", soon()); }), ErrorKind::peer,
             AllOf(HasSubstr("rank 2 (host-a) is gone"), HasSubstr("its last step: step 17 of the test")));
}

TEST(Failure, KilledRankIsKnownToThoseWhoAreBusyElsewhere) {
  std::uint16_t port = free_port();
  Child two(options_of(2, 4, port), kHang);
  expect_all(others_of(two, port, SIGKILL, be_busy_until_the_end), ErrorKind::peer, HasSubstr("rank 2 (host-a) is gone"));
}

TEST(Failure, FrozenRankIsNoticedBySilence) {
  std::uint16_t port = free_port();
  Child two(options_of(2, 4, port), kHang);
  expect_all(others_of(two, port, SIGSTOP, [](Rendezvous& r) { r.gather("times", "[3, 5]", soon()); }), ErrorKind::peer,
             AllOf(HasSubstr("rank 2 (host-a) is gone: no sign of life"), HasSubstr("for 4.0 s; its last step: step 17 of the test")));
}

TEST(Failure, RankKilledInsideACall) {
  std::uint16_t port = free_port();
  Child two(options_of(2, 4, port), [](Rendezvous& r, const std::function<void()>& reached) {
    r.barrier("met", soon());
    reached();
    r.gather("times", "[7]", soon());
  });
  // The others do not come to the call: rank 2 waits in it when it dies.
  expect_all(others_of(two, port, SIGKILL, be_busy_until_the_end), ErrorKind::peer, HasSubstr("rank 2 (host-a) is gone"));
}

TEST(Failure, RankKilledWhileOthersAreStillAwaited) {
  std::uint16_t port = free_port();
  Child two(options_of(2, 4, port), [](Rendezvous&, const std::function<void()>&) {});
  auto zero = start_rank(options_of(0, 4, port));
  auto one = start_rank(options_of(1, 4, port));
  std::this_thread::sleep_for(seconds(2));  // rank 3 never comes; ranks 0 to 2 have met each other by now
  two.send(SIGKILL);
  expect_all({zero.get(), one.get()}, ErrorKind::peer, HasSubstr("rank 2 (host-a) is gone"));
}

void expect_end_of_rank_zero(int signal, const ::testing::Matcher<std::string>& text) {
  std::uint16_t port = free_port();
  Child zero(options_of(0, 3, port), kHang);
  auto body = [](Rendezvous& r) {
    r.barrier("met", soon());
    r.barrier("x", soon());
  };
  auto one = start_rank(options_of(1, 3, port), body);
  auto two = start_rank(options_of(2, 3, port), body);
  zero.await_reached();
  std::this_thread::sleep_for(milliseconds(100));
  zero.send(signal);
  auto begin = Clock::now();
  expect_all({one.get(), two.get()}, ErrorKind::peer, text);
  EXPECT_LT(Clock::now() - begin, kNoticed);
}

TEST(Failure, KilledRankZeroIsNoticed) { expect_end_of_rank_zero(SIGKILL, HasSubstr("rank 0 is gone")); }
TEST(Failure, FrozenRankZeroIsNoticed) {
  expect_end_of_rank_zero(SIGSTOP, AllOf(HasSubstr("rank 0 is gone: no sign of life"), HasSubstr("for 4.0 s")));
}

TEST(Failure, StopOnAnyRankStopsAll) {
  for (int stopped : {0, 2}) {
    control::WakeEvent stop;
    std::atomic<int> met{0};
    auto body = [&](Rendezvous& r) {
      r.barrier("met", soon());
      if (++met == 4) stop.set();
      r.barrier(r.rank() == 3 ? "never reached by all" : "x", soon());
    };
    // Rank 3 hangs elsewhere, so that nothing but the stop can end the others.
    auto hang = [&](Rendezvous& r) {
      if (r.rank() != 3) return body(r);
      r.barrier("met", soon());
      if (++met == 4) stop.set();
      be_busy_until_the_end(r);
    };
    auto outcomes = run_world(4, hang, [&](RendezvousOptions& o) {
      if (o.launch.rank == stopped) o.stop_fd = stop.fd();
    });
    for (std::size_t rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(outcomes[rank]);
      EXPECT_EQ(outcomes[rank]->code(), ECANCELED) << text_of(outcomes[rank]);
      if (static_cast<int>(rank) != stopped) {
        EXPECT_THAT(text_of(outcomes[rank]), HasSubstr(fmt::format("rank {} (host-a) stopped: Ctrl-C", stopped)));
      }
    }
  }
}

TEST(Failure, StopIsHeardWhileRankZeroIsLookedForAndWhileOthersAreAwaited) {
  control::WakeEvent stop;
  stop.set();
  RendezvousOptions options = options_of(3, 4, free_port());
  options.stop_fd = stop.fd();
  Outcome outcome = run_rank(options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code(), ECANCELED) << text_of(outcome);
  options = options_of(0, 4, free_port());
  options.stop_fd = stop.fd();
  outcome = run_rank(options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->code(), ECANCELED) << text_of(outcome);
}

TEST(Failure, FailureOfAnyRankEndsAllWithItsReason) {
  for (int failing : {0, 3}) {
    auto outcomes = run_world(5, [&](Rendezvous& r) {
      r.barrier("met", soon());
      if (r.rank() == failing) {
        Error error(ErrorKind::nccl, "ncclCommInitRankConfig: unhandled system error", 2);
        r.fail(error);
        throw error;
      }
      r.gather("times", "[3]", soon());
    });
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->kind(), ErrorKind::nccl);
      EXPECT_EQ(outcome->code(), 2);
    }
    EXPECT_THAT(text_of(outcomes[2]), HasSubstr(fmt::format("rank {} (host-{}) failed: ncclCommInitRankConfig: unhandled system error",
                                                            failing, failing == 0 ? 'a' : 'b')));
  }
}

TEST(Failure, MissingInACallAreNamedWithTheirLastSteps) {
  auto outcomes = run_world(6, [&](Rendezvous& r) {
    r.report_step(fmt::format("ncclCommInitRank as {}", r.rank()));
    r.barrier("met", soon());
    if (r.rank() == 2 || r.rank() == 4) {
      r.report_step(fmt::format("all_reduce of 64 KiB as {}", r.rank()));
      be_busy_until_the_end(r);
    }
    r.barrier("after 64 KiB", Deadline::after(milliseconds(r.rank() == 5 ? 900 : 20000)));
  });
  expect_all(outcomes, ErrorKind::timeout,
             AllOf(HasSubstr("barrier \"after 64 KiB\": of 6 ranks 2 (host-a), 4 (host-b) have not arrived after 0.9 s"),
                   HasSubstr("last step of rank 2, since"), HasSubstr(": all_reduce of 64 KiB as 4")));
}

TEST(Failure, RanksInDifferentCallsAreAMistake) {
  auto outcomes = run_world(3, [&](Rendezvous& r) {
    if (r.rank() == 1) r.gather("times", "[3]", soon());
    r.barrier(r.rank() == 2 ? "size 128" : "size 64", soon());
  });
  expect_all(outcomes, ErrorKind::usage, HasSubstr("start all ranks with the same settings"));
}

TEST(Failure, RankThatLeavesIsNotWaitedFor) {
  for (int leaving : {0, 2}) {
    auto outcomes = run_world(4, [&](Rendezvous& r) {
      r.barrier("met", soon());
      if (r.rank() != leaving) r.barrier("x", soon());
    });
    for (int rank = 0; rank < 4; ++rank) {
      const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      if (rank == leaving) {
        EXPECT_EQ(text_of(outcome), "no error");
      } else {
        ASSERT_TRUE(outcome);
        EXPECT_EQ(outcome->kind(), ErrorKind::peer);
        EXPECT_THAT(text_of(outcome), AnyOf(HasSubstr(fmt::format("rank {} (host-a) left", leaving)), HasSubstr("rank 0 has left")));
      }
    }
  }
}

TEST(Failure, TextsThatDoNotFitAreTheCallersMistake) {
  auto outcomes = run_world(2, [](Rendezvous& r) {
    if (r.rank() == 1) {
      EXPECT_EQ(thrown_by([&] { r.gather("times", "\xff\xfe", soon()); }).kind(), ErrorKind::usage);
      EXPECT_EQ(thrown_by([&] { r.gather("times", std::string(control::kMaxTextBytes + 1, 'x'), soon()); }).kind(), ErrorKind::usage);
    }
    std::string big = std::string(3u << 20, static_cast<char>('a' + r.rank()));
    auto texts = r.gather("times", big, soon());
    if (r.rank() == 0) {
      EXPECT_EQ(texts.at(1), std::string(3u << 20, 'b'));
    }
    EXPECT_EQ(r.broadcast("plan", big, soon()), std::string(3u << 20, 'a'));
    r.barrier("the end", soon());
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(text_of(outcome), "no error");
}

}  // namespace
}  // namespace railgauge::cluster
