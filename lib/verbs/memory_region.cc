#include "verbs/memory_region.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/units.h"
#include "verbs/check.h"
#include "verbs/newer_calls.h"
#include "verbs/registration_errors.h"

namespace railgauge::verbs {
namespace {

/// The call for a way, and its result: null with errno.
struct Call {
  const char* name;
  ibv_mr* mr;
};

ibv_mr* not_there() noexcept {
  errno = EOPNOTSUPP;
  return nullptr;
}

Call register_once(ibv_pd* pd, const memory::Registration& m, unsigned access) noexcept {
  auto flags = static_cast<int>(access);
  void* address = reinterpret_cast<void*>(m.address);
  const NewerCalls& newer = newer_calls();
  if (m.way == memory::Way::dmabuf)
    return {"ibv_reg_dmabuf_mr", newer.reg_dmabuf_mr ? newer.reg_dmabuf_mr(pd, m.dmabuf_offset, m.bytes, m.address, m.dmabuf_fd.value_or(-1), flags) : not_there()};
  // The header's macro would take the newer call, which alone drops optional rights that a device lacks, for every right.
  if ((access & IBV_ACCESS_OPTIONAL_RANGE) == 0) return {"ibv_reg_mr", (ibv_reg_mr)(pd, address, m.bytes, flags)};
  return {"ibv_reg_mr_iova2", newer.reg_mr_iova2 ? newer.reg_mr_iova2(pd, address, m.bytes, m.address, access) : not_there()};
}

/// "LOCAL_WRITE|REMOTE_READ"
std::string rights_text(unsigned access) {
  struct Right {
    unsigned bit;
    const char* name;
  };
  constexpr std::array kRights = {Right{IBV_ACCESS_LOCAL_WRITE, "LOCAL_WRITE"}, Right{IBV_ACCESS_REMOTE_WRITE, "REMOTE_WRITE"},
                                  Right{IBV_ACCESS_REMOTE_READ, "REMOTE_READ"}, Right{IBV_ACCESS_REMOTE_ATOMIC, "REMOTE_ATOMIC"},
                                  Right{IBV_ACCESS_RELAXED_ORDERING, "RELAXED_ORDERING"}};
  std::string text;
  for (const Right& right : kRights)
    if ((access & right.bit) != 0) text += (text.empty() ? "" : "|") + std::string(right.name);
  return text;
}

bool is_device_memory(const RegionRequest& request) {
  return request.memory.offered.empty() || request.memory.offered.front().way != memory::Way::host;
}

std::uint64_t bytes_of(const RegionRequest& request) { return request.memory.offered.empty() ? 0 : request.memory.offered.front().bytes; }

/// What may have been passed, with the value found; empty when nothing is known to be.
std::string limit_passed(const RegionRequest& request, int code) {
  ibv_device_attr device{};
  bool known = errno_of_value(ibv_query_device(request.pd->context, &device)) == 0;
  if (known && device.max_mr_size > 0 && bytes_of(request) > device.max_mr_size)
    return fmt::format("the device registers at most {} (max_mr_size) in one region, {} are wanted: use a smaller --working-set, --size or --qps",
                       format_size(device.max_mr_size), format_size(bytes_of(request)));
  if (code != ENOMEM || is_device_memory(request)) return {};
  if (auto limit = memlock_limit_bytes())
    return fmt::format("locked memory of this process is limited to {} (ulimit -l {}): raise it in /etc/security/limits.conf (\"* - memlock "
                       "unlimited\") or, for a service, with LimitMEMLOCK=infinity; or use a smaller --working-set",
                       format_size(*limit), *limit / 1024);
  if (!known) return {};
  // Field case F27: no 1 KiB could be registered where the kernel had no contiguous memory to give to devices.
  if (bytes_of(request) <= 65536)
    return "so little memory is never the limit of a host: see CmaTotal in /proc/meminfo (0 where a kernel cannot give devices contiguous memory) and "
           "dmesg, and try another kernel";
  return fmt::format("the memory of host or device is short, or its {} regions (max_mr) are in use, other programs' included: use a smaller "
                     "--working-set or fewer --threads, or end what else uses the device (`rdma resource show mr`)",
                     device.max_mr);
}

std::string attempt_text(const memory::RegistrationAttempt& attempt) {
  return fmt::format("{}: {}{}{}: {}", attempt.name, attempt.call, attempt.flags.empty() ? "" : " with ", attempt.flags, attempt.meaning);
}

[[noreturn]] void refuse_host_memory(const RegionRequest& request, const memory::RegistrationAttempt& last) {
  const std::string limit = limit_passed(request, last.code);
  throw Error(ErrorKind::verbs, fmt::format("{} of {}: {}{}{}", last.call, format_size(bytes_of(request)), last.meaning, limit.empty() ? "" : ": ", limit), last.code);
}

/// Relaxed ordering is tried first, and most refusals have nothing to do with it.
bool said_again(const std::vector<memory::RegistrationAttempt>& attempts, std::size_t i) {
  return i + 1 < attempts.size() && attempts[i].name == attempts[i + 1].name && attempts[i].code == attempts[i + 1].code;
}

/// Not one of the ways worked. ENOMEM wins as the code: less memory may do.
[[noreturn]] void refuse(const RegionRequest& request, const std::vector<memory::RegistrationAttempt>& attempts) {
  if (attempts.empty()) throw Error(ErrorKind::usage, "the memory does not offer the way to register it that was asked for: leave --path out");
  if (!is_device_memory(request)) refuse_host_memory(request, attempts.back());
  std::string text = fmt::format("device memory cannot be registered with {}", ibv_get_device_name(request.pd->context->device));
  bool unsupported = true;
  int code = 0;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (!said_again(attempts, i)) text += fmt::format("; {}", attempt_text(attempts[i]));
    unsupported = unsupported && attempts[i].unsupported;
    if (code != ENOMEM) code = attempts[i].code;
  }
  const std::string limit = limit_passed(request, code);
  throw Error(unsupported ? ErrorKind::unsupported : ErrorKind::verbs, limit.empty() ? text : fmt::format("{}; {}", text, limit), code);
}

bool wanted(const RegionRequest& request, memory::Way way) { return !request.only || *request.only == way; }

}  // namespace

