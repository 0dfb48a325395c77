#include "host/root.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "host/parse.h"

namespace railgauge::host {
namespace {

struct FreeDeleter {
  void operator()(char* p) const noexcept { std::free(p); }
};

std::optional<std::string> real_path(const std::string& path) {
  std::unique_ptr<char, FreeDeleter> real(::realpath(path.c_str(), nullptr));
  if (!real) return std::nullopt;
  return std::string(real.get());
}

}  // namespace

Root::Root(std::string prefix) : prefix_(std::move(prefix)) {
  while (!prefix_.empty() && prefix_.back() == '/') prefix_.pop_back();
  real_prefix_ = live() ? std::string() : real_path(prefix_).value_or(prefix_);
}

std::string Root::path(std::string_view absolute) const { return prefix_ + std::string(absolute); }

FileText Root::read(std::string_view absolute) const { return read_text_file(path(absolute)); }

FileText Root::read_bytes(std::string_view absolute, std::size_t limit) const {
  std::string obstacle;
  UniqueFd fd = open_plain_file(path(absolute), obstacle);
  if (!fd) return {std::nullopt, errno};
  std::string bytes(limit, '\0');
  std::size_t have = 0;
  while (have < limit) {
    ssize_t n = ::read(fd.get(), bytes.data() + have, limit - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {std::nullopt, errno};
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  bytes.resize(have);
  return {std::move(bytes), 0};
}

Fact<std::string> Root::text(std::string_view absolute) const {
  FileText file = read(absolute);
  if (!file.text) return Fact<std::string>::missing(reason_of(file.error));
  std::string_view trimmed = trim(*file.text);
  if (trimmed.empty()) return Fact<std::string>::missing("empty");
  return Fact<std::string>::of(std::string(trimmed));
}

Fact<std::int64_t> Root::integer(std::string_view absolute) const {
  Fact<std::string> found = text(absolute);
  if (!found) return Fact<std::int64_t>::missing(found.reason);
  std::optional<std::int64_t> number = parse_integer(*found);
  if (!number) return Fact<std::int64_t>::missing(fmt::format("\"{}\" is no number", *found));
  return Fact<std::int64_t>::of(*number);
}

std::vector<std::string> Root::list(std::string_view absolute) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator it(path(absolute), error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.front() != '.') names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Root::exists(std::string_view absolute) const { return ::access(path(absolute).c_str(), F_OK) == 0; }

std::optional<std::string> Root::resolve(std::string_view absolute) const {
  std::optional<std::string> real = real_path(path(absolute));
  if (!real || live()) return real;
  if (real->compare(0, real_prefix_.size() + 1, real_prefix_ + "/") != 0) return std::nullopt;
  return real->substr(real_prefix_.size());
}

Fact<std::string> Root::link_name(std::string_view absolute) const {
  std::optional<std::string> real = resolve(absolute);
  if (!real) return Fact<std::string>::missing("absent");
  return Fact<std::string>::of(real->substr(real->rfind('/') + 1));
}

std::string reason_of(int errno_value) {
  if (errno_value == ENOENT || errno_value == ENOTDIR) return "absent";
  if (errno_value == EACCES || errno_value == EPERM)
    return fmt::format("{} (run as root)", errno_value == EACCES ? "EACCES" : "EPERM");
  const char* name = ::strerrorname_np(errno_value);
  if (name == nullptr) return errno_text(errno_value);
  return fmt::format("{} ({})", name, errno_text(errno_value));
}

}  // namespace railgauge::host
