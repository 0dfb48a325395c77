#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "control/protocol.h"
#include "plan/plan.h"

namespace CLI {
class App;
}

namespace railgauge::bench {

/// What every client subcommand (check, rdma, tcp) takes beside its measurements.
struct ClientOptions {
  std::string host;                     ///< as typed
  std::uint16_t port = control::kDefaultPort;
  std::string token;                    ///< from --token, --token-file or RAILGAUGE_TOKEN; never shown
  std::string token_file;
  bool self = false;                    ///< start the server here, on loopback
  std::string output;                   ///< FILE or DIR; empty: the current folder
  bool json = false;                    ///< the record on stdout and nothing else there
  std::string format = "text";
  bool quiet = false;
  std::string sysroot;                  ///< --sysroot: another tree of host facts
  std::string link_gbit_per_s;          ///< --link-gbps: the user knows the link's rate better
  std::string require_rate;             ///< the user's own criteria, as typed
  std::string require_p50;
  std::string require_p99;
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(10);
};

/// Adds HOST, --port, --token, --token-file, --output, --format, --quiet, --sysroot, --self to a subcommand.
void add_client_options(CLI::App& command, ClientOptions& options);

/// Adds --sysroot.
void add_sysroot_option(CLI::App& command, std::string& sysroot, const std::string& group);

/// The token in force: --token, else --token-file, else RAILGAUGE_TOKEN, else none. Throws Error{usage} when the file
/// cannot be read, two are given or one is too long.
std::optional<std::string> resolve_token(const std::string& token, const std::string& token_file);

/// Throws Error{usage} for a criterion of the user's that no measurement of `metric` could be held against.
void refuse_unused_criteria(const ClientOptions& options, plan::Metric metric);

}  // namespace railgauge::bench
