#pragma once
#include <string>
#include <vector>

#include "results/record.h"

namespace railgauge::report {

/// Colours a verdict cell, or leaves it as it is.
std::string colored(const std::string& cell, results::VerdictWord word, bool color);

/// The tables of what was measured: bandwidth, message rate and latency of each transport, and below them what each letter
/// in the "should carry" column stands for. Lines without newline.
std::vector<std::string> measurement_tables(const results::Record& record, bool color);

/// Host facts side by side: lines of at most 80 columns.
std::vector<std::string> host_table(const results::Record& record);

}  // namespace railgauge::report
