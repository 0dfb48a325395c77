#include "bench/rdma/run.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "bench/thread_watch.h"
#include "loops/ping_pong_completion.h"
#include "loops/ping_pong_memory.h"
#include "loops/request_latency.h"

namespace railgauge::bench {
namespace {

using loops::Ending;
using loops::Failure;
using loops::Flags;

Flags flags_of(RunShared& shared, const RdmaGroup& group) {
  return {.stop = group.layout().load ? shared.load_stop : shared.control.stop, .abort = shared.broken, .peer_done = shared.control.peer_done};
}

std::string describe(const loops::Fault& fault, const RdmaGroup& group, const RunShared& shared) {
  const char* what = fault.receiving ? "receive" : "request";
  switch (fault.what) {
    case Failure::none: return {};
    case Failure::post:
      return fmt::format("ibv_post_send on lane {} slot {}: {}", fault.completion.lane, fault.completion.slot, errno_text(fault.code));
    case Failure::post_recv:
      return fmt::format("ibv_post_recv on lane {} slot {}: {}", fault.completion.lane, fault.completion.slot, errno_text(fault.code));
    case Failure::poll: return fmt::format("ibv_poll_cq: {}", errno_text(fault.code));
    case Failure::completion: return fmt::format("{} failed: {}", what, group.queue().describe(fault.completion));
    case Failure::stalled:
      if (fault.receiving && group.layout().task == GroupTask::ping_pong_memory)
        return fmt::format("no message was seen in memory for {}: the peer or the path does not answer, or a last byte, which is waited for, arrived damaged",
                           format_duration(shared.stall_limit));
      return fmt::format("no {} completed for {}: the peer or the path does not answer", what, format_duration(shared.stall_limit));
    case Failure::drain:
      return fmt::format("what was in flight at the end on QP {:#x} did not complete within {}: the peer or the path does not answer",
                         group.queue().qp(fault.completion.lane)->qp_num, format_duration(shared.stall_limit));
    case Failure::length:
      return fmt::format("message {} on lane {} arrived with {} bytes, {} were sent", fault.message, fault.completion.lane, fault.completion.bytes,
                         group.layout().message_bytes);
  }
  return {};
}

void note(GroupOutcome& outcome, Ending ending, const loops::Fault& fault, const RdmaGroup& group, const RunShared& shared) {
  outcome.stopped = outcome.stopped || ending == Ending::stopped;
  if (!fault || outcome.fault) return;
  outcome.fault = fault;
  outcome.error = describe(fault, group, shared);
  outcome.damaged = fault.what == Failure::length;
}

/// Where the initiator is also the one that receives.
loops::MessageCheck* initiators_check(const RdmaGroup& group) {
  return group.layout().operation == plan::Operation::read ? group.message_check() : nullptr;
}

loops::WindowSettings window_settings(const RdmaGroup& group, const RunShared& shared) {
  const Group& g = group.layout();
  loops::WindowSettings s;
  s.message_bytes = g.message_bytes;
  s.ring = g.ring;
  s.depth = g.depth;
  s.post_batch = g.post_batch;
  s.signal_every = g.signal_every;
  s.iterations = g.load ? 0 : shared.plan.iterations.value_or(0);
  s.times = {.warm_up = shared.plan.warm_up, .duration = shared.plan.duration, .interval = shared.plan.interval};
  if (!g.load && shared.plan.rdma.rate_limit_gbit_per_s)
    s.messages_per_s = *shared.plan.rdma.rate_limit_gbit_per_s * 1e9 / 8.0 / static_cast<double>(g.message_bytes) / shared.plan.threads;
  // The stream beside a latency measurement lasts until that is over.
  if (g.load) s.times.duration = nanoseconds{};
  s.stall_limit = shared.stall_limit;
  s.drain_limit = shared.stall_limit;
  s.events = shared.plan.rdma.events;
  s.yields = shared.same_host;
  s.check = initiators_check(group);
  return s;
}

loops::LatencySettings latency_settings(const RdmaGroup& group, const RunShared& shared, bool halved) {
  loops::LatencySettings s;
  s.message_bytes = group.layout().message_bytes;
  s.ring = group.layout().ring;
  s.receives = group.layout().recv_ring;
  s.iterations = shared.plan.iterations.value_or(0);
  s.warm_up = shared.plan.warm_up;
  s.duration = shared.plan.duration;
  s.stall_limit = shared.stall_limit;
  s.idle_limit = std::max<nanoseconds>(std::chrono::seconds(10), 2 * shared.stall_limit);
  s.halved = halved;
  s.yields = shared.same_host;
  s.events = shared.plan.rdma.events;
  s.check = group.message_check();
  return s;
}

std::optional<Counted> counted(const loops::Schedule& schedule) {
  if (!schedule.measured()) return std::nullopt;
  return Counted{schedule.recorder().summary(), schedule.recorder().series()};
}

/// The common begin of a side's threads. Loops and recorders are set up before it: with no warm-up the window opens here.
class CommonBegin {
 public:
  CommonBegin(RunShared& shared, ThreadWatch& watch) : shared_(shared), watch_(watch) {}
  CommonBegin(const CommonBegin&) = delete;
  CommonBegin& operator=(const CommonBegin&) = delete;
  /// A thread that failed before must not be waited for.
  ~CommonBegin() {
    if (!passed_) shared_.ready.count_down();
  }
  /// Waits for all threads; the tick of the first one that passes. Throws Error when one of them could not be started.
  std::uint64_t wait() {
    watch_.begin();
    passed_ = true;
    shared_.ready.arrive_and_wait();
    if (shared_.abandoned.load()) throw Error(ErrorKind::system, "another thread could not be started");
    std::uint64_t tick = 0;
    std::uint64_t now = shared_.clock.now();
    return shared_.start_tick.compare_exchange_strong(tick, now) ? now : tick;
  }

