/// The fault script: what goes wrong, and when.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "objects.h"

namespace railgauge::simverbs {

/// What the script wants for a message.
struct MessageFault {
  bool status_given = false;
  std::uint8_t status = 0;
  bool stuck = false;
  Tamper tamper;
};

/// Reads RAILGAUGE_SIM_FAULTS (a file's path, or the script itself with ';' between lines) and puts it in force.
/// A script that cannot be understood ends the process with status 2.
void start_faults(SimContext& context);

/// Counts one posted message of the context and says what happens to it.
MessageFault next_message(SimContext& context) noexcept;

/// The errno the script wants from a call ("reg_mr", "create_qp", …), else 0.
int forced_errno(SimContext& context, const char* call) noexcept;
/// As above, before there is a context ("open").
int forced_errno_without_context(const char* call) noexcept;

/// Carries out what has become due; returns ns until the next one, 0 when there is none. The helper thread calls it.
std::uint64_t run_timed_faults(SimContext& context) noexcept;

}  // namespace railgauge::simverbs