std::optional<std::uint64_t> memlock_limit_bytes() {
  rlimit limit{};
  if (geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

Region::Region(const RegionRequest& request) {
  for (const memory::RegistrationAttempt& refused : request.memory.refused)
    if (wanted(request, refused.way)) attempts_.push_back(refused);
  for (const memory::Registration& registration : request.memory.offered)
    if (wanted(request, registration.way) && try_way(request, registration)) return;
  refuse(request, attempts_);
}

bool Region::try_way(const RegionRequest& request, const memory::Registration& registration) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  if (request.remote_write) access |= IBV_ACCESS_REMOTE_WRITE;
  if (request.remote_read) access |= IBV_ACCESS_REMOTE_READ;
  if (request.remote_atomic) access |= IBV_ACCESS_REMOTE_ATOMIC;
  if (request.relaxed_ordering) {
    relaxed_ordering_ = try_once(request.pd, registration, access | IBV_ACCESS_RELAXED_ORDERING);
    if (relaxed_ordering_) return true;
    if (attempts_.back().code == ENOMEM) return false;  // the memory is the reason, not the flag
  }
  return try_once(request.pd, registration, access);
}

bool Region::try_once(ibv_pd* pd, const memory::Registration& registration, unsigned access) {
  const Call call = register_once(pd, registration, access);
  const int code = errno_of_pointer(call.mr);
  attempts_.push_back({.way = registration.way,
                       .name = name_of(registration),
                       .call = call.name,
                       .flags = rights_text(access),
                       .code = code,
                       .meaning = code == 0 ? "" : registration_meaning(registration.way, code),
                       .unsupported = means_unsupported(registration.way, code)});
  mr_.reset(call.mr);
  return code == 0;
}

DmabufProbe probe_dmabuf(ibv_pd* pd) {
  memory::Registration none;
  none.way = memory::Way::dmabuf;
  const MrHandle mr(register_once(pd, none, 0).mr);
  const int code = errno_of_pointer(mr.get());
  if (code == 0 || code == EBADF) return {.supported = true, .code = code, .meaning = {}};
  std::optional<bool> supported;
  if (code == EOPNOTSUPP || code == EPROTONOSUPPORT) supported = false;
  return {.supported = supported, .code = code, .meaning = registration_meaning(memory::Way::dmabuf, code)};
}

}  // namespace railgauge::verbs
