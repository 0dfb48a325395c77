#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace railgauge::plan {

using std::chrono::nanoseconds;

/// What carries the data; each has operations of its own.
enum class Transport { rdma, tcp };
/// What moves the data: up to compare_swap of RDMA, stream and round_trip of TCP.
enum class Operation { write, write_imm, read, send, fetch_add, compare_swap, stream, round_trip };
/// What is measured: payload over time, the time of one message, or messages over time.
enum class Metric { bandwidth, latency, rate };
/// Seen from the client: `to` the server, `from` the server, `both` at once.
enum class Direction { to, from, both };
/// How queue pairs find each other: by what the control channel carries, or by librdmacm.
enum class ConnectBy { socket, rdma_cm };
/// What a TCP thread does while there is nothing: ask again, or sleep in the call.
enum class Wait { spin, block };
/// Pages of the buffers: the host's own size, or huge ones.
enum class Paging { normal, huge };

/// The word of an option, a plan and a record: that of the enumerator. Static text; any thread.
const char* name_of(Transport) noexcept;
const char* name_of(Operation) noexcept;
const char* name_of(Metric) noexcept;
const char* name_of(Direction) noexcept;
const char* name_of(ConnectBy) noexcept;
const char* name_of(Wait) noexcept;
const char* name_of(Paging) noexcept;
/// fetch_add or compare_swap.
constexpr bool is_atomic(Operation op) noexcept { return op == Operation::fetch_add || op == Operation::compare_swap; }
/// What the initiator asks of the responder's memory and waits for: read, fetch_add or compare_swap.
constexpr bool is_read_or_atomic(Operation op) noexcept { return op == Operation::read || is_atomic(op); }
/// The inverses of name_of. Throw Error{usage} naming the value found and the values wanted.
Transport transport_from(const std::string&);
Operation operation_from(const std::string&);
Metric metric_from(const std::string&);
Direction direction_from(const std::string&);
ConnectBy connect_by_from(const std::string&);
Wait wait_from(const std::string&);
Paging paging_from(const std::string&);

/// Where one side runs: filled on that side from the wishes and from what the host says.
struct Placement {
  std::optional<std::string> device;    ///< RDMA device; empty: choose
  std::optional<int> port;
  std::optional<int> gid_index;
  std::optional<std::string> interface; ///< TCP: SO_BINDTODEVICE
  std::vector<int> cpus;                ///< one per thread, round robin; empty: the NIC's NUMA node, else the inherited mask
  std::optional<int> numa_node;         ///< of the buffers; empty: the NIC's
};

/// What only RDMA measurements have.
struct RdmaSettings {
  int qps = 1;                          ///< per thread, 1…16384
  int depth = 128;                      ///< outstanding WRs per QP
  int post_batch = 1;                   ///< WRs per post call
  int signal_every = 1;                 ///< one CQE per so many WRs
  std::optional<int> inline_bytes;      ///< asked for; empty: as much as the message needs and the device gives, latency and small messages only
  std::optional<int> mtu_bytes;         ///< path MTU; empty: the smaller active MTU of both ports
  int service_level = 0;                ///< 0…15
  int traffic_class = 0;                ///< 0…255
  int retry_count = 7;                  ///< 0…7; 6 at most on software devices, where 7 means for ever
  int timeout_code = 14;                ///< 4.096 us · 2^code
  std::optional<double> rate_limit_gbit_per_s;  ///< above 0; empty: none
  bool events = false;                  ///< sleep on the completion channel instead of polling
  bool relaxed_ordering = true;
  ConnectBy connect = ConnectBy::socket;
  std::optional<std::uint64_t> max_reads;  ///< outstanding reads/atomics per QP; empty: the device's maximum, agreed by both sides
};

/// What only TCP measurements have.
struct TcpSettings {
  std::optional<std::string> congestion;
  std::optional<int> mss_bytes;
  std::optional<std::uint64_t> window_bytes;   ///< SO_SNDBUF and SO_RCVBUF; empty: the kernel's auto-tuning
  std::optional<double> pacing_gbit_per_s;     ///< SO_MAX_PACING_RATE over all streams, above 0; empty: none
  bool zerocopy = false;
  Wait wait = Wait::block;              ///< spin: calls that never sleep (MSG_DONTWAIT), again and again; block: calls that sleep
};

