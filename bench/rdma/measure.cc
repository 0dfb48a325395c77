#include "bench/rdma/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <numeric>
#include <optional>
#include <thread>

#include "base/error.h"
#include "bench/rdma/report.h"
#include "bench/rdma/run.h"

namespace railgauge::bench {
namespace {

using plan::Metric;
using plan::Operation;

/// Each group's part of `counts`, which are those of all QPs in order; empty spans where they are not known.
template <class Count>
std::vector<std::span<Count>> per_group(std::span<Count> counts, std::span<const std::unique_ptr<RdmaGroup>> groups) {
  std::vector<std::span<Count>> parts;
  std::size_t first = 0;
  for (const auto& group : groups) {
    const std::size_t lanes = group->layout().lanes;
    parts.push_back(first + lanes <= counts.size() ? counts.subspan(first, lanes) : std::span<Count>());
    first += lanes;
  }
  return parts;
}

class GroupsRun {
 public:
  explicit GroupsRun(const Measurable& side) : m_(side) {}

  void measure(RunControl& control, results::SideResult& result) const {
    std::vector<RdmaGroup*> working;
    for (auto& group : m_.groups)
      if (needs_thread(*group)) working.push_back(group.get());
    std::latch ready(static_cast<std::ptrdiff_t>(working.size()));
    RunShared shared{.plan = m_.plan, .clock = m_.clock, .control = control, .broken = m_.watcher.broken(),
                     .stall_limit = m_.agreement.stall_limit, .same_host = m_.place.same_host(), .ready = ready};
    bool active = initiates(m_.plan, m_.side);
    if (active) {
      shared.initiators.store(static_cast<int>(m_.groups.size()));
      control.completed.resize(qps());
      shared.completed = per_group(std::span(control.completed), m_.groups);
    } else {
      control.active_done.store(true);
    }
    const auto began = m_.clock.read_both();
    std::vector<GroupOutcome> outcomes = run_all(working, shared);
    check_clock(began, result);
    if (!control.active_done.load()) {  // a thread failed before it could say so
      control.completed.clear();
      control.active_done.store(true);
    }
    bool failed = std::any_of(outcomes.begin(), outcomes.end(), [](const GroupOutcome& o) { return !o.error.empty(); });
    if (!failed) wait_for_peer(control, result);
    report(outcomes, m_.plan, active, result);
    const bool told = control.peer_done.load() && control.peer_completed.size() == qps();
    const std::span<const std::uint64_t> sent_here = told ? std::span(control.peer_completed) : std::span<std::uint64_t>();
    check_data({.outcomes = outcomes_of(working, outcomes), .sent_here = per_group(sent_here, m_.groups), .failed = failed}, result);
    if (!result.error && m_.plan.metric != Metric::latency) control.transfers = count_transfers(working, outcomes);
    if (result.error) await_port_event();
    auto events = m_.watcher.events();
    report_events(events, began.at, result);
    blame_port({.name = fmt::format("port {} of {}", m_.place.port(), m_.device.name()), .state = port_state()}, events, began.at, result);
  }

 private:
  /// The counter was calibrated in a moment; here it has run as long as what it has timed.
  void check_clock(const TickClock::Instant& began, results::SideResult& result) const {
    if (auto ppm = m_.clock.drift_ppm(began, m_.clock.read_both()))
      result.warnings.push_back(fmt::format("the processor's time stamp counter ran {:.0f} ppm {} than CLOCK_MONOTONIC_RAW during the run, and the figures are "
                                            "off by as much: see `dmesg | grep -i tsc`; a virtual machine that moved to another host must be measured again",
                                            std::abs(*ppm), *ppm > 0 ? "faster" : "slower"));
  }

  /// Each group on a thread of its own, to the end. Throws Error when one cannot be started, after those before it have ended.
  std::vector<GroupOutcome> run_all(const std::vector<RdmaGroup*>& working, RunShared& shared) const {
    std::vector<GroupOutcome> outcomes(working.size());
    std::vector<std::jthread> threads;
    threads.reserve(working.size());
    try {
      for (std::size_t i = 0; i < working.size(); ++i)
        threads.emplace_back([&, i] { outcomes[i] = run_group(*working[i], shared, m_.place.cpu_of(i)); });
    } catch (const std::exception& error) {
      const auto missing = static_cast<std::ptrdiff_t>(working.size() - threads.size());
      shared.abandoned.store(true);
      shared.ready.count_down(missing);  // or those that wait there would be joined for ever
      throw Error(ErrorKind::system, fmt::format("thread {} of {} could not be started: {}; use fewer --threads, or raise the limit of processes "
                                                 "(ulimit -u; in a container its pids.max)",
                                                 threads.size() + 1, working.size(), error.what()));
    }
    threads.clear();  // joins
    return outcomes;
  }

  /// What the port's counters have to show for it.
  Transfers count_transfers(const std::vector<RdmaGroup*>& working, const std::vector<GroupOutcome>& outcomes) const {
    Transfers all;
    auto add = [&](std::optional<Moved>& into, const Group& layout, const std::vector<std::uint64_t>& counts) {
      if (counts.empty()) return;
      if (!into) into.emplace();
      auto messages = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
      auto mtu = static_cast<std::uint64_t>(m_.agreement.mtu_bytes);
      into->bytes += messages * layout.message_bytes;
      into->messages += messages;
      into->packets += messages * ((layout.message_bytes + mtu - 1) / mtu);
    };
    for (std::size_t i = 0; i < working.size(); ++i) {
      const Group& layout = working[i]->layout();
      bool reads = layout.operation == Operation::read;
      if (!reads && layout.operation != Operation::write && layout.operation != Operation::write_imm && layout.operation != Operation::send) continue;
      add(reads ? all.received : all.sent, layout, outcomes[i].sent_counts);
      add(all.received, layout, outcomes[i].received_counts);
    }
    return all;
  }

