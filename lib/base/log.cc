#include "base/log.h"

#include <unistd.h>

#include <atomic>

namespace railgauge {
namespace {

// The one process-wide setting: logging has no owner that could carry it.
std::atomic<LogLevel> current_level{LogLevel::info};

const char* prefix_of(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error: ";
    case LogLevel::warning: return "warning: ";
    case LogLevel::info: return "";
    case LogLevel::debug: return "debug: ";
  }
  return "";
}

}  // namespace

void set_log_level(LogLevel level) noexcept { current_level.store(level, std::memory_order_relaxed); }
LogLevel log_level() noexcept { return current_level.load(std::memory_order_relaxed); }

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

void log_line(LogLevel level, const std::string& line) {
  if (level > log_level()) return;
  std::string whole = fmt::format("{}{}\n", prefix_of(level), printable(line));
  // A closed or full stderr must not end a measurement.
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, whole.data(), whole.size());
}

}  // namespace railgauge
