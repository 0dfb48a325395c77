#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace railgauge::plan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Plan write_bandwidth() {
  Plan plan;
  plan.label = "write bandwidth 3 QPs 48 KiB";
  plan.transport = Transport::rdma;
  plan.operation = Operation::write;
  plan.message_bytes = 49152;
  plan.rdma.qps = 3;
  plan.rdma.depth = 96;
  plan.rdma.post_batch = 16;
  plan.rdma.signal_every = 32;
  return plan;
}

Plan send_latency() {
  Plan plan;
  plan.transport = Transport::rdma;
  plan.operation = Operation::send;
  plan.metric = Metric::latency;
  plan.message_bytes = 24;
  plan.rdma.depth = plan.rdma.post_batch = plan.rdma.signal_every = 1;
  return plan;
}

Plan tcp_stream() {
  Plan plan;
  plan.streams = 5;
  plan.threads = 2;
  return plan;
}

/// The refusal's text, or "accepted".
std::string refusal(const Plan& plan, const Limits& limits = {}) {
  try {
    validate(plan, limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    return error.what();
  }
  return "accepted";
}

template <typename Change>
std::string refusal_after(Plan plan, Change change) {
  change(plan);
  return refusal(plan);
}

TEST(Validate, AcceptsPlansThatFit) {
  EXPECT_EQ(refusal(write_bandwidth()), "accepted");
  EXPECT_EQ(refusal(send_latency()), "accepted");
  EXPECT_EQ(refusal(tcp_stream()), "accepted");
}

TEST(Validate, SuggestsTheNearestDepths) {
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.depth = 100; }),
            "--depth 100 is not a multiple of --post-batch 16: use --depth 96 or 112");
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.depth = 7; }), "--depth 7 is not a multiple of --post-batch 16: use --depth 16");
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.depth = 112; }),
            "--depth 112 is not a multiple of --signal-every 32: use --depth 96 or 128");
}

TEST(Validate, RefusesOperationsOfTheOtherTransport) {
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.operation = Operation::read; }), HasSubstr("--op read is an RDMA operation"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.operation = Operation::stream; }), HasSubstr("--op stream is a TCP operation"));
}

TEST(Validate, RefusesMetricsThatDoNotFit) {
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.metric = Metric::rate; }), HasSubstr("--metric rate is measured over RDMA only"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.metric = Metric::latency; }), HasSubstr("use round_trip"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.operation = Operation::round_trip; }), HasSubstr("use stream"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.under_load = true; }), HasSubstr("use --metric latency"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.load_rate_per_s = 1000; }), HasSubstr("use --metric latency"));
}

TEST(Validate, RefusesSizesOutOfRange) {
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.message_bytes = 0; }), HasSubstr("--size 0"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.message_bytes = (1ULL << 31) + 1; }), HasSubstr("the limit of 2 GiB"));
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.operation = Operation::fetch_add; }),
            "--size 49152 with --op fetch_add: atomics work on 8 bytes, use --size 8");
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.working_set_bytes = 4096; }), HasSubstr("--working-set 4096 holds no message"));
}

TEST(Validate, HoldsTheLimitsOfTheServer) {
  Limits tight;
  tight.max_qps = 8;
  Plan plan = write_bandwidth();
  plan.threads = 4;
  EXPECT_EQ(refusal(plan, tight), "--qps 3 on each of --threads 4 are 12 QPs, the limit is 8: use --qps 2");
  tight = Limits{};
  tight.max_memory_bytes = 1 << 20;
  plan.working_set_bytes = 300 * 1024;  // four of them are 1200 KiB
  EXPECT_THAT(refusal(plan, tight), HasSubstr("the limit of 1 MiB"));
  plan.working_set_bytes = 256 * 1024;  // exactly the limit
  EXPECT_EQ(refusal(plan, tight), "accepted");
  plan.direction = Direction::both;  // one to send, one to receive
  EXPECT_THAT(refusal(plan, tight), HasSubstr("512 KiB of buffers"));
  plan.direction = Direction::to;
  tight = Limits{};
  tight.max_duration = seconds(30);
  plan.duration = seconds(31);
  EXPECT_THAT(refusal(plan, tight), HasSubstr("--duration 31"));
}

