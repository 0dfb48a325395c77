#include "verbs/memory_region.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/units.h"
#include "verbs/check.h"
#include "verbs/newer_calls.h"

namespace railgauge::verbs {
namespace {

ibv_mr* not_there() noexcept {
  errno = EOPNOTSUPP;
  return nullptr;
}

ibv_mr* register_once(const RegionRequest& request, unsigned access) {
  const memory::Registration& m = request.memory;
  auto flags = static_cast<int>(access);
  void* address = reinterpret_cast<void*>(m.address);
  const NewerCalls& newer = newer_calls();
  if (m.dmabuf_fd)
    return check_pointer(newer.reg_dmabuf_mr ? newer.reg_dmabuf_mr(request.pd, m.dmabuf_offset, m.bytes, m.address, *m.dmabuf_fd, flags) : not_there(),
                         fmt::format("ibv_reg_dmabuf_mr of {}", format_size(m.bytes)));
  // The header's macro would take the newer call, which alone drops optional rights that a device lacks, for every right.
  if ((access & IBV_ACCESS_OPTIONAL_RANGE) == 0)
    return check_pointer((ibv_reg_mr)(request.pd, address, m.bytes, flags), fmt::format("ibv_reg_mr of {}", format_size(m.bytes)));
  return check_pointer(newer.reg_mr_iova2 ? newer.reg_mr_iova2(request.pd, address, m.bytes, m.address, access) : not_there(),
                       fmt::format("ibv_reg_mr_iova2 of {}", format_size(m.bytes)));
}

/// What may have been passed, with the value found; empty when nothing is known to be.
std::string limit_passed(const RegionRequest& request, int code) {
  ibv_device_attr device{};
  bool known = errno_of_value(ibv_query_device(request.pd->context, &device)) == 0;
  if (known && device.max_mr_size > 0 && request.memory.bytes > device.max_mr_size)
    return fmt::format("the device registers at most {} (max_mr_size) in one region, {} are wanted: use a smaller --working-set, --size or --qps",
                       format_size(device.max_mr_size), format_size(request.memory.bytes));
  if (code != ENOMEM) return {};
  if (auto limit = memlock_limit_bytes())
    return fmt::format("locked memory of this process is limited to {} (ulimit -l {}): raise it in /etc/security/limits.conf (\"* - memlock "
                       "unlimited\") or, for a service, with LimitMEMLOCK=infinity; or use a smaller --working-set",
                       format_size(*limit), *limit / 1024);
  if (!known) return {};
  // Field case F27: no 1 KiB could be registered where the kernel had no contiguous memory to give to devices.
  if (request.memory.bytes <= 65536)
    return "so little memory is never the limit of a host: see CmaTotal in /proc/meminfo (0 where a kernel cannot give devices contiguous memory) and "
           "dmesg, and try another kernel";
  return fmt::format("the memory of host or device is short, or its {} regions (max_mr) are in use, other programs' included: use a smaller "
                     "--working-set or fewer --threads, or end what else uses the device (`rdma resource show mr`)",
                     device.max_mr);
}

[[noreturn]] void rethrow_with_limit(const Error& error, const RegionRequest& request) {
  std::string limit = limit_passed(request, error.code());
  if (limit.empty()) throw error;
  throw Error(ErrorKind::verbs, fmt::format("{}: {}", error.what(), limit), error.code());
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
    rethrow_with_limit(error, request);
  }
}

}  // namespace railgauge::verbs
