#include "bench/publish.h"


#include <cstdio>

#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "report/render/text.h"
#include "results/json.h"
#include "results/write.h"

namespace railgauge::bench {
namespace {

/// Writes the record where --output says; its path, or empty (and said why) where that failed.
std::string save(const results::Record& record, const std::string& json, const std::string& output, const char* resort) {
  try {
    std::string path = results::record_path(record, output);
    results::write_record_text(path, json);
    return path;
  } catch (const Error& error) {
    log_error("the record could not be written{}: {}", resort, error.what());
    return {};
  }
}

/// False when stdout did not take it all (closed pipe, full disk).
bool print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

std::string report_of(const results::Record& record, const std::string& path) {
  report::TextOptions options;
  auto environment = read_environment();
  options.color = isatty(STDOUT_FILENO) == 1 && !environment.no_color && !environment.plain_terminal;
  options.record_path = path;
  return report::render_text(record, options);
}

}  // namespace

int publish(const results::Record& record, const ClientOptions& options, bool to_file) {
  std::string json = results::record_to_json(record);
  std::string path;
  if (to_file) path = save(record, json, options.output, ", it follows on stdout");
  bool saved = !to_file || !path.empty();
  bool printed = options.json ? print(json) : print(report_of(record, path));
  if (!saved && !options.json) printed = print(json) && printed;
  if (!printed) log_error("stdout did not take the {}", options.json ? "record" : "report");
  // Nobody has the record then: better a file that was not asked for.
  if (!printed && options.json && path.empty()) {
    std::string rescued = save(record, json, {}, "");
    if (!rescued.empty()) log_error("the record was written to {} instead", rescued);
  }
  bool lost = !saved || !printed;
  return lost && record.exit_code == 0 ? static_cast<int>(ExitCode::not_measured) : record.exit_code;
}

}  // namespace railgauge::bench
