#pragma once
#include <string>
#include <vector>

namespace railgauge::bench {

/// argv as it may stand in a record (no secrets); set once by main before anything else.
void set_command_line(int argc, const char* const* argv);
const std::vector<std::string>& command_line();

}  // namespace railgauge::bench
