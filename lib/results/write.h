#pragma once
#include <string>

#include "results/record.h"

namespace railgauge::results {

/// `railgauge-<time>-<A>-<B>.json`: started_utc to the millisecond in basic form, both host names (B: the peer as typed where it was never
/// reached), each at most 64 of [A-Za-z0-9._-], other characters as '_'.
std::string record_file_name(const Record& record);

/// Where `record` goes for the user's --output: "" is the current directory; a directory (existing, or ending in '/') takes
/// record_file_name; anything else is the file itself.
std::string record_path(const Record& record, const std::string& output);

/// To be called before measuring: refuses an --output that cannot take a record. Throws Error{usage}: the file exists, its
/// directory does not, or may not be written.
void check_output(const std::string& output);

/// Writes `text` (from record_to_json) atomically and never over an existing file. Throws Error{usage} for an existing
/// file, Error{system} naming the path and the reason (full disk). The caller keeps `text` and can print it elsewhere.
void write_record_text(const std::string& path, const std::string& text);

}  // namespace railgauge::results
