/// Exported calls: streams and events. Work is done when it is given; only its time passes.
#include <ctime>

#include "state.h"

using namespace railgauge::simcuda;

namespace {

/// Not under the lock: others may work meanwhile. Ends when the described time has passed.
void sleep_until(std::uint64_t due_ns) {
  const timespec at{static_cast<std::time_t>(due_ns / 1'000'000'000U), static_cast<long>(due_ns % 1'000'000'000U)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

bool known(const State& s, Stream* stream) { return stream == nullptr || s.streams.count(stream) == 1; }

}  // namespace

RAILGAUGE_SIM_EXPORT Result cuStreamCreate(Stream** stream, unsigned) {
  Call call("cuStreamCreate", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  *stream = new Stream{&call.gpu(), 0};
  call.state().streams.insert(*stream);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuStreamDestroy_v2(Stream* stream) {
  Call call("cuStreamDestroy", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (call.state().streams.erase(stream) == 0) return kInvalidHandle;
  delete stream;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuStreamQuery(Stream* stream) {
  Call call("cuStreamQuery", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (!known(call.state(), stream)) return kInvalidHandle;
  const Stream& queue = stream != nullptr ? *stream : call.gpu().default_stream;
  return now_ns() >= queue.due_ns ? kSuccess : kNotReady;
}

RAILGAUGE_SIM_EXPORT Result cuStreamSynchronize(Stream* stream) {
  std::uint64_t due = 0;
  {
    Call call("cuStreamSynchronize", Call::Needs::context);
    if (call.refused() != kSuccess) return call.refused();
    if (!known(call.state(), stream)) return kInvalidHandle;
    due = stream != nullptr ? stream->due_ns : call.gpu().default_stream.due_ns;
  }
  sleep_until(due);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuCtxSynchronize() {
  std::uint64_t due = 0;
  {
    Call call("cuCtxSynchronize", Call::Needs::context);
    if (call.refused() != kSuccess) return call.refused();
    due = call.gpu().default_stream.due_ns;
    for (const Stream* stream : call.state().streams) {
      if (stream->gpu == &call.gpu() && stream->due_ns > due) due = stream->due_ns;
    }
  }
  sleep_until(due);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuEventCreate(Event** event, unsigned) {
  Call call("cuEventCreate", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  *event = new Event;
  call.state().events.insert(*event);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuEventDestroy_v2(Event* event) {
  Call call("cuEventDestroy", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (call.state().events.erase(event) == 0) return kInvalidHandle;
  delete event;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuEventRecord(Event* event, Stream* stream) {
  Call call("cuEventRecord", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (call.state().events.count(event) == 0 || !known(call.state(), stream)) return kInvalidHandle;
  const std::uint64_t due = stream != nullptr ? stream->due_ns : call.gpu().default_stream.due_ns;
  const std::uint64_t now = now_ns();
  event->time_ns = due > now ? due : now;
  event->recorded = true;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuEventQuery(Event* event) {
  Call call("cuEventQuery", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (call.state().events.count(event) == 0) return kInvalidHandle;
  return now_ns() >= event->time_ns ? kSuccess : kNotReady;
}

RAILGAUGE_SIM_EXPORT Result cuEventElapsedTime(float* milliseconds, Event* begin, Event* end) {
  Call call("cuEventElapsedTime", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const auto& events = call.state().events;
  if (events.count(begin) == 0 || events.count(end) == 0 || !begin->recorded || !end->recorded) return kInvalidHandle;
  const std::uint64_t now = now_ns();
  if (begin->time_ns > now || end->time_ns > now) return kNotReady;
  *milliseconds = static_cast<float>((static_cast<double>(end->time_ns) - static_cast<double>(begin->time_ns)) / 1e6);
  return kSuccess;
}
