#pragma once
#include "bench/connection_options.h"
#include "results/record.h"

namespace railgauge::bench {

/// Writes the record's file (`to_file`) and prints the report, or with --format json the record, on stdout. A file that
/// cannot be written loses nothing: the reason goes to stderr and the record to stdout. Returns the exit code.
int publish(const results::Record& record, const ClientOptions& options, bool to_file);

}  // namespace railgauge::bench