 private:
  RunShared& shared_;
  ThreadWatch& watch_;
  bool passed_ = false;
};

class GroupRun {
 public:
  GroupRun(RdmaGroup& group, RunShared& shared, CommonBegin& begin) : group_(group), shared_(shared), begin_(begin), side_(group.side()) {}

  GroupOutcome run() {
    bool initiates_stream = initiates(shared_.plan, side_) && group_.initiating();
    switch (group_.layout().task) {
      case GroupTask::stream: stream(initiates_stream); break;
      case GroupTask::ping_pong_memory: ping_pong_memory(); break;
      case GroupTask::ping_pong_completion: ping_pong_completion(); break;
      case GroupTask::requests: requests(); break;
      case GroupTask::open_loop: group_.initiating() ? open_loop() : receive(); break;
    }
    return std::move(outcome_);
  }

 private:
  /// The stream beside a latency is not what is measured.
  loops::Live live() {
    if (group_.layout().load) return {};
    return {&shared_.control.live_bytes, &shared_.control.live_messages};
  }

  void stream(bool sending) {
    bool receiving = group_.layout().needs_receives() && group_.responding();
    if (sending && receiving) duplex();
    else if (sending) send();
    else if (receiving) receive();
  }

  void send() {
    loops::WindowSender sender(group_.queue(), window_settings(group_, shared_), flags_of(shared_, group_), shared_.clock, live());
    after_send(loops::run(sender, begin_.wait()), sender.schedule());
    tell(sender);
    ended_initiating();
  }

  void receive() {
    loops::WindowReceiver receiver(group_.queue(), receive_settings(), flags_of(shared_, group_), shared_.clock, live(), shared_.first_arrival);
    begin_.wait();
    after_receive(loops::run(receiver), receiver.schedule());
  }

  void duplex() {
    loops::WindowSender sender(group_.queue(), window_settings(group_, shared_), flags_of(shared_, group_), shared_.clock, live());
    loops::WindowReceiver receiver(group_.queue(), receive_settings(), flags_of(shared_, group_), shared_.clock, {}, shared_.first_arrival);
    loops::DuplexOutcome both = loops::run_duplex(sender, receiver, begin_.wait(), [&] {
      tell(sender);
      ended_initiating();
    });
    after_send(both.sent, sender.schedule());
    after_receive(both.received, receiver.schedule());
  }

  void after_send(const loops::WindowOutcome& sent, const loops::Schedule& schedule) {
    note(outcome_, sent.ending, sent.fault, group_, shared_);
    if (group_.layout().load) outcome_.stopped = false;  // its planned end
    outcome_.drain = sent.drain;
    if (sent.drained) outcome_.sent_counts = sent.completed;
    outcome_.sent = counted(schedule);
    if (outcome_.fault) return;
    leave_tallies(sent.completed, sent.ending == loops::Ending::stopped);
  }

  /// Up to the first that cannot be left; then the other side is not told any number. After a stop the peer may be gone.
  void leave_tallies(const std::vector<std::uint64_t>& counts, bool stopped) {
    nanoseconds patience = stopped ? std::min<nanoseconds>(std::chrono::seconds(1), shared_.stall_limit) : shared_.stall_limit;
    for (std::uint32_t lane = 0; lane < counts.size() && shared_.all_completed; ++lane)
      if (!group_.send_tally(lane, counts[lane], Deadline::after(patience))) shared_.all_completed = false;
  }

  /// Says how many messages of each lane have completed. In the loop of a receiver that goes on.
  void tell(const loops::WindowSender& sender) noexcept {
    sender.completed_per_lane(shared_.completed[group_.index()]);
    if (sender.failed() || !sender.drained()) shared_.all_completed = false;
  }

  void after_receive(const loops::ReceiveOutcome& received, const loops::Schedule& schedule) {
    note(outcome_, received.ending, received.fault, group_, shared_);
    outcome_.received_counts = received.received;
    // By count the initiator alone counts: only it knows which message is the first of the window, and its last completion
    // says that the last has arrived.
    if (!shared_.plan.iterations) outcome_.received = counted(schedule);
  }

