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

/// False when stdout did not take it all (closed pipe, full disk).
bool print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

std::string report_of(const results::Record& record, const std::string& path) {
  report::TextOptions options;
  options.color = isatty(STDOUT_FILENO) == 1 && !read_environment().no_color;
  options.record_path = path;
  return report::render_text(record, options);
}

}  // namespace

int publish(const results::Record& record, const ClientOptions& options, bool to_file) {
  std::string json = results::record_to_json(record);
  std::string path;
  bool saved = !to_file;
  if (to_file) {
    try {
      path = results::record_path(record, options.output);
      results::write_record_text(path, json);
      saved = true;
    } catch (const Error& error) {
      log_error("the record could not be written, it follows on stdout: {}", error.what());
      path.clear();
    }
  }
  bool printed = options.json ? print(json) : print(report_of(record, path));
  if (!saved && !options.json) printed = print(json) && printed;
  if (!printed) log_error("stdout did not take the {}", options.json ? "record" : "report");
  bool lost = !saved || !printed;
  return lost && record.exit_code == 0 ? static_cast<int>(ExitCode::not_measured) : record.exit_code;
}

}  // namespace railgauge::bench
