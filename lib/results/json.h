#pragma once
#include <string>
#include <string_view>

#include "host/facts.h"
#include "plan/plan.h"
#include "results/record.h"

namespace railgauge::results {

/// JSON in and out of what crosses the control channel and of the record file. Keys carry their unit. A missing number is
/// null beside `<key>_reason`; NaN and infinities are never written. Writers never throw for odd strings: bytes that are
/// not UTF-8 become U+FFFD. A number that may be missing and is not finite is written as missing; one that may not is
/// an Error{data} naming its key.
///
/// Readers take hostile text: at most 16 MiB (record: 256 MiB), nesting 32, then every field by type and range. They throw
/// Error{data}, of what crosses the control channel Error{peer}, that names the place: `sides[0].threads[1].cpu: expected an integer from 0 to 65535, found "x"`. Unknown
/// keys are ignored (a newer minor version may add them); a missing key that may be null is absent (an older one had it not yet),
/// any other missing key is an error. Pure functions; any thread.

/// One line each.
std::string plan_to_json(const plan::Plan& plan);
std::string side_result_to_json(const SideResult& side);
std::string node_to_json(const Node& node);

/// The caller still has to `plan::validate` a plan from a peer.
plan::Plan plan_from_json(std::string_view text);
SideResult side_result_from_json(std::string_view text);
Node node_from_json(std::string_view text);

/// The record file's text: two spaces of indent, small objects on one line, keys always in the same order, newline at the end.
std::string record_to_json(const Record& record);

/// Throws Error{data} also for a record of another major version, saying which it is and which this program reads.
Record record_from_json(std::string_view text);

/// Reads a record file of at most 256 MiB. Throws Error{system} or Error{data} naming the path.
Record read_record(const std::string& path);

}  // namespace railgauge::results
