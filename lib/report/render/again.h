#pragma once
#include <string>
#include <vector>

#include "plan/plan.h"
#include "results/record.h"

namespace railgauge::report {

/// The command as typed, quoted for a shell, but for the secret, which comes from the environment.
std::string typed_command(const std::vector<std::string>& words);

/// The command that measures this one plan of the record again, quoted for a shell: its options, and of those typed the port,
/// token file, link rate, sysroot and criterion. What is as the command has it by itself is left out. One thing is not
/// repeated: the check of a few messages after a bandwidth or rate, since --verify would check each.
std::string rerun_command(const plan::Plan& plan, const results::Record& record);

/// Quotes `word` for a POSIX shell where needed.
std::string shell_word(const std::string& word);

}  // namespace railgauge::report
