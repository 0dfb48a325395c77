#pragma once
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "control/channel.h"
#include "control/protocol.h"

namespace railgauge::control {

/// Whom to call and how.
struct ClientOptions {
  std::string host{};                  ///< name, IPv4 or IPv6 address (brackets allowed)
  std::uint16_t port = kDefaultPort;
  std::string token{};                 ///< empty: open mode
  int cancel_fd = -1;                  ///< once readable, the call gives up with Error{peer}, code ECANCELED
  Version version = kProtocolVersion;  ///< tests pretend to be another
};

/// Resolves, connects (each address in turn, each with its share of the time), proves the token both ways and waits for the
/// server's welcome. Throws Error{peer} for an unknown host, a closed port, a wrong token, another protocol or major
/// version, a busy server; Error{timeout} when nothing answers. Each says what to do.
Channel connect_client(const ClientOptions& options, Deadline deadline);

}  // namespace railgauge::control
