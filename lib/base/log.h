#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace railgauge {

enum class LogLevel { error, warning, info, debug };

/// Lines of this level and above (more important) are written; info by default. Set once by main before threads start.
void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;

/// One whole line on stderr in a single write; thread-safe; never called from a measuring loop.
/// Control characters in `line` are escaped, because it may quote what a peer sent.
void log_line(LogLevel level, const std::string& line);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}

/// `text` with control characters (also escape and newline) written as \xNN: for whatever a peer or a file said.
std::string printable(std::string_view text);

}  // namespace railgauge
