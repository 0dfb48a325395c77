#include "bench/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"

namespace railgauge::bench {
namespace {

// With "[13/26] " before and "18.0 Gbit/s, back 77.2 Gbit/s" behind, a line keeps to 80 columns.
constexpr int kLabelWidth = 40;

void write_stderr(const std::string& text) {
  [[maybe_unused]] auto n = ::write(STDERR_FILENO, text.data(), text.size());
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

Progress::Progress(std::size_t total, bool quiet) : total_(total), quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1 && !read_environment().plain_terminal) {}

Progress::~Progress() { clear(); }

void Progress::begin(const std::string& label) {
  ++number_;
  label_ = label;
  drawn_ = {};
  update("");
}

void Progress::update(const std::string& live) {
  if (quiet_ || !terminal_) return;
  auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  draw(live);
}

void Progress::end(const std::string& result) {
  if (quiet_) return;
  clear();
  write_stderr(fmt::format("[{:>2}/{}] {:<{}} {}\n", number_, total_, label_, kLabelWidth, printable(result)));
}

void Progress::draw(const std::string& live) {
  std::string line = fmt::format("[{:>2}/{}] {:<{}} {}", number_, total_, label_, kLabelWidth, printable(live));
  line.resize(std::min(line.size(), terminal_width() - 1));
  write_stderr("\r\x1b[K" + line);
}

void Progress::clear() {
  if (!quiet_ && terminal_) write_stderr("\r\x1b[K");
}

}  // namespace railgauge::bench
