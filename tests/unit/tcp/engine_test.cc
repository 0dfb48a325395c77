#include <gtest/gtest.h>

#include "base/error.h"
#include "tcp/data_hello.h"
#include "tcp/socket.h"
#include "unit/tcp/engine_pair.h"

namespace railgauge::bench {
namespace {

using plan::Direction;
using std::chrono::milliseconds;
using std::chrono::seconds;

plan::Plan short_plan() {
  plan::Plan plan;
  plan.message_bytes = 100000;
  plan.duration = milliseconds(150);
  plan.warm_up = milliseconds(30);
  plan.interval = milliseconds(20);
  plan.verify = true;
  return plan;
}

plan::Plan latency_plan() {
  auto plan = short_plan();
  plan.operation = plan::Operation::round_trip;
  plan.metric = plan::Metric::latency;
  plan.message_bytes = 72;
  return plan;
}

void expect_clean(const results::SideResult& side) { EXPECT_FALSE(side.error) << side.role << ": " << side.error->text; }

/// A full window: its length as planned, its rate from its own bytes, its intervals adding up to it, its data verified.
void expect_full(const std::optional<stats::ThroughputSummary>& summary, const std::vector<stats::Interval>& intervals, const plan::Plan& plan) {
  ASSERT_TRUE(summary);
  EXPECT_GE(summary->elapsed, plan.duration);
  EXPECT_LT(summary->elapsed, plan.duration + milliseconds(100));
  EXPECT_GT(summary->bytes, 0U);
  std::uint64_t bytes = 0;
  std::uint64_t warm_up = 0;
  for (const auto& interval : intervals) (interval.warm_up ? warm_up : bytes) += interval.bytes;
  EXPECT_EQ(bytes, summary->bytes);
  EXPECT_GT(warm_up, 0U);
  ASSERT_TRUE(summary->mean_gbit_per_s.value);
  EXPECT_NEAR(*summary->mean_gbit_per_s.value, static_cast<double>(summary->bytes) * 8 / static_cast<double>(summary->elapsed.count()), 1e-9);
}

struct Case {
  const char* address;
  int streams;
  int threads;
  Direction direction;
};

class TcpBandwidth : public ::testing::TestWithParam<Case> {};

TEST_P(TcpBandwidth, IsMeasuredAtEachReceiver) {
  auto plan = short_plan();
  plan.streams = GetParam().streams;
  plan.threads = GetParam().threads;
  plan.direction = GetParam().direction;
  EnginePair pair(plan, GetParam().address);
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  expect_clean(pair.server_result);
  const bool to = plan.direction != Direction::from;
  const bool from = plan.direction != Direction::to;
  EXPECT_EQ(pair.server_result.received.has_value(), to);
  EXPECT_EQ(pair.client_result.sent.has_value(), to);
  EXPECT_EQ(pair.client_result.received.has_value(), from);
  EXPECT_EQ(pair.server_result.sent.has_value(), from);
  if (to) expect_full(pair.server_result.received, pair.server_result.received_intervals, plan);
  if (from) expect_full(pair.client_result.received, pair.client_result.received_intervals, plan);
  const auto& receiver = to ? pair.server_result : pair.client_result;
  ASSERT_TRUE(receiver.verification);
  EXPECT_GT(receiver.verification->checked_bytes, 0U);
  EXPECT_EQ(receiver.verification->mismatched_bytes, 0U);
  const auto threads = static_cast<std::size_t>(plan.threads) * (to && from ? 2 : 1);
  EXPECT_EQ(pair.client_result.threads.size(), threads);
  for (const auto& thread : pair.client_result.threads) EXPECT_GT(thread.elapsed.count(), 0);
  EXPECT_GE(pair.client_result.tcp_info.size(), static_cast<std::size_t>(2 * plan.streams));
  EXPECT_TRUE(pair.client_control.active_done);
  EXPECT_GT(pair.client_control.live_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(Loopback, TcpBandwidth,
                         ::testing::Values(Case{"127.0.0.1", 1, 1, Direction::to}, Case{"127.0.0.1", 4, 4, Direction::to},
                                           Case{"127.0.0.1", 5, 2, Direction::from}, Case{"127.0.0.1", 2, 1, Direction::both},
                                           Case{"::1", 1, 1, Direction::from}, Case{"::1", 4, 4, Direction::both}));

/// How often the receiver of a stream that leaves it idle most of the time went to sleep in its window.
std::uint64_t sleeps_of_an_idle_receiver(plan::Wait wait, int streams) {
  auto plan = short_plan();
  plan.message_bytes = 3000;
  plan.streams = streams;
  plan.tcp.pacing_gbit_per_s = 0.1;
  plan.tcp.wait = wait;
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  expect_clean(pair.server_result);
  expect_full(pair.server_result.received, pair.server_result.received_intervals, plan);
  EXPECT_EQ(pair.server_result.settings.at("wait"), plan::name_of(wait));
  return pair.server_result.threads.at(0).voluntary_switches;
}

TEST(TcpEngine, StreamsSleepOrSpinAsAsked) {
  // getrusage(2), ru_nvcsw: a thread that gave up its CPU to wait for something.
  for (const int streams : {1, 3}) {
    EXPECT_GT(sleeps_of_an_idle_receiver(plan::Wait::block, streams), 5U) << streams;
    EXPECT_LT(sleeps_of_an_idle_receiver(plan::Wait::spin, streams), 5U) << streams;
  }
}

TEST(TcpEngine, TellsEndsByTheirCounters) {
  EnginePair pair(short_plan(), "127.0.0.1");
  pair.connect();
  pair.run();
  const auto& first = pair.client_result.tcp_info.front().fields;
  const auto& last = pair.client_result.tcp_info.back().fields;
  EXPECT_GT(last.at("bytes_acked"), first.at("bytes_acked"));
  // The sender's window opens a little after the receiver's and is cut short by it: much shorter on a crowded machine.
  EXPECT_GT(pair.client_result.tcp_info.back().at, milliseconds(0));
  EXPECT_EQ(pair.client_result.settings.at("receive_block_bytes"), "131072");
  EXPECT_EQ(pair.client_result.settings.at("local_address"), pair.server_result.settings.at("peer_address"));
}

TEST(TcpEngine, TakesAboutAsLongAsItsWindow) {
  EnginePair pair(short_plan(), "127.0.0.1");
  pair.connect();
  const auto begin = Clock::now();
  pair.run();
  // 180 ms planned; a sender that missed the receiver's close would wait 2 s more.
  EXPECT_LT(Clock::now() - begin, milliseconds(1500));
}

TEST(TcpEngine, MovesExactlyTheMessagesAskedFor) {
  auto plan = short_plan();
  plan.iterations = 300;
  plan.streams = plan.threads = 2;
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  expect_clean(pair.server_result);
  ASSERT_TRUE(pair.server_result.received);
  // The first block opens the window and is not in it; it is at most one receive block.
  EXPECT_LT(pair.server_result.received->bytes, 2U * 300U * 100000U);
  EXPECT_GE(pair.server_result.received->bytes, 2U * 300U * 100000U - 131072U);
  EXPECT_EQ(pair.client_control.live_bytes, 2U * 300U * 100000U);
}

TEST(TcpEngine, HasAFigureByCountOnlyForWhatTookTime) {
  for (const std::uint64_t count : {1U, 2U, 1000U}) {
    auto plan = short_plan();
    plan.verify = false;
    plan.warm_up = {};
    plan.message_bytes = 4 << 20;  // 32 receive blocks
    plan.iterations = count;
    EnginePair pair(plan, "127.0.0.1");
    pair.connect();
    pair.run();
    expect_clean(pair.server_result);
    EXPECT_EQ(pair.server_control.live_bytes, count * (4U << 20));
    EXPECT_GE(pair.server_result.received->bytes, count * (4U << 20) - (1U << 20));
    EXPECT_GT(pair.server_result.received->mean_gbit_per_s.value.value_or(0), 0);
  }
  auto plan = short_plan();
  plan.verify = false;
  plan.message_bytes = 1;  // cannot come in two pieces
  plan.iterations = 1;
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  pair.run();
  ASSERT_TRUE(pair.server_result.error);
  EXPECT_NE(pair.server_result.error->text.find("all of --iterations 1 came at one instant"), std::string::npos) << pair.server_result.error->text;
}

TEST(TcpEngine, MeasuresRoundTripsAndVerifiesEach) {
  for (const auto wait : {plan::Wait::spin, plan::Wait::block}) {
    auto plan = latency_plan();
    plan.tcp.wait = wait;
    EnginePair pair(plan, "127.0.0.1");
    pair.connect();
    pair.run();
    expect_clean(pair.client_result);
    expect_clean(pair.server_result);
    ASSERT_TRUE(pair.client_result.latency);
    EXPECT_GT(pair.client_result.latency->samples, 0U);
    EXPECT_FALSE(pair.client_result.loaded_latency);
    EXPECT_FALSE(pair.server_result.latency);
    EXPECT_GE(pair.client_result.verification->checked_bytes, 72U * pair.client_result.latency->samples);
    EXPECT_EQ(pair.client_result.settings.at("wait"), plan::name_of(wait));
    EXPECT_EQ(pair.client_result.settings.at("no_delay"), "true");
  }
}

TEST(TcpEngine, MeasuresLatencyBesideABandwidthStream) {
  auto plan = latency_plan();
  plan.under_load = true;
  plan.load_rate_per_s = 1000;
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  expect_clean(pair.server_result);
  ASSERT_TRUE(pair.client_result.loaded_latency);
  EXPECT_EQ(pair.client_result.loaded_latency->samples, 150U);  // 150 ms at 1000 a second
  EXPECT_TRUE(pair.client_result.late_sends);
  EXPECT_GT(pair.server_result.received->bytes, 0U);
  EXPECT_EQ(pair.client_result.settings.at("schedule_per_s"), "1000");
}

TEST(TcpEngine, RefusesStreamsThatARoundTripCannotUse) {
  auto plan = latency_plan();
  plan.streams = 3;
  EXPECT_THROW(EnginePair(plan, "127.0.0.1"), Error);
}

TEST(TcpEngine, KeepsAPartOfTheResultWhenTheSenderVanishes) {
  auto plan = short_plan();
  plan.duration = seconds(20);
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(200));
    pair.client_control.stop = true;
  });
  const auto begin = Clock::now();
  pair.run();
  killer.join();
  EXPECT_LT(Clock::now() - begin, seconds(3));
  ASSERT_TRUE(pair.server_result.error);
  EXPECT_EQ(pair.server_result.error->kind, "peer");
  EXPECT_EQ(pair.server_result.error->side, "server");
  EXPECT_EQ(pair.server_result.error->stage, "run");
  ASSERT_TRUE(pair.server_result.received);
  EXPECT_GT(pair.server_result.received->bytes, 0U);
  EXPECT_LT(pair.server_result.received->elapsed, seconds(3));
}

TEST(TcpEngine, SaysThatTheReceiverVanished) {
  auto plan = short_plan();
  plan.duration = seconds(20);
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(200));
    pair.server_control.stop = true;
  });
  pair.run();
  killer.join();
  EXPECT_FALSE(pair.server_result.error);  // it was told to stop
  ASSERT_TRUE(pair.client_result.error);
  EXPECT_EQ(pair.client_result.error->kind, "peer");
  EXPECT_EQ(pair.client_result.error->side, "client");
}