  /// A port that goes down fails requests before or after its event comes; the event is the better reason.
  void await_port_event() const {
    constexpr auto kMoment = std::chrono::milliseconds(200);  // events come within a few milliseconds of what they tell
    Deadline moment = Deadline::after(kMoment);
    while (!moment.passed() && !find_port_down(m_.watcher.events())) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  /// Empty when it cannot be asked for any more.
  std::string port_state() const {
    try {
      return m_.device.port_facts(m_.place.port()).state;
    } catch (const Error&) {
      return {};
    }
  }

  /// The peer may still need this side's memory and QPs.
  void wait_for_peer(const RunControl& control, results::SideResult& result) const {
    Deadline deadline = Deadline::after(2 * plan::expected_wall_time(m_.plan) + std::chrono::seconds(30));
    while (!control.peer_done.load() && !control.stop.load() && !m_.watcher.broken().load()) {
      if (deadline.passed()) {
        result.error = results::ErrorInfo{.kind = name_of(ErrorKind::timeout),
                                          .code = 0,
                                          .stage = "run",
                                          .side = result.role,
                                          .text = "the peer did not say that it has ended"};
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::size_t qps() const {
    return std::accumulate(m_.groups.begin(), m_.groups.end(), std::size_t{0}, [](std::size_t sum, const auto& group) { return sum + group->layout().lanes; });
  }

  using Parts = std::vector<std::span<const std::uint64_t>>;
  /// What is known of the data after a run, per group.
  struct Known {
    std::vector<const GroupOutcome*> outcomes;  ///< null: it had nothing to do here
    Parts sent_here;                            ///< messages per lane that completed on the peer's side; empty: not known
    bool failed;                                ///< on this side
  };

  std::vector<const GroupOutcome*> outcomes_of(const std::vector<RdmaGroup*>& working, const std::vector<GroupOutcome>& outcomes) const {
    std::vector<const GroupOutcome*> found(m_.groups.size(), nullptr);
    for (std::size_t i = 0; i < working.size(); ++i) found[working[i]->index()] = &outcomes[i];
    return found;
  }

  /// Messages per lane that have completed: as this side counted its own, or as the peer says, which knows whether more are on
  /// their way. A ping-pong counts its rounds.
  static std::span<const std::uint64_t> counts_of(const RdmaGroup& group, const GroupOutcome* outcome, std::span<const std::uint64_t> sent_here) {
    const bool own = is_read_or_atomic(group.layout().operation) || group.layout().is_ping_pong();
    if (!own) return sent_here;
    return outcome != nullptr ? std::span(outcome->sent_counts) : std::span<const std::uint64_t>();
  }

  /// Nothing may be on its way: neither side failed or was stopped, and the peer has said how many messages it completed.
  void find_lost(RdmaGroup& group, const GroupOutcome* outcome, std::span<const std::uint64_t> sent, results::SideResult& result) const {
    const Group& layout = group.layout();
    if (sent.empty() || is_read_or_atomic(layout.operation) || layout.is_ping_pong() || (outcome != nullptr && outcome->stopped)) return;
    const bool seen = layout.needs_receives() && outcome != nullptr;
    auto lost = group.what_is_lost(sent, seen ? std::span(outcome->received_counts) : std::span<const std::uint64_t>());
    if (lost && !result.error)
      result.error = results::ErrorInfo{.kind = name_of(ErrorKind::data), .code = 0, .stage = "verify", .side = result.role, .text = *lost};
  }

  void check_data(const Known& known, results::SideResult& result) const {
    // A failed run leaves memory in between two messages; what was checked message by message stands.
    if (m_.plan.verify && known.failed && std::any_of(m_.groups.begin(), m_.groups.end(), [](const auto& group) { return group->message_check() == nullptr; }))
      result.warnings.emplace_back("the data last left in memory was not verified, because the run failed");
    for (std::size_t i = 0; i < m_.groups.size(); ++i) {
      RdmaGroup& group = *m_.groups[i];
      if (!known.failed) find_lost(group, known.outcomes[i], known.sent_here[i], result);
      if (!m_.plan.verify || (known.failed && group.message_check() == nullptr)) continue;
      add_verification(group.verify(counts_of(group, known.outcomes[i], known.sent_here[i]), result.warnings), result);
    }
    if (m_.plan.verify_each && m_.groups.front()->message_check() != nullptr)
      result.warnings.emplace_back("each message was checked by the thread that receives it, which may have lowered the figure: leave --verify "
                                   "out for the fastest");
    if (result.error && result.error->stage == "run" && result.verification && result.verification->mismatched_bytes > 0)
      result.warnings.push_back(fmt::format("beside the failure: {}", results::mismatch_text(*result.verification)));
  }

  const Measurable& m_;
};

}  // namespace

void measure_groups(const Measurable& side, RunControl& control, results::SideResult& result) { GroupsRun(side).measure(control, result); }

}  // namespace railgauge::bench
