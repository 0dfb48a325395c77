#include "bench/nic_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cctype>
#include <cerrno>

#include "base/error.h"

namespace railgauge::bench {

NicLock::NicLock(const std::string& nic, const std::string& holder) {
  std::string name;
  for (char c : nic) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::string path = fmt::format("/tmp/railgauge-{}.lock", name);
  // O_NOFOLLOW: /tmp belongs to everybody. No O_CREAT on a foreign file: protected_regular would refuse it.
  fd_.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd_) fd_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd_) throw system_error("open " + path, errno);
  ::fchmod(fd_.get(), 0666);
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
