#include "bench/connection_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "control/token.h"

namespace railgauge::bench {
namespace {

/// A bare number would be seconds, which nobody means by a latency.
void check_latency(const std::string& text, const char* option) {
  if (text.empty()) return;
  if (std::isalpha(static_cast<unsigned char>(text.back())) == 0)
    throw Error(ErrorKind::usage, fmt::format("{} {} has no unit: write {}us", option, printable(text), printable(text)));
  if (parse_duration(text, option) <= std::chrono::nanoseconds::zero())
    throw Error(ErrorKind::usage, fmt::format("{} {}: use more than 0, or leave it out", option, printable(text)));
}

}  // namespace

void add_sysroot_option(CLI::App& c, std::string& sysroot, const std::string& group) {
  c.add_option("--sysroot", sysroot, "read host facts under this folder (another host's tree) instead of /; also RAILGAUGE_SYSROOT")->group(group);
}

void add_client_options(CLI::App& c, ClientOptions& o) {
  auto* host = c.add_option("host", o.host, "the host where `railgauge serve` runs: name or address")->type_name("HOST");
  auto* self = c.add_flag("--self", o.self, "start the server here, on loopback");
  host->excludes(self);
  auto group = "Connection and output";
  c.add_option("--port", o.port, "control port of the server")->check(CLI::Range(0, 65535))->capture_default_str()->group(group);
  c.add_option("--token", o.token, "shared token; better --token-file or RAILGAUGE_TOKEN: others see a command line")->group(group);
  c.add_option("--token-file", o.token_file, "file whose first line is the token")->group(group);
  c.add_option("-o,--output", o.output, "the record: a file, or a folder (default: here)")->group(group);
  c.add_option("--format", o.format, "text, or json: the record on stdout and nothing else there")
      ->check(CLI::IsMember({"text", "json"}))->capture_default_str()->group(group);
  add_sysroot_option(c, o.sysroot, group);
  c.add_option("--link-gbps", o.link_gbit_per_s, "the link's rate in Gbit/s where the hosts do not know it")->group(group);
  c.add_option("--require-rate", o.require_rate, "your own criterion for each bandwidth: 180G")->group(group);
  c.add_option("--require-p50", o.require_p50, "your own criterion for each latency: 2.5us")->group(group);
  c.add_option("--require-p99", o.require_p99, "and for its 99th percentile")->group(group);
  c.add_flag("--quiet", o.quiet, "no progress")->group(group);
  c.parse_complete_callback([&c, &o] {
    if (c.get_help_ptr() && c.get_help_ptr()->count() > 0) return;
    if (o.host.empty() && !o.self) throw CLI::RequiredError("HOST (or --self)");
    if (o.port == 0) throw Error(ErrorKind::usage, "--port 0 is no port to connect to: use the one that `railgauge serve` printed");
    if (o.output == "-") throw Error(ErrorKind::usage, "--output - is no file: use --format json for the record on stdout, ./- for a file of that name");
    o.json = o.format == "json";
    // Refused before anything is measured.
    if (!o.link_gbit_per_s.empty()) parse_rate_gbit_per_s(o.link_gbit_per_s, "--link-gbps");
    if (!o.require_rate.empty()) parse_rate_gbit_per_s(o.require_rate, "--require-rate");
    check_latency(o.require_p50, "--require-p50");
    check_latency(o.require_p99, "--require-p99");
  });
}

std::optional<std::string> resolve_token(const std::string& token, const std::string& token_file) {
  if (!token.empty() && !token_file.empty()) throw Error(ErrorKind::usage, "--token and --token-file exclude each other");
  if (!token_file.empty()) return control::read_token_file(token_file);
  auto given = token.empty() ? read_environment().token : std::optional(token);
  if (given) control::refuse_long_token(*given, token.empty() ? "RAILGAUGE_TOKEN" : "--token");
  return given;
}

void refuse_unused_criteria(const ClientOptions& options, plan::Metric metric) {
  auto refuse = [&](const char* option, const char* wanted) {
    throw Error(ErrorKind::usage, fmt::format("{} has no use with --metric {}, which has no {}: leave it out", option, plan::name_of(metric), wanted));
  };
  const bool latency = metric == plan::Metric::latency;
  if (latency && !options.require_rate.empty()) refuse("--require-rate", "bandwidth");
  if (!latency && !options.require_p50.empty()) refuse("--require-p50", "latency");
  if (!latency && !options.require_p99.empty()) refuse("--require-p99", "latency");
}

}  // namespace railgauge::bench