TEST(Validate, RefusesStreamsThatDoNotFeedEveryThread) {
  EXPECT_EQ(refusal_after(tcp_stream(), [](Plan& p) { p.threads = 7; }),
            "--streams 5 leaves some of --threads 7 without a stream: use --streams 7 or --threads 5");
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.streams = 2; }), HasSubstr("use --qps for RDMA"));
}

TEST(Validate, WantsOneMessageOutstandingForLatency) {
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.rdma.depth = 2; }), HasSubstr("use 1 for each"));
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.direction = Direction::both; }), HasSubstr("use to or from"));
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.rdma.qps = 2; }), HasSubstr("use --qps 1"));
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.rdma.rate_limit_gbit_per_s = 2.5; }), HasSubstr("use --load-rate"));
  EXPECT_EQ(refusal_after(send_latency(), [](Plan& p) { p.rdma.qps = 2, p.under_load = true, p.load_rate_per_s = 70; }), "accepted");
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.load_rate_per_s = std::numeric_limits<double>::quiet_NaN(); }), HasSubstr("nan"));
}

TEST(Validate, RefusesToSleepWhereNothingWakes) {
  EXPECT_EQ(refusal_after(send_latency(), [](Plan& p) { p.rdma.events = true; }), "accepted");
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.rdma.events = true, p.operation = Operation::write; }), HasSubstr("use --op write_imm"));
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.rdma.events = true, p.load_rate_per_s = 50; }), HasSubstr("--events with --load-rate"));
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.rdma.events = p.under_load = true, p.load_rate_per_s = 50; }), HasSubstr("--events with --under-load"));
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.events = true; }), "accepted");
}

TEST(Validate, WantsAScheduleUnderLoad) {
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.under_load = true; }), HasSubstr("use --load-rate 10000"));
}

TEST(Validate, KnowsTheGidIndexesThatVerbsCanName) {
  // ibv_global_route.sgid_index is a uint8_t.
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.client.gid_index = p.server.gid_index = 255; }), "accepted");
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.client.gid_index = 259; }), "--gid-index 259 is out of range: use 0 to 255");
  EXPECT_EQ(refusal_after(write_bandwidth(), [](Plan& p) { p.server.gid_index = 256; }), "--peer-gid-index 256 is out of range: use 0 to 255");
}

TEST(Validate, CountsTheMessagesThatALatencyKeeps) {
  Limits tight;
  tight.max_memory_bytes = 1000;
  Plan plan = send_latency();
  plan.message_bytes = 500;  // sent and received: two blocks of one message each
  EXPECT_EQ(refusal(plan, tight), "accepted");
  plan.verify = true;  // of two
  EXPECT_THAT(refusal(plan, tight), HasSubstr("2000 B of buffers"));
  plan.load_rate_per_s = 50;  // 128 may be in flight, one way
  EXPECT_THAT(refusal(plan, tight), HasSubstr("62.5 KiB of buffers"));
  plan.operation = Operation::write_imm;
  EXPECT_THAT(refusal(plan, tight), HasSubstr("125 KiB of buffers"));
  for (Operation op : {Operation::write, Operation::read}) {
    plan.operation = op;
    EXPECT_EQ(refusal(plan, tight), "accepted");
  }
}

TEST(Validate, ChecksTimes) {
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.duration = milliseconds(9); }), HasSubstr("10ms"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.duration = milliseconds(50); }), HasSubstr("--interval"));
  EXPECT_EQ(refusal_after(tcp_stream(), [](Plan& p) { p.duration = p.warm_up = seconds(0), p.iterations = 333; }), "accepted");
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.iterations = 333; }), HasSubstr("use --warm-up 0 or --duration"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.warm_up = milliseconds(-1); }), HasSubstr("--warm-up"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.interval = milliseconds(0); }), HasSubstr("--interval"));
}