/// One measurement, validated, the same for both hosts. The client owns it; the server receives it over the control channel.
struct Plan {
  std::string label;                    ///< "write bandwidth 1 QP 64 KiB": names it on screen and in the record
  Transport transport = Transport::tcp;
  Operation operation = Operation::stream;
  Metric metric = Metric::bandwidth;
  Direction direction = Direction::to;
  std::uint64_t message_bytes = 65536;
  nanoseconds duration = std::chrono::seconds(1);   ///< of the measured window; ignored where iterations are given
  std::optional<std::uint64_t> iterations;     ///< messages per QP or stream (round trips for latency), 1 or more; empty: by duration
  nanoseconds warm_up = std::chrono::milliseconds(100);
  nanoseconds interval = std::chrono::milliseconds(100);
  int threads = 1;
  int streams = 1;                      ///< TCP
  bool verify = false;                  ///< data are checked: every message of a latency, what the last transfers left of a bandwidth
  bool verify_each = false;             ///< RDMA bandwidth or rate: every message that its receiver sees arrive (send, write_imm, read) is to
                                        ///< be checked where it can be, before its memory is used again, which costs the figure; needs verify
  std::optional<std::uint64_t> working_set_bytes;   ///< per thread and side, a message at least; empty: four times the last-level cache, at most 1/8 of memory
  Paging paging = Paging::normal;
  bool under_load = false;              ///< latency beside a bandwidth stream on QPs/streams of its own
  std::optional<double> load_rate_per_s;       ///< open-loop schedule of a latency measurement: messages per second, above 0; empty: closed loop, not under load
  RdmaSettings rdma;
  TcpSettings tcp;
  Placement client;
  Placement server;
};

/// Upper limits a server enforces by name on whatever a client asks for.
struct Limits {
  int max_qps = 16384;
  int max_threads = 256;
  int max_streams = 1024;
  std::uint64_t max_message_bytes = 1ULL << 31;
  std::uint64_t max_memory_bytes = 1ULL << 36;
  nanoseconds max_duration = std::chrono::hours(24);
};

/// The schedule of a latency under load where nobody says one. 10,000 a second give the 10,000 samples that p99.9 needs in one
/// second, at 0.6 MB/s for 64-byte messages.
inline constexpr double kLoadedRate = 10000;

/// Requests of an open-loop latency that may be in flight at once.
inline constexpr std::uint32_t kOpenLoopDepth = 128;

/// Requests of any other RDMA latency that may be posted and not yet taken back.
inline constexpr std::uint32_t kLatencyDepth = 16;

/// perftest's own depth (perftest-lessons.md section 3).
inline constexpr int kUsualDepth = 128;

/// The depth of an RDMA plan where nobody says one: 1 for a latency, else kUsualDepth, halved while more than 64 MiB would be
/// under way on all QPs, but at least 2 and in whole posts and signals.
int usual_depth(const Plan& plan);

/// QPs that an RDMA plan makes on each side: those of all threads, and one for a latency.
int total_qps(const Plan& plan) noexcept;

/// Messages that an RDMA latency keeps in memory, the largest part of what it registers. It works on one message over and
/// over: the buffers of an application's request and answer. With verification as many as let one be checked while others
/// are under way; one where nobody sees each arrive (open-loop writes and reads). Atomics are told apart by their slots.
std::uint32_t latency_slots(const Plan& plan);

/// Checks every rule that needs no device and throws Error{usage} with the value found, the value wanted and the option
/// to change; fills nothing in. After it the loops may rely on: depth a multiple of post_batch and of signal_every;
/// sizes ≥ 1 (8 for atomics); operation, metric and transport fit each other; counts inside `limits`.
void validate(const Plan& plan, const Limits& limits);

/// Longest time without a completion that a healthy RDMA transport can need, at least 2 s. T = 4.096 us · 2^code, once and then
/// for each retry; a NIC may take up to 4 T (InfiniBand specification 11.2.4.2), a software device's timer fires at T.
nanoseconds stall_limit(const RdmaSettings& rdma, bool software) noexcept;

/// Worst-case wall time of the measurement itself (warm-up, window, drain), from which deadlines are derived. By count the
/// window is estimated, and at most limits.max_duration. The drain lasts until a lost peer has been noticed on both sides, at
/// least 5 s, and at most limits.max_duration where that is longer.
nanoseconds expected_wall_time(const Plan& plan, const Limits& limits = {});

}  // namespace railgauge::plan