TEST(TcpEngine, SaysThatTheEchoVanished) {
  auto plan = latency_plan();
  plan.duration = seconds(20);
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(150));
    pair.server_control.stop = true;
  });
  pair.run();
  killer.join();
  ASSERT_TRUE(pair.client_result.error);
  EXPECT_EQ(pair.client_result.error->kind, "peer");
  EXPECT_GT(pair.client_result.latency->samples, 0U);
}

TEST(TcpEngine, SetsAndShowsWhatTheSocketsUse) {
  auto plan = short_plan();
  plan.tcp.congestion = "reno";
  plan.tcp.mss_bytes = 1200;
  plan.tcp.window_bytes = 100000;
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  pair.run();
  for (const auto* side : {&pair.client_result, &pair.server_result}) {
    expect_clean(*side);
    EXPECT_EQ(side->settings.at("congestion"), "reno");
    EXPECT_TRUE(side->mss_bytes == 1200 || side->mss_bytes == 1188) << side->mss_bytes.value_or(-1);
    EXPECT_EQ(side->settings.at("sndbuf_bytes"), "200000");
  }
}

TEST(TcpEngine, RefusesAnUnknownCongestionControl) {
  auto plan = short_plan();
  plan.tcp.congestion = "nonesuch";
  EXPECT_THROW(EnginePair(plan, "127.0.0.1"), Error);
}

