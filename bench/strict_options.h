#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace railgauge::bench {

/// Makes every number option of every subcommand strict: decimal digits, and no more than fits. CLI11 2.1 itself reads
/// "010" as 8, "-1" as 2^64 − 1 where no sign is allowed, and 10^30 as 2^64 − 1. Call after all options are there.
void make_numbers_strict(CLI::App& app);

/// Throws Error{usage} for an empty argument, and for "--option=": what a shell makes of an unset variable would
/// otherwise count as if the option were absent.
void refuse_empty_arguments(const std::vector<std::string>& arguments);

}  // namespace railgauge::bench
