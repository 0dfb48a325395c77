#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>

#include "base/error.h"
#include "base/fd.h"

namespace railgauge {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "directory";
  if (S_ISFIFO(mode)) return "FIFO";
  if (S_ISSOCK(mode)) return "socket";
  return "device";
}

/// Removes the temporary file unless the rename took place.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!kept_) ::unlink(path_.c_str());
  }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

/// The descriptor of a new file beside `path`, which is to take its place; `temporary` is told its name.
UniqueFd create_beside(const std::string& path, std::string& temporary) {
  temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) throw system_error(fmt::format("create {}", temporary), errno);
  return fd;
}

void write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(fmt::format("write {}", path), errno);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

UniqueFd open_plain_file(const std::string& path, std::string& obstacle) {
  // O_NONBLOCK: a FIFO would make open(2) itself wait for a writer; it changes nothing for plain files (open(2)).
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) {
    int error = errno;
    obstacle = errno_text(error);
    errno = error;
    return {};
  }
  if (S_ISREG(found.st_mode)) return fd;
  obstacle = fmt::format("it is a {}, not a plain file", kind_of(found.st_mode));
  errno = S_ISDIR(found.st_mode) ? EISDIR : EINVAL;
  return {};
}

FileText read_text_file(const std::string& path) {
  std::string obstacle;
  UniqueFd fd = open_plain_file(path, obstacle);
  if (!fd) return {std::nullopt, errno};
  std::string text;
  std::array<char, 4096> chunk;
  while (text.size() < kMaxFileBytes) {
    ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {std::nullopt, errno};
    if (n == 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return {std::move(text), 0};
}

void check_can_create(const std::string& path) {
  std::string temporary;
  UniqueFd fd = create_beside(path, temporary);
  TemporaryFile removed_at_once(temporary);
}

void write_file_atomically(const std::string& path, std::string_view content, bool replace) {
  struct stat existing {};
  if (!replace && ::lstat(path.c_str(), &existing) == 0)
    throw Error(ErrorKind::usage, fmt::format("{} exists already; name another --output or remove it", path), EEXIST);
  std::string temporary;
  UniqueFd fd = create_beside(path, temporary);
  TemporaryFile guard(temporary);
  write_all(fd.get(), content, temporary);
  if (::fsync(fd.get()) != 0) throw system_error(fmt::format("fsync {}", temporary), errno);
  if (replace) {
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw system_error(fmt::format("rename {} to {}", temporary, path), errno);
    guard.keep();
    return;
  }
  // link(2) refuses an existing name atomically, where rename would silently replace what appeared meanwhile.
  if (::link(temporary.c_str(), path.c_str()) != 0) {
    if (errno == EEXIST) throw Error(ErrorKind::usage, fmt::format("{} exists already; name another --output or remove it", path), EEXIST);
    throw system_error(fmt::format("link {} to {}", temporary, path), errno);
  }
}

}  // namespace railgauge
