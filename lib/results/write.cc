#include "results/write.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "results/json.h"

namespace railgauge::results {
namespace {

constexpr std::size_t kLongestHost = 64;

std::string safe_part(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, kLongestHost)) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    out += plain ? c : '_';
  }
  return out.empty() ? "unknown" : out;
}

/// "2026-11-30T09:32:17.123Z" → "20261130T093217.123Z".
std::string basic_time(std::string_view utc) {
  std::string out;
  for (char c : utc)
    if (c != '-' && c != ':') out += c;
  return safe_part(out);
}

std::string host_of(const Record& record, std::string_view role) {
  for (const Node& node : record.nodes)
    if (node.role == role && !node.facts.hostname.empty()) return node.facts.hostname;
  return {};
}

bool is_directory(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

std::string directory_of(const std::string& path) {
  auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void check_directory(const std::string& directory) {
  if (!is_directory(directory)) throw Error(ErrorKind::usage, fmt::format("--output: there is no directory {}: make it first", directory), ENOENT);
}

/// By doing it: permission bits know nothing of read-only file systems, name lengths or a directory that was removed.
void check_file(const std::string& path) {
  try {
    check_can_create(path);
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, fmt::format("--output: no record can be made here ({}): name another place", error.what()), error.code());
  }
}

}  // namespace

std::string record_file_name(const Record& record) {
  std::string a = host_of(record, "client");
  std::string b = host_of(record, "server");
  return fmt::format("railgauge-{}-{}-{}.json", basic_time(record.started_utc), safe_part(a), safe_part(b.empty() ? record.peer : b));
}

std::string record_path(const Record& record, const std::string& output) {
  if (output.empty()) return record_file_name(record);
  if (output.back() == '/') return output + record_file_name(record);
  if (is_directory(output)) return output + "/" + record_file_name(record);
  return output;
}

void check_output(const std::string& output) {
  if (output.empty()) return check_file("railgauge-record");
  if (output.back() == '/' || is_directory(output)) {
    check_directory(output);
    return check_file(output + (output.back() == '/' ? "railgauge-record" : "/railgauge-record"));
  }
  struct stat found {};
  if (::lstat(output.c_str(), &found) == 0)
    throw Error(ErrorKind::usage, fmt::format("--output: {} exists already; name another file or remove it", output), EEXIST);
  check_directory(directory_of(output));
  check_file(output);
}

void write_record_text(const std::string& path, const std::string& text) { write_file_atomically(path, text, false); }

}  // namespace railgauge::results