TEST(TcpEngine, KeepsToThePacingRateAndNamesIt) {
  auto plan = short_plan();
  plan.duration = milliseconds(400);
  plan.warm_up = milliseconds(150);  // past the first burst into empty buffers
  plan.message_bytes = 20000;
  plan.tcp.window_bytes = 200000;
  plan.tcp.pacing_gbit_per_s = 0.2;
  EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  pair.run();
  expect_clean(pair.client_result);
  EXPECT_EQ(pair.client_result.settings.at("pacing_bytes_per_s"), "25000000");
  EXPECT_LT(*pair.server_result.received->mean_gbit_per_s.value, 0.24);
  // A crowded machine may stay below the pacing rate; then pacing is not what limits.
  const bool reached = *pair.client_result.sent->mean_gbit_per_s.value >= 0.95 * 0.2;
  EXPECT_EQ(pair.client_result.limiter == "pacing", reached) << pair.client_result.settings.at("limiter_evidence");
}

TEST(TcpEngine, TurnsAStrangerWithAWrongNonceAway) {
  EnginePair pair(short_plan(), "127.0.0.1");
  const auto offer = pair.server->offer(nullptr);
  const auto stranger = tcp::connect_to(tcp::endpoint_from("127.0.0.1", static_cast<std::uint16_t>(offer.data_port)), {}, {}, Deadline::after(seconds(5)));
  auto wrong = offer.data_nonce;
  wrong[9] ^= 0x40;
  const auto hello = tcp::encode_hello(wrong, {tcp::StreamRole::to_server, 0});
  tcp::send_all(stranger.get(), hello.data(), hello.size(), Deadline::after(seconds(5)), "hello");
  const auto silent = tcp::connect_to(tcp::endpoint_from("127.0.0.1", static_cast<std::uint16_t>(offer.data_port)), {}, {}, Deadline::after(seconds(5)));
  pair.connect();
  pair.run();
  expect_clean(pair.server_result);
  ASSERT_FALSE(pair.server_result.warnings.empty());
  EXPECT_NE(pair.server_result.warnings.front().find("1 with a wrong hello"), std::string::npos) << pair.server_result.warnings.front();
}

TEST(TcpEngine, TellsAClientWithAWrongNonceSo) {
  EnginePair pair(short_plan(), "127.0.0.1");
  auto offer = pair.server->offer(nullptr);
  offer.data_nonce[0] ^= 1;
  std::thread accepting([&] { EXPECT_THROW(pair.server->connect({}, Deadline::after(milliseconds(300))), Error); });
  EXPECT_THROW(pair.client->connect(offer, Deadline::after(seconds(5))), Error);
  accepting.join();
}

}  // namespace
}  // namespace railgauge::bench
