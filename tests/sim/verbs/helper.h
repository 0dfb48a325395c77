/// The device's own thread. It exists only where something must happen without the program calling in: retries, armed
/// queues of paced devices, timed faults. A device that needs none of these has no thread.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

/// Makes sure the thread runs and looks at deferred work soon. Any thread.
void wake_helper(SimContext& context) noexcept;
/// Fires the queue's channel when its first completion is due.
void watch_armed_queue(SimContext& context, SimCq& cq) noexcept;
/// The queue is about to be destroyed.
void unwatch_queue(SimContext& context, SimCq& cq) noexcept;
/// Ends the thread; the context is about to be closed.
void stop_helper(SimContext& context) noexcept;

}  // namespace railgauge::simverbs