TEST(Validate, ChecksRdmaSettings) {
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.mtu_bytes = 1500; }), HasSubstr("use 256, 512, 1024, 2048 or 4096"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.service_level = 16; }), HasSubstr("use 0 to 15"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.timeout_code = 0; }), HasSubstr("use 1 to 31"));
  EXPECT_THAT(refusal_after(send_latency(), [](Plan& p) { p.rdma.inline_bytes = 220; }), HasSubstr("--inline 220 is larger than --size 24"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.operation = Operation::read, p.rdma.inline_bytes = 64; }),
              HasSubstr("only writes and sends"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.rdma.max_reads = ~0ULL; }), HasSubstr("--max-reads"));
}

TEST(Validate, ChecksTcpSettings) {
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.tcp.congestion = "../bbr"; }), HasSubstr("--congestion"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.tcp.mss_bytes = 87; }), HasSubstr("use 88 to 32767"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.tcp.window_bytes = 1ULL << 31; }), HasSubstr("--window"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.tcp.pacing_gbit_per_s = -2.5; }), HasSubstr("--pacing -2.5"));
  auto by_the_clock = [](Plan& p) { p.operation = Operation::round_trip, p.metric = Metric::latency, p.threads = p.streams = 1, p.load_rate_per_s = 70; };
  EXPECT_THAT(refusal_after(tcp_stream(), by_the_clock), HasSubstr("--wait block with --load-rate"));
  auto ping = [](Plan& p) { p.operation = Operation::round_trip, p.metric = Metric::latency, p.threads = p.streams = 1, p.tcp.pacing_gbit_per_s = 2.5; };
  EXPECT_THAT(refusal_after(tcp_stream(), ping), HasSubstr("--pacing 2.5 with --metric latency"));
}

TEST(Validate, RefusesNamesThatAreNoNames) {
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.server.device = "../../etc"; }), HasSubstr("--peer-device \""));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.client.device = ""; }), HasSubstr("--device"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.server.interface = "eth0\n"; }), HasSubstr("eth0\\x0a"));
  EXPECT_THAT(refusal_after(tcp_stream(), [](Plan& p) { p.client.interface = "a-name-too-long-"; }), HasSubstr("--interface"));
  EXPECT_THAT(refusal_after(write_bandwidth(), [](Plan& p) { p.client.cpus = {3, -2}; }), HasSubstr("--cpu -2"));
}

TEST(Names, GoThereAndBack) {
  for (auto op : {Operation::write, Operation::write_imm, Operation::read, Operation::send, Operation::fetch_add, Operation::compare_swap,
                  Operation::stream, Operation::round_trip})
    EXPECT_EQ(operation_from(name_of(op)), op);
  EXPECT_EQ(metric_from("rate"), Metric::rate);
  EXPECT_EQ(direction_from("from"), Direction::from);
  EXPECT_EQ(connect_by_from("rdma_cm"), ConnectBy::rdma_cm);
  EXPECT_EQ(paging_from(name_of(Paging::huge)), Paging::huge);
  EXPECT_EQ(wait_from("spin"), Wait::spin);
  EXPECT_EQ(transport_from("rdma"), Transport::rdma);
}

TEST(Names, RefuseUnknownWordsWithTheKnownOnes) {
  try {
    metric_from("latncy\x1b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--metric \"latncy\\x1b\" is unknown: use bandwidth, latency or rate");
  }
}

TEST(ExpectedWallTime, CoversWarmUpWindowAndDrain) {
  Plan plan = tcp_stream();
  plan.warm_up = milliseconds(250);
  plan.duration = seconds(3);
  EXPECT_EQ(expected_wall_time(plan), milliseconds(8250));
}

