#include "results/describe.h"

namespace railgauge::plan {
namespace {

/// The words of a choice, from their one home in lib/plan.
template <typename Enum>
std::vector<std::pair<Enum, std::string>> words(std::initializer_list<Enum> values) {
  std::vector<std::pair<Enum, std::string>> out;
  for (Enum value : values) out.emplace_back(value, name_of(value));
  return out;
}

}  // namespace

void describe(results::Io& io, Placement& placement) {
  io.field("device", placement.device);
  io.field("port", placement.port, 1, 255);
  io.field("gid_index", placement.gid_index, 0, 65535);
  io.field("interface", placement.interface);
  io.field("cpus", placement.cpus, 0, 65535);
  io.field("numa_node", placement.numa_node, 0, 1023);
}

// Upper ends keep products of counts inside an int; what is allowed is decided by validate.
void describe(results::Io& io, RdmaSettings& settings) {
  io.field("qps", settings.qps, 1, 65536);
  io.field("depth", settings.depth, 1, 1048576);
  io.field("post_batch", settings.post_batch, 1, 1048576);
  io.field("signal_every", settings.signal_every, 1, 1048576);
  io.field("inline_bytes", settings.inline_bytes, 0);
  io.field("mtu_bytes", settings.mtu_bytes, 1);
  io.field("service_level", settings.service_level, 0, 15);
  io.field("traffic_class", settings.traffic_class, 0, 255);
  io.field("retry_count", settings.retry_count, 0, 7);
  io.field("timeout_code", settings.timeout_code, 0, 31);
  io.field("rate_limit_gbit_per_s", settings.rate_limit_gbit_per_s, 0.0);
  io.field("events", settings.events);
  io.field("relaxed_ordering", settings.relaxed_ordering);
  io.word("connect", settings.connect, words({ConnectBy::socket, ConnectBy::rdma_cm}));
  io.field("max_reads", settings.max_reads);
}

void describe(results::Io& io, TcpSettings& settings) {
  io.field("congestion", settings.congestion);
  io.field("mss_bytes", settings.mss_bytes, 0);
  io.field("window_bytes", settings.window_bytes);
  io.field("pacing_gbit_per_s", settings.pacing_gbit_per_s, 0.0);
  io.field("zerocopy", settings.zerocopy);
  io.word("wait", settings.wait, words({Wait::spin, Wait::block}));
}

void describe(results::Io& io, Plan& plan) {
  io.field("label", plan.label);
  io.word("transport", plan.transport, words({Transport::rdma, Transport::tcp}));
  io.word("operation", plan.operation,
          words({Operation::write, Operation::write_imm, Operation::read, Operation::send, Operation::fetch_add, Operation::compare_swap,
                 Operation::stream, Operation::round_trip}));
  io.word("metric", plan.metric, words({Metric::bandwidth, Metric::latency, Metric::rate}));
  io.word("direction", plan.direction, words({Direction::to, Direction::from, Direction::both}));
  io.field("message_bytes", plan.message_bytes);
  io.field("duration_ns", plan.duration);
  io.field("iterations", plan.iterations);
  io.field("warm_up_ns", plan.warm_up);
  io.field("interval_ns", plan.interval);
  io.field("threads", plan.threads, 1, 4096);
  io.field("streams", plan.streams, 1, 65536);
  io.field("verify", plan.verify);
  io.field("verify_each", plan.verify_each);
  io.field("working_set_bytes", plan.working_set_bytes);
  io.word("paging", plan.paging, words({Paging::normal, Paging::huge}));
  io.field("under_load", plan.under_load);
  io.field("load_rate_per_s", plan.load_rate_per_s, 0.0);
  io.field("rdma", plan.rdma);
  io.field("tcp", plan.tcp);
  io.field("client", plan.client);
  io.field("server", plan.server);
}

}  // namespace railgauge::plan
