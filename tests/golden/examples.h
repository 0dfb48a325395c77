#pragma once
#include <string>
#include <vector>

#include "results/record.h"

namespace railgauge::golden {

/// Records made by hand, with verdicts from lib/report: the examples of results-schema and the text of tests/golden/report.
struct Example {
  std::string name;  ///< "check-met": file name without ending
  results::Record record;
};
std::vector<Example> examples();
/// One of them. Throws std::out_of_range for any other name.
results::Record example(const std::string& name);

/// Sets every measurement's verdict, the overall one and the exit code.
void judge_all(results::Record& record);

}  // namespace railgauge::golden
