#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/facts.h"
#include "plan/plan.h"
#include "rates/expectation.h"
#include "stats/series.h"

namespace railgauge::results {

using std::chrono::nanoseconds;

/// How a measurement or a run ended.
enum class Outcome {
  done,         ///< to its planned end
  partial,      ///< stopped on the way (Ctrl-C, peer vanished, failed completion); what there is, is kept and marked
  failed,       ///< no figure
  skipped,      ///< not possible here; the reason says why
};

/// Words of a verdict (design.md, sections 1 and 5).
enum class VerdictWord { met, marginal, below, failed, no_criterion, inconclusive, skipped };

const char* name_of(Outcome) noexcept;
const char* name_of(VerdictWord) noexcept;

/// What went wrong, for the record.
struct ErrorInfo {
  std::string kind;         ///< name_of(ErrorKind)
  int code = 0;
  std::string stage;        ///< "prepare", "connect" (control channel or data path), "control" (the talk before measuring), "run", "verify"
  std::string side;         ///< "client", "server"
  std::string text;
  bool operator==(const ErrorInfo&) const = default;
};

/// CPU use of one measuring thread over `elapsed`. A thread of TCP streams is told when the window opens and closes, and notes it
/// just before and just after. A thread of RDMA or of round trips decides that itself inside its loop, where no system call
/// belongs: it notes it before the warm-up and after what was in flight has come.
struct ThreadUsage {
  std::optional<int> cpu;   ///< the CPU it was bound to; nothing: not bound
  nanoseconds user{};
  nanoseconds system{};
  nanoseconds elapsed{};
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  host::Fact<nanoseconds> run_queue_wait{};  ///< ready to run, but on no CPU (schedstat of the thread, second number)
};

/// Change of one counter from before the warm-up until after the drain of the measurement: a fault on the way counts as well.
using CounterDelta = host::CounterDelta;

/// What data verification found.
struct Verification {
  std::uint64_t checked_bytes = 0;
  std::uint64_t mismatched_bytes = 0;
  std::optional<std::uint64_t> first_offset;    ///< of the first mismatch, within the buffer
  std::optional<int> expected;                  ///< byte value
  std::optional<int> found;
  std::optional<std::uint64_t> checked_messages{};  ///< absent: blocks of a stream were compared
  std::optional<std::uint64_t> messages{};      ///< that there were, warm-up included; absent: not counted
  std::string scope{};                          ///< which were compared, in words: "every message"
};

/// "3 of 65536 bytes checked differ, first at offset 4099: expected 0xa5, found 0xa4".
std::string mismatch_text(const Verification& verification);

/// Begin of the scope where a message has nothing that could be compared, so that it is no lack that nothing was.
inline constexpr std::string_view kNothingToCompare = "nothing, because ";

/// A sum of which a part is not known is not known.
inline void add_count(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
  if (sum && more) *sum += *more;
  else sum.reset();
}

/// One TCP_INFO reading of one stream at one instant (tcp(7), linux/tcp.h); keys as in the kernel, units in the key.
struct TcpInfoSample {
  int stream = 0;
  nanoseconds at{};         ///< from the begin of the measured window
  std::map<std::string, std::uint64_t> fields;  ///< "rtt_us", "snd_cwnd", "total_retrans", "busy_time_us", "rwnd_limited_us", …
};

/// What one side saw of one measurement.
struct SideResult {
  std::string role;                         ///< "client", "server"
  std::string host;
  plan::Placement placement;                ///< in effect
  std::vector<std::string> choices;         ///< sentences: why this device, port, GID, CPU, working set
  std::map<std::string, std::string> settings;   ///< in effect, read back, for people: "congestion" → "cubic", "qp_inline_bytes" → "220", …
  std::optional<int> path_mtu_bytes;        ///< RDMA: in effect, agreed by both sides
  std::optional<int> mss_bytes;             ///< TCP: payload of a full segment, read back after connecting; the smallest of all streams
  bool simulated = false;
  bool software_device = false;
  std::optional<stats::ThroughputSummary> sent;      ///< this side as initiator/sender
  std::optional<stats::ThroughputSummary> received;  ///< this side as receiver
  std::vector<stats::Interval> sent_intervals;
  std::vector<stats::Interval> received_intervals;
  std::optional<stats::LatencySummary> latency;
  std::optional<stats::HistogramData> histogram;
  std::optional<stats::LatencySummary> loaded_latency;   ///< from the intended send instant
  std::optional<std::uint64_t> late_sends;               ///< open loop: in the window, began too late
  std::optional<std::uint64_t> unsent;                   ///< open loop: due in the window, never sent
  nanoseconds drain{};                      ///< after the window until the last completion
  std::vector<ThreadUsage> threads;
  host::Fact<nanoseconds> softirq;          ///< of the CPUs used, over the window
  std::vector<TcpInfoSample> tcp_info;      ///< at interval ends; the first and the last of the window are always there
  std::optional<std::uint64_t> tcp_info_every_intervals;   ///< one in so many intervals was kept; grows in a long run; absent: no TCP_INFO was taken
  std::optional<std::uint64_t> tcp_info_limit_instants;    ///< most that are kept, the last one beside them
  std::string limiter;                      ///< TCP: "cpu", "receive window", "send buffer", "network", "pacing"; empty: not judged
  std::vector<CounterDelta> counters;       ///< those that moved, and those whose change is not known
  std::optional<std::uint64_t> counters_read;   ///< so many were read before and after, most of which stand still; absent: none could be
  std::optional<Verification> verification;
  std::optional<std::uint64_t> zerocopy_completions;
  std::optional<std::uint64_t> zerocopy_copied;
  std::vector<std::string> events;          ///< async events during the run, with their time
  std::vector<std::string> warnings;
  std::optional<ErrorInfo> error;
};

/// A verdict with everything it rests on.
struct Verdict {
  VerdictWord word = VerdictWord::no_criterion;
  std::string criterion;                    ///< "computed", "baseline", "user", "simulated" (a rehearsal), "none"
  std::optional<double> observed;
  std::optional<double> expected;
  std::string unit;                         ///< "Gbit/s", "us"
  std::optional<double> fraction;           ///< observed/expected
  std::string limiting_term;                ///< by name
  std::string cause;                        ///< one sentence: why it is (not) what it should be
  std::vector<std::string> remedies;        ///< commands or actions
};

/// One measurement: plan, both sides, the headline figure, the expectation and the verdict.
struct Measurement {
  plan::Plan plan;
  std::optional<std::string> started_utc;  ///< nothing: a skipped one never started
  nanoseconds wall{};
  Outcome outcome = Outcome::failed;
  std::string reason;                       ///< for partial, failed and skipped
  std::vector<SideResult> sides;            ///< 0…2: client first
  std::optional<stats::ThroughputSummary> throughput;           ///< the receiver's or the completions'; `both`: client to server
  std::optional<stats::ThroughputSummary> throughput_reverse;   ///< `both`: server to client; else absent
  std::optional<stats::LatencySummary> latency;
  std::string latency_meaning;              ///< "half round trip, closed loop", "round trip, closed loop", "round trip, from the intended send"
  rates::Expectation expectation;
  Verdict verdict;
  std::optional<ErrorInfo> error;
};

/// The side of that role ("client", "server"); null if there is none.
const SideResult* side_of(const Measurement& measurement, std::string_view role) noexcept;

/// Who built and ran the tool.
struct Provenance {
  std::string version;                      ///< "0.1.0"
  std::string commit;                       ///< "unknown" outside a checkout
  std::string compiler;
  std::string flags;
  std::string build_type;
  std::map<std::string, std::string> libraries;   ///< "rdma-core" → "44.0", "fmt" → …
};

/// What one host says of itself and how the tool ran there.
struct Node {
  std::string role;                         ///< "client", "server"
  Provenance tool;
  std::vector<std::string> command_line;    ///< argv with secrets left out
  std::vector<std::pair<std::string, std::string>> environment;   ///< allow-listed
  host::Snapshot facts;
  nanoseconds clock_read_cost{};
};

/// A difference between the two hosts worth a line.
using Difference = host::Difference;

/// The file.
struct Record {
  std::string schema;                       ///< kSchemaId
  std::string run_id;                       ///< UUIDv7
  std::string subcommand;                   ///< "check", "rdma", "tcp"
  std::string started_utc;
  nanoseconds wall{};
  Outcome outcome = Outcome::done;
  bool simulated = false;                   ///< any side used a stand-in device
  bool software_device = false;             ///< rxe, siw
  bool same_host = false;
  std::string peer;                         ///< as the user typed it
  std::vector<Node> nodes;                  ///< client first; one when the peer was never reached
  std::vector<Difference> differences;
  std::vector<Measurement> measurements;
  Verdict verdict;                          ///< the worst of all, with its cause
  int exit_code = 3;
  std::vector<std::string> warnings;
  std::optional<ErrorInfo> error;
};

/// The `$id` of the schema this version writes.
inline constexpr const char* kSchemaId = "https://railgauge.invalid/schema/record-1.0.json";

}  // namespace railgauge::results
