#pragma once
#include <string>

#include "plan/plan.h"

namespace railgauge::plan {

/// "write bandwidth 8 QPs 64 KiB A to B": what the screen and the record call it in full, A being the client.
std::string label_of(const Plan& plan);

/// "write 8 QPs 64 KiB A→B": the same for a column of a table that says the metric above it.
std::string short_label_of(const Plan& plan);

/// "A→B", "B→A", "A↔B".
const char* arrow_of(Direction direction) noexcept;

}  // namespace railgauge::plan
