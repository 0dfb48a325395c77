#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/tsc.h"
#include "bench/rdma/group.h"
#include "bench/rdma/path.h"
#include "bench/rdma/run.h"
#include "results/record.h"
#include "verbs/event_watcher.h"

namespace railgauge::bench {

/// What settings_in_effect reads.
struct SettingsSource {
  const plan::Plan& plan;
  const verbs::Device& device;
  const RdmaGroup& group;
  const Agreement& agreement;
  const transport::Offer& offer;
  const TickClock& clock;
  std::optional<bool> data_in_order;    ///< promised by the device; nothing: not relied on
  bool same_host;
};

/// Settings as they took effect, units in the keys.
std::map<std::string, std::string> settings_in_effect(const SettingsSource& source);

/// What the user asked for by name and did not get, a sentence each with what took effect.
std::vector<std::string> unmet_wishes(const SettingsSource& source);

/// Puts what the threads found into the result: sums over threads, latency, usage, drain, the first error.
void report(std::vector<GroupOutcome>& outcomes, const plan::Plan& plan, bool active, results::SideResult& result);

/// Adds one group's check; offsets are within the group's buffer.
void add_verification(const std::optional<results::Verification>& found, results::SideResult& result);

/// Events since `began`, with their time; a fatal one is the error of the run. What those of the port mean, the report says.
void report_events(const std::vector<verbs::AsyncEvent>& events, Clock::time_point began, results::SideResult& result);

/// The first event that says that the port went down.
std::optional<verbs::AsyncEvent> find_port_down(const std::vector<verbs::AsyncEvent>& events);

/// The port in use, after a run.
struct PortAfterRun {
  std::string name;                     ///< "port 1 of mlx5_0"
  std::string state;                    ///< "DOWN"; empty: could not be asked
};
/// Puts a port that went down in front of the error that followed from it; a side on which nothing failed gets an error of
/// its own when its port is not ACTIVE any more. A port that came back without harm leaves its events.
void blame_port(const PortAfterRun& port, const std::vector<verbs::AsyncEvent>& events, Clock::time_point began, results::SideResult& result);

}  // namespace railgauge::bench
