#include "bench/nic_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>

#include "base/error.h"

namespace railgauge::bench {

namespace {

Error no_lock(const std::string& nic, const std::string& path, const std::string& why, int code) {
  return Error(ErrorKind::system, fmt::format("the lock that keeps a second measurement off {} cannot be had: {}: {}: remove that file, or let /tmp be written",
                                              nic, path, why), code);
}

UniqueFd open_lock(const std::string& path, const std::string& nic) {
  // O_NOFOLLOW: /tmp belongs to everybody. No O_CREAT on a foreign file: protected_regular would refuse it. O_NONBLOCK: nor
  // may a FIFO of that name hold us up.
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd fd(::open(path.c_str(), kFlags));
  if (!fd) fd.reset(::open(path.c_str(), kFlags | O_CREAT, 0666));
  if (!fd) throw no_lock(nic, path, errno_text(errno), errno);
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0) throw no_lock(nic, path, errno_text(errno), errno);
  // It is emptied and written below: a link that somebody laid here must not lead to a file that matters.
  if (!S_ISREG(found.st_mode) || found.st_nlink != 1) throw no_lock(nic, path, "it is not a plain file of one name", EPERM);
  if (found.st_uid == ::geteuid()) ::fchmod(fd.get(), 0666);
  return fd;
}

}  // namespace

NicLock::NicLock(const std::string& nic, const std::string& holder) {
  std::string name;
  for (char c : nic) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::string path = fmt::format("/tmp/railgauge-{}.lock", name);
  fd_ = open_lock(path, nic);
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 160> text{};
    auto n = ::pread(fd_.get(), text.data(), text.size() - 1, 0);
    throw Error(ErrorKind::peer, fmt::format("{} is busy with {}; one measurement at a time per NIC", nic,
                                             n > 0 ? text.data() : "another railgauge"), EBUSY);
  }
  if (::ftruncate(fd_.get(), 0) == 0) {
    [[maybe_unused]] auto n = ::pwrite(fd_.get(), holder.data(), holder.size(), 0);
  }
}

}  // namespace railgauge::bench
