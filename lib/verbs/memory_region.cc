#include "verbs/memory_region.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/units.h"
#include "verbs/check.h"

namespace railgauge::verbs {
namespace {

ibv_mr* register_once(const RegionRequest& request, unsigned access) {
  const memory::Registration& m = request.memory;
  auto flags = static_cast<int>(access);
  if (m.dmabuf_fd)
    return check_pointer(ibv_reg_dmabuf_mr(request.pd, m.dmabuf_offset, m.bytes, m.address, *m.dmabuf_fd, flags),
                         fmt::format("ibv_reg_dmabuf_mr of {}", format_size(m.bytes)));
  return check_pointer(ibv_reg_mr(request.pd, reinterpret_cast<void*>(m.address), m.bytes, flags),
                       fmt::format("ibv_reg_mr of {}", format_size(m.bytes)));
}

[[noreturn]] void rethrow_with_limit(const Error& error) {
  auto limit = memlock_limit_bytes();
  if (error.code() != ENOMEM || !limit) throw error;
  throw Error(ErrorKind::verbs,
              fmt::format("{}: locked memory of this process is limited to {} (ulimit -l {}): raise it in /etc/security/limits.conf (\"* - memlock "
                          "unlimited\") or, for a service, with LimitMEMLOCK=infinity; or use a smaller --working-set",
                          error.what(), format_size(*limit), *limit / 1024),
              ENOMEM);
}

}  // namespace

std::optional<std::uint64_t> memlock_limit_bytes() {
  rlimit limit{};
  if (geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

Region::Region(const RegionRequest& request) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  if (request.remote_write) access |= IBV_ACCESS_REMOTE_WRITE;
  if (request.remote_read) access |= IBV_ACCESS_REMOTE_READ;
  if (request.remote_atomic) access |= IBV_ACCESS_REMOTE_ATOMIC;
  try {
    if (request.relaxed_ordering) {
      try {
        mr_.reset(register_once(request, access | IBV_ACCESS_RELAXED_ORDERING));
        relaxed_ordering_ = true;
        return;
      } catch (const Error& error) {
        if (error.code() == ENOMEM) throw;  // the memory is the reason, not the flag
      }
    }
    mr_.reset(register_once(request, access));
  } catch (const Error& error) {
    rethrow_with_limit(error);
  }
}

}  // namespace railgauge::verbs
