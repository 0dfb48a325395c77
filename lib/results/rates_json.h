#pragma once
#include <string>
#include <vector>

#include "rates/expectation.h"
#include "rates/overview.h"

namespace railgauge::results {

/// One link's terms and the smallest of them as a JSON document with a trailing newline, for `railgauge rates`.
/// `link` and `what` say which link and which traffic in words.
std::string rates_json(const rates::Expectation& expectation, const std::string& link, const std::string& what);

/// The overview tables as a JSON document with a trailing newline.
std::string overview_json(const std::vector<rates::OverviewTable>& tables);

}  // namespace railgauge::results
