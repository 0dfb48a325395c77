#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "control/acceptor.h"

namespace railgauge::control {

/// Listening, non-blocking sockets on one port. Internal to lib/control.
struct Listeners {
  std::vector<UniqueFd> sockets;
  std::vector<std::string> addresses;  ///< "127.0.0.1:18650"
  std::uint16_t port = 0;
  bool loopback_only = true;
};

/// Opens what `options` ask for. Throws Error{system} or Error{usage}, see Acceptor.
Listeners open_listeners(const AcceptorOptions& options);

}  // namespace railgauge::control
