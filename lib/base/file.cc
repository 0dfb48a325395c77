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

/// Removes the temporary file unless it was given its other name.
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

Error exists_already(const std::string& path) {
  return Error(ErrorKind::usage, fmt::format("{} exists already; name another --output or remove it", path), EEXIST);
}

/// The last way: holds the name by an empty file and renames over that.
void rename_onto_reserved(const std::string& from, const std::string& to) {
  UniqueFd reserved(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!reserved && errno == EEXIST) throw exists_already(to);
  if (!reserved) throw system_error(fmt::format("create {}", to), errno);
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  int error = errno;
  ::unlink(to.c_str());
  throw system_error(fmt::format("rename {} to {}", from, to), error);
}

/// Gives the file `from` the name `to`, which must be free: throws Error{usage} where it is not. What a file system cannot do it
/// refuses with EINVAL (rename(2): NFS), EPERM (link(2): vfat), ENOSYS or EOPNOTSUPP (CIFS, FUSE); any refusal but EEXIST has the
/// next way tried, and the last one says why.
void rename_to_free(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EEXIST) throw exists_already(to);
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return;
  }
  if (errno == EEXIST) throw exists_already(to);
  rename_onto_reserved(from, to);
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
  TemporaryFile first_name(temporary);
  const std::string renamed = fmt::format("{}.{}.try", path, ::getpid());
  rename_to_free(temporary, renamed);
  first_name.keep();
  TemporaryFile second_name(renamed);
}

void write_file_atomically(const std::string& path, std::string_view content, bool replace) {
  struct stat existing {};
  if (!replace && ::lstat(path.c_str(), &existing) == 0) throw exists_already(path);
  std::string temporary;
  UniqueFd fd = create_beside(path, temporary);
  TemporaryFile guard(temporary);
  write_all(fd.get(), content, temporary);
  if (::fsync(fd.get()) != 0) throw system_error(fmt::format("fsync {}", temporary), errno);
  if (!replace) {
    rename_to_free(temporary, path);
  } else if (::rename(temporary.c_str(), path.c_str()) != 0) {
    throw system_error(fmt::format("rename {} to {}", temporary, path), errno);
  }
  guard.keep();
}

}  // namespace railgauge