  void ping_pong_memory() {
    loops::Stamps stamps = group_.stamps();
    loops::LatencySettings settings = latency_settings(group_, shared_, true);
    Flags flags = flags_of(shared_, group_);
    stats::LatencyRecorder* samples = asks() ? &recorder() : nullptr;
    begin_.wait();
    if (samples != nullptr) after_latency(loops::ping_by_memory(group_.queue(), settings, stamps, flags, shared_.clock, *samples, live()));
    else after_latency(loops::pong_by_memory(group_.queue(), settings, stamps, flags, shared_.clock));
  }

  void ping_pong_completion() {
    loops::LatencySettings settings = latency_settings(group_, shared_, true);
    Flags flags = flags_of(shared_, group_);
    stats::LatencyRecorder* samples = asks() ? &recorder() : nullptr;
    begin_.wait();
    if (samples != nullptr) after_latency(loops::ping_by_completion(group_.queue(), settings, flags, shared_.clock, *samples, live()));
    else after_latency(loops::pong_by_completion(group_.queue(), settings, flags, shared_.clock));
  }

  void requests() {
    stats::LatencyRecorder& samples = recorder();
    begin_.wait();
    after_latency(loops::time_requests(group_.queue(), latency_settings(group_, shared_, false), flags_of(shared_, group_), shared_.clock, samples,
                                       live()));
  }

  void open_loop() {
    outcome_.from_intended = std::make_unique<stats::LatencyRecorder>();
    loops::OpenLoopSettings settings;
    settings.latency = latency_settings(group_, shared_, false);
    settings.depth = group_.layout().depth;
    settings.rate_per_s = *shared_.plan.load_rate_per_s;  // there is one for this task (lay_out)
    stats::LatencyRecorder& from_posted = recorder();
    begin_.wait();
    loops::OpenLoopOutcome found =
        loops::send_by_schedule(group_.queue(), settings, flags_of(shared_, group_), shared_.clock, *outcome_.from_intended, from_posted, live());
    outcome_.late_sends = found.late_sends;
    outcome_.unsent = found.unsent;
    after_latency(found.latency);
  }

  void after_latency(const loops::LatencyOutcome& found) {
    note(outcome_, found.ending, found.fault, group_, shared_);
    const bool finished = found.ending == loops::Ending::finished;
    if (finished || group_.message_check() != nullptr) outcome_.sent_counts = {found.rounds};
    if (auto mark = group_.damaged_mark(found.rounds)) {
      outcome_.error = fmt::format("message {} arrived but for its last byte, the mark that is waited for: expected {:#04x}, found {:#04x}", found.rounds + 1,
                                   mark->expected.value_or(0), mark->found.value_or(0));
      outcome_.damaged = true;
    }
    if (!asks()) return;
    shared_.completed[group_.index()].front() = found.rounds;
    if (!outcome_.error.empty() || !finished) shared_.all_completed = false;
    if (outcome_.error.empty()) leave_tallies({found.rounds}, found.ending == loops::Ending::stopped);
    shared_.load_stop.store(true);
    ended_initiating();
  }

  loops::ReceiveSettings receive_settings() const {
    loops::ReceiveSettings settings = group_.receive_settings();
    settings.stall_limit = 2 * shared_.stall_limit;
    settings.yields = shared_.same_host;
    return settings;
  }
  bool asks() const { return initiates(shared_.plan, side_); }
  stats::LatencyRecorder& recorder() {
    outcome_.latency = std::make_unique<stats::LatencyRecorder>();
    return *outcome_.latency;
  }
  void ended_initiating() {
    if (shared_.initiators.fetch_sub(1) != 1) return;
    if (!shared_.all_completed) shared_.control.completed.clear();
    shared_.control.active_done.store(true);
  }

  RdmaGroup& group_;
  RunShared& shared_;
  CommonBegin& begin_;
  Side side_;
  GroupOutcome outcome_;
};

}  // namespace

bool needs_thread(const RdmaGroup& group) { return group.initiating() || group.layout().needs_receives(); }

GroupOutcome run_group(RdmaGroup& group, RunShared& shared, std::optional<int> cpu) noexcept {
  GroupOutcome outcome;
  ThreadWatch watch;
  CommonBegin begin(shared, watch);
  try {
    if (const int error = watch.bind(cpu); error != 0)
      throw Error(ErrorKind::system, fmt::format("binding a measuring thread to CPU {}: {}", *cpu, errno_text(error)));
    outcome = GroupRun(group, shared, begin).run();
    watch.end();
    outcome.usage = watch.usage();
  } catch (const std::exception& thrown) {
    outcome.thrown = error_from(thrown);
    outcome.error = outcome.thrown->what();
    shared.load_stop.store(true);
  }
  return outcome;
}

}  // namespace railgauge::bench
