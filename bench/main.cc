#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "bench/arguments.h"
#include "bench/check.h"
#include "bench/measure_commands.h"
#include "bench/rates_command.h"
#include "bench/serve.h"
#include "bench/signals.h"
#include "bench/strict_options.h"
#include "results/provenance.h"

namespace railgauge::bench {
namespace {

std::string version_text() {
  auto build = results::this_build();
  std::string text = fmt::format("railgauge {} (commit {})\ncompiler {} {}\n", build.version, build.commit, build.compiler, build.build_type);
  for (const auto& [library, version] : build.libraries) text += fmt::format("{} {}\n", library, version);
  text.pop_back();
  return text;
}

/// "railgauge-rdma B …" is "railgauge rdma B …": scripts can name the benchmark they run. Any other name (railgauge-0.1,
/// railgauge-test) is just the program.
std::vector<std::string> arguments_of(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string program = argc > 0 ? argv[0] : "";
  program = program.substr(program.find_last_of('/') + 1);
  constexpr std::string_view kPrefix = "railgauge-";
  if (program.rfind(kPrefix, 0) != 0) return arguments;
  std::string suffix = program.substr(kPrefix.size());
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == suffix) arguments.insert(arguments.begin(), suffix);
  return arguments;
}

/// CLI11 would only say that a subcommand is required.
void refuse_unknown_subcommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().empty() || arguments.front()[0] == '-') return;
  std::string known;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == arguments.front()) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  throw Error(ErrorKind::usage, fmt::format("\"{}\" is no subcommand: use one of {}", arguments.front(), known));
}

/// Where stdin, stdout or stderr is closed, the next descriptor opened would take its number: a log line would then go into
/// a socket. Read-only on purpose: writing to a closed stdout still fails, and is reported.
void occupy_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDONLY);
  if (fd >= 0) ::close(fd);
}

/// CLI11's own words, without the terminal's escapes that an argument may hold.
int refuse_arguments(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help and --version
    app.exit(error);
    std::cout.flush();
    if (std::cout) return static_cast<int>(ExitCode::met);
    log_error("stdout did not take the text");
    return static_cast<int>(ExitCode::not_measured);
  }
  std::string command;
  for (const auto* used : app.get_subcommands()) command = used->get_name() + " ";
  log_error("{}; see railgauge {}--help", error.what(), command);
  return static_cast<int>(ExitCode::usage);
}

int run(int argc, char** argv) {
  occupy_standard_descriptors();
  set_command_line(argc, argv);
  install_signal_handlers();
  int exit_code = static_cast<int>(ExitCode::usage);
  CLI::App app("Measures what the network between two GPU servers delivers, and says whether that is what it should.", "railgauge");
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  app.footer("Validate a link:  on B `railgauge serve`, on A `railgauge check B`.  One subcommand's help: railgauge check --help");
  bool verbose = false;
  app.add_flag("-v,--verbose", verbose, "also each message of the control channel, on stderr");
  app.parse_complete_callback([&] {
    if (verbose) set_log_level(LogLevel::debug);
  });
  add_check_command(app, exit_code);
  add_serve_command(app, exit_code);
  add_rdma_command(app, exit_code);
  add_tcp_command(app, exit_code);
  add_rates_command(app, exit_code);
  make_numbers_strict(app);
  auto arguments = arguments_of(app, argc, argv);
  refuse_empty_arguments(arguments);
  refuse_unknown_subcommand(app, arguments);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return refuse_arguments(app, error);
  }
  return exit_code;
}

}  // namespace
}  // namespace railgauge::bench

int main(int argc, char** argv) {
  try {
    return railgauge::bench::run(argc, argv);
  } catch (const railgauge::Error& error) {
    railgauge::log_error("{}", error.what());
    return static_cast<int>(railgauge::exit_code_of(error.kind()));
  } catch (const std::exception& error) {
    railgauge::log_error("{}", railgauge::error_from(error).what());
    return static_cast<int>(railgauge::ExitCode::not_measured);
  }
}
