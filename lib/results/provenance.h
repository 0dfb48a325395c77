#pragma once
#include <string>
#include <vector>

#include "results/record.h"

namespace railgauge::results {

/// Version, commit, compiler, flags and libraries of this program, known since it was built.
Provenance this_build();

/// A new UUIDv7 (RFC 9562): sorts by time, 74 random bits from the system. Throws Error{system} if the system gives none.
std::string new_run_id();

/// argv as it may stand in a record: the value of --token, --password, --secret and --key (also as `--token=VALUE`) is
/// replaced by "[removed]"; --token-file keeps its path.
std::vector<std::string> recordable_command_line(int argc, const char* const* argv);

}  // namespace railgauge::results