TEST(ExpectedWallTime, CoversTheRetriesOfALostPeer) {
  Plan plan = write_bandwidth();
  plan.warm_up = milliseconds(250);
  plan.duration = seconds(3);
  plan.rdma.timeout_code = 20;
  // 4.096 us · 2^20 = 4.294967296 s; a NIC may take four times that, for the first try and 7 retries: 137.438953472 s, which
  // the receiver waits twice.
  EXPECT_EQ(expected_wall_time(plan), milliseconds(3250) + nanoseconds(274'877'906'944));
  plan.rdma.retry_count = 2;  // 51.539607552 s, twice
  EXPECT_EQ(expected_wall_time(plan), milliseconds(3250) + nanoseconds(103'079'215'104));
  Limits limits;
  limits.max_duration = seconds(60);  // a server lends no more
  EXPECT_EQ(expected_wall_time(plan, limits), milliseconds(63'250));
  limits.max_duration = seconds(3);
  EXPECT_EQ(expected_wall_time(plan, limits), milliseconds(8250));
  plan.rdma.timeout_code = 31;
  EXPECT_EQ(expected_wall_time(plan), milliseconds(3250) + hours(24));
}

TEST(StallLimit, IsTheLongestSilenceOfAHealthyTransport) {
  RdmaSettings rdma;
  rdma.timeout_code = 14, rdma.retry_count = 7;
  // 4.096 us · 2^14 = 67.108864 ms, 8 tries of up to four times that.
  EXPECT_EQ(stall_limit(rdma, false), nanoseconds(2'147'483'648));
  rdma.retry_count = 0;
  EXPECT_EQ(stall_limit(rdma, false), seconds(2));
  rdma.timeout_code = 18, rdma.retry_count = 6;
  // 4.096 us · 2^18 = 1.073741824 s, 7 tries and a second more.
  EXPECT_EQ(stall_limit(rdma, true), nanoseconds(8'516'192'768));
}

TEST(ExpectedWallTime, HasAnEndForIterations) {
  Plan plan = write_bandwidth();
  plan.warm_up = seconds(0);
  plan.iterations = 5000;
  // 15 000 messages · 10 us = 0.15 s; 15 000 · 49 152 · 8 bit / 0.1 Gbit/s = 58.98 s; rounded up 60 s, drain 5 s.
  EXPECT_EQ(expected_wall_time(plan), seconds(65));
  // Paced: 5 898 240 000 bit at 0.01 Gbit/s last 589.8 s, and 0.15 s as before: 590 s.
  plan.rdma.rate_limit_gbit_per_s = 0.01;
  EXPECT_EQ(expected_wall_time(plan), seconds(595));
  plan.rdma.rate_limit_gbit_per_s = 0;
  plan.iterations = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(expected_wall_time(plan), hours(24) + seconds(5));
  Limits limits;
  limits.max_duration = seconds(7);
  EXPECT_EQ(expected_wall_time(plan, limits), seconds(12));
}

TEST(Validate, WantsIterationsThatFillBatchesAndSignals) {
  // lcm(6, 4) = 12: 780 = 65 · 12; between 768 = 64 · 12 and 780 lies 777.
  auto with = [](std::uint64_t iterations) {
    return refusal_after(write_bandwidth(), [iterations](Plan& p) {
      p.iterations = iterations;
      p.rdma.depth = 24;
      p.rdma.post_batch = 6;
      p.rdma.signal_every = 4;
    });
  };
  EXPECT_EQ(with(780), "accepted");
  EXPECT_EQ(with(777), "--iterations 777 is no multiple of --post-batch 6 and --signal-every 4: use 768 or 780");
  EXPECT_EQ(with(5), "--iterations 5 is no multiple of --post-batch 6 and --signal-every 4: use 12");
}

}  // namespace
}  // namespace railgauge::plan
