#include "bench/nic_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cctype>
#include <cerrno>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "control/acceptor.h"

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

/// Who holds the lock and for how long, as its holder wrote it: "<end on Clock, ns> <words>".
std::string holder_in(int fd) {
  std::array<char, 160> text{};
  const auto n = ::pread(fd, text.data(), text.size() - 1, 0);
  const std::string_view written(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  std::int64_t until = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), until);
  // It is just writing; or somebody else wrote there: what is left of such a time could not be counted.
  if (error != std::errc() || end == written.data() + written.size() || until < 0) return "another railgauge";
  const std::string_view words = written.substr(static_cast<std::size_t>(end - written.data()) + 1);
  return fmt::format("{}, {}", printable(words), control::time_left_text(Clock::time_point(Clock::duration(until))));
}

}  // namespace

NicLock::NicLock(const Nic& nic, const std::string& holder, Clock::time_point until) {
  std::string name;
  for (char c : nic.key) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::string path = fmt::format("/tmp/railgauge-{}.lock", name);
  fd_ = open_lock(path, nic.name);
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error(ErrorKind::peer, fmt::format("{} is busy with {}; one measurement at a time per NIC", nic.name, holder_in(fd_.get())), EBUSY);
  // Clock counts from the start of the machine, so that its numbers mean the same in every process.
  const auto text = fmt::format("{} {}", until.time_since_epoch().count(), holder);
  if (::ftruncate(fd_.get(), 0) == 0) {
    [[maybe_unused]] auto n = ::pwrite(fd_.get(), text.data(), text.size(), 0);
  }
}

}  // namespace railgauge::bench
