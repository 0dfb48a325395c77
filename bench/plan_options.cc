#include "bench/plan_options.h"

#include <CLI/CLI.hpp>

namespace railgauge::bench {
namespace {

/// What is said of the options that both transports have.
struct MeasureWords {
  const char* metric;
  const char* size;
  const char* iterations;
  const char* warm_up;
  const char* direction;
  const char* verify;
  const char* load_rate;
};

constexpr const char* kMeasure = "What is measured";

void add_measure_options(CLI::App& c, PlanOptions& o, const MeasureWords& words) {
  c.add_option("--metric", o.metric, words.metric)->capture_default_str()->group(kMeasure);
  c.add_option("-s,--size", o.size, words.size)->group(kMeasure);
  auto* duration = c.add_option("-D,--duration", o.duration, "of each measured window: 10s, 500ms (default 1s)")->group(kMeasure);
  c.add_option("-n,--iterations", o.iterations, words.iterations)->excludes(duration)->group(kMeasure);
  c.add_option("--warm-up", o.warm_up, words.warm_up)->group(kMeasure);
  c.add_option("--interval", o.interval, "of the series (default 100ms)")->group(kMeasure);
  auto* direction = c.add_option("--direction", o.direction, words.direction)->group(kMeasure);
  c.add_flag("-b,--bidirectional", o.bidirectional, "the same as --direction both")->excludes(direction)->group(kMeasure);
  c.add_flag("--verify", o.verify, words.verify)->group(kMeasure);
  c.add_flag("--under-load", o.under_load, "latency beside a bandwidth stream, by a schedule of its own (--load-rate, default 10000)")->group(kMeasure);
  c.add_option("--load-rate", o.load_rate_per_s, words.load_rate)->group(kMeasure);
}

void add_cpu_options(CLI::App& c, PlanOptions& o, const char* group) {
  c.add_option("--cpu", o.cpus, "CPUs of the threads here: 2,4-6 (default: the NIC's node)")->group(group);
  c.add_option("--peer-cpu", o.peer_cpus, "CPUs there")->group(group);
}

void add_queue_options(CLI::App& c, PlanOptions& o) {
  auto queue = "Queues";
  c.add_option("-q,--qps", o.qps, "queue pairs per thread")->capture_default_str()->group(queue);
  c.add_option("--threads", o.threads, "each with its own QPs and CQ (default 1)")->group(queue);
  c.add_option("-t,--depth", o.depth, "outstanding per QP (default 128, less where more than 64 MiB would be in flight; latency 1)")->group(queue);
  c.add_option("--post-batch", o.post_batch, "messages per post call")->capture_default_str()->group(queue);
  c.add_option("--signal-every", o.signal_every, "one completion per so many messages")->group(queue);
  c.add_option("--inline", o.inline_bytes, "inline size asked for (default: the tool's choice)")->group(queue);
  c.add_option("--max-reads", o.max_reads, "outstanding reads or atomics per QP (default: the device's); for those only")->group(queue);
  c.add_flag("--events", o.events, "sleep on the completion channel instead of polling")->group(queue);
  c.add_option("--rate-limit", o.rate_limit, "bit/s of each side: 25G, 500M; a bare number is Gbit/s")->group(queue);
}

void add_path_options(CLI::App& c, PlanOptions& o) {
  auto path = "Path";
  c.add_option("-d,--device", o.device, "RDMA device here (default: chosen)")->group(path);
  c.add_option("--peer-device", o.peer_device, "RDMA device there")->group(path);
  c.add_option("--device-port", o.port_number, "port of the device here")->group(path);
  c.add_option("--peer-device-port", o.peer_port_number, "port of the device there")->group(path);
  c.add_option("-x,--gid-index", o.gid_index, "GID index here (default: chosen)")->group(path);
  c.add_option("--peer-gid-index", o.peer_gid_index, "GID index there")->group(path);
  c.add_option("--mtu", o.mtu_bytes, "path MTU: 256 512 1024 2048 4096 (default: the smaller active one)")->group(path);
  c.add_option("--sl", o.service_level, "service level 0-15")->group(path);
  c.add_option("--traffic-class", o.traffic_class, "0-255 (DSCP x 4)")->group(path);
  c.add_option("--connect", o.connect, "socket or rdma_cm (iWARP: rdma_cm by itself)")->capture_default_str()->group(path);
  c.add_option("--retry-count", o.retry_count, "0-7 (at most 6 on rxe)")->capture_default_str()->group(path);
  c.add_option("--timeout-code", o.timeout_code, "4.096 us x 2^code before a retry")->capture_default_str()->group(path);
}

void add_memory_options(CLI::App& c, PlanOptions& o) {
  auto memory = "Memory and CPUs";
  c.add_option("--working-set", o.working_set, "bytes cycled through (default: beyond the last-level cache)")->group(memory);
  c.add_flag("--hugepages", o.hugepages, "buffers on huge pages")->group(memory);
  c.add_flag("--relaxed-ordering,!--no-relaxed-ordering", o.relaxed_ordering, "register with it where the device can (default), or without")->group(memory);
  add_cpu_options(c, o, memory);
  c.add_option("--numa", o.numa, "NUMA node of the buffers here")->group(memory);
  c.add_option("--peer-numa", o.peer_numa, "NUMA node there")->group(memory);
}

}  // namespace

void add_rdma_plan_options(CLI::App& c, PlanOptions& o) {
  c.add_option("--op", o.op, "write, write_imm, read, send, fetch_add, compare_swap")->capture_default_str()->group(kMeasure);
  add_measure_options(c, o,
                      {.metric = "bandwidth, latency or rate (messages/s)",
                       .size = "64K, a sweep 2..8M, or a list 1K,3000,1M",
                       .iterations = "messages per QP instead of a duration",
                       .warm_up = "before the window (default 100ms)",
                       .direction = "of the data: to, from or both (default to; read: from)",
                       .verify = "check the data; of send, write_imm and read each message where it can, which slows them",
                       .load_rate = "open loop: so many messages/s, timed from the intended send"});
  c.add_option("--preset", o.preset, "perftest: its defaults, for cross-checks")->group(kMeasure);
  add_queue_options(c, o);
  add_path_options(c, o);
  add_memory_options(c, o);
}

void add_tcp_plan_options(CLI::App& c, PlanOptions& o) {
  add_measure_options(c, o,
                      {.metric = "bandwidth or latency",
                       .size = "block (default 1M; latency 64), sweep or list",
                       .iterations = "blocks or round trips per stream instead of a duration",
                       .warm_up = "before the window (default 100ms; blocks by count: none)",
                       .direction = "of the data: to, from or both (default to)",
                       .verify = "check the data",
                       .load_rate = "open loop: so many round trips/s, timed from the intended send"});
  auto stream = "Streams";
  c.add_option("-q,--streams", o.streams, "connections")->capture_default_str()->group(stream);
  c.add_option("--threads", o.threads, "default: one per stream")->group(stream);
  c.add_option("--wait", o.wait, "spin or block (default: latency spin, bandwidth block)")->group(stream);
  c.add_flag("--zerocopy", o.zerocopy, "MSG_ZEROCOPY; the copied share is printed")->group(stream);
  c.add_option("--congestion", o.congestion, "cubic, bbr, … on both ends")->group(stream);
  c.add_option("--mss", o.mss_bytes, "maximum segment size in bytes")->group(stream);
  c.add_option("--window", o.window, "socket buffers (default: the kernel tunes)")->group(stream);
  c.add_option("--pacing", o.pacing, "bit/s over all streams: 25G, 500M; a bare number is Gbit/s")->group(stream);
  auto place = "Interface and CPUs";
  c.add_option("--interface", o.interface, "bind to this interface here")->group(place);
  c.add_option("--peer-interface", o.peer_interface, "and there")->group(place);
  add_cpu_options(c, o, place);
}

}  // namespace railgauge::bench
