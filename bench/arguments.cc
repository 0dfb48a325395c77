#include "bench/arguments.h"

#include "results/provenance.h"

namespace railgauge::bench {
namespace {

// argv belongs to the process; every node of a record quotes it.
std::vector<std::string>& stored() {
  static std::vector<std::string> line;
  return line;
}

}  // namespace

void set_command_line(int argc, const char* const* argv) { stored() = results::recordable_command_line(argc, argv); }
const std::vector<std::string>& command_line() { return stored(); }

}  // namespace railgauge::bench
