#include "results/path.h"

#include <fmt/format.h>

#include "base/log.h"

namespace railgauge::results {

void Path::push(std::size_t index) { steps_.push_back(fmt::format("[{}]", index)); }

std::string Path::text() const {
  std::string out;
  for (const std::string& step : steps_) {
    if (!out.empty() && step.front() != '[') out += '.';
    out += step.empty() ? "\"\"" : printable(step);
  }
  return out.empty() ? "document" : out;
}

}  // namespace railgauge::results
