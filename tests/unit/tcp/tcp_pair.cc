// Both ends of a TCP measurement in one process, for comparing with other tools by hand:
//   tcp_pair bandwidth|latency MESSAGE_BYTES STREAMS THREADS SECONDS [CONGESTION [to|from|both [verify|load|zerocopy|block]]]
#include <fmt/format.h>

#include <cstdlib>

#include "unit/tcp/engine_pair.h"

using namespace railgauge;

namespace {

double value(const std::optional<stats::ThroughputSummary>& s) { return s ? s->mean_gbit_per_s.value.value_or(-1) : -1; }

void print(const char* who, const results::SideResult& r) {
  fmt::print("{}: received {:.2f} sent {:.2f} Gbit/s, limiter {} ({})\n", who, value(r.received), value(r.sent), r.limiter,
             r.settings.count("limiter_evidence") ? r.settings.at("limiter_evidence") : "");
  for (const auto& [key, text] : r.settings) fmt::print("  {}={}", key, text);
  fmt::print("\n");
  for (const auto& t : r.threads)
    fmt::print("  thread cpu {} user {} ms system {} ms of {} ms\n", t.cpu, t.user.count() / 1000000, t.system.count() / 1000000, t.elapsed.count() / 1000000);
  if (r.softirq) fmt::print("  softirq {} ms\n", r.softirq.value->count() / 1000000);
  for (const auto* l : {&r.latency, &r.loaded_latency}) {
    if (!*l) continue;
    const auto& s = **l;
    fmt::print("  latency n {} min {} p50 {} p99 {} p99.9 {} max {} ns\n", s.samples, s.min_ns.value.value_or(-1), s.p50_ns.value.value_or(-1),
               s.p99_ns.value.value_or(-1), s.p99_9_ns.value.value_or(-1), s.max_ns.value.value_or(-1));
  }
  if (r.late_sends) fmt::print("  late sends {}\n", *r.late_sends);
  if (r.verification) fmt::print("  verified {} bytes, {} wrong\n", r.verification->checked_bytes, r.verification->mismatched_bytes);
  if (r.zerocopy_completions) fmt::print("  zero-copy {} of which copied {}\n", *r.zerocopy_completions, *r.zerocopy_copied);
  fmt::print("  {} intervals, {} tcp_info samples, drain {} us\n", r.received_intervals.size() + r.sent_intervals.size(), r.tcp_info.size(), r.drain.count() / 1000);
  for (const auto& w : r.warnings) fmt::print("  warning: {}\n", w);
  if (r.error) fmt::print("  ERROR {} {}: {}\n", r.error->kind, r.error->stage, r.error->text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  plan::Plan plan;
  plan.metric = std::string(argv[1]) == "latency" ? plan::Metric::latency : plan::Metric::bandwidth;
  plan.operation = plan.metric == plan::Metric::latency ? plan::Operation::round_trip : plan::Operation::stream;
  plan.message_bytes = std::strtoull(argv[2], nullptr, 10);
  plan.streams = std::atoi(argv[3]);
  plan.threads = std::atoi(argv[4]);
  plan.duration = std::chrono::milliseconds(static_cast<int>(std::atof(argv[5]) * 1000));
  plan.tcp.wait = plan::Wait::spin;
  if (argc > 6 && argv[6][0] != '-') plan.tcp.congestion = argv[6];
  if (argc > 7) plan.direction = argv[7][0] == 'b' ? plan::Direction::both : argv[7][0] == 'f' ? plan::Direction::from : plan::Direction::to;
  for (int i = 8; i < argc; ++i) {
    const std::string word = argv[i];
    plan.verify |= word == "verify";
    plan.under_load |= word == "load";
    plan.tcp.zerocopy |= word == "zerocopy";
    if (word == "block") plan.tcp.wait = plan::Wait::block;
  }
  bench::EnginePair pair(plan, "127.0.0.1");
  pair.connect();
  const auto begin = Clock::now();
  pair.run();
  fmt::print("wall {} ms\n", (Clock::now() - begin).count() / 1000000);
  print("client", pair.client_result);
  print("server", pair.server_result);
}
