#pragma once
#include <optional>
#include <string>
#include <vector>

#include "memory/buffer_source.h"
#include "verbs/handles.h"

namespace railgauge::verbs {

/// What to register, and what the peer may do with it. LOCAL_WRITE is always given.
struct RegionRequest {
  ibv_pd* pd = nullptr;
  memory::RegistrationWays memory;
  std::optional<memory::Way> only{};    ///< the way that was forced; nothing: the first of those offered that works
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;
  bool relaxed_ordering = false;        ///< asked for; refused silently where the device lacks it
};

/// Registered memory; its addresses are those of the Registration (an ibv_mr of a dma-buf has another `addr`).
class Region {
 public:
  /// Tries the ways that are offered, in order; never other memory. Throws Error{verbs}; where a limit was passed (the largest
  /// region, the number of regions, locked memory) the message names its value and the ways round it. Where several ways were
  /// tried it names each, and is Error{unsupported} when each says that the ability is lacking. Error{usage} where the memory
  /// does not offer the way that was forced.
  explicit Region(const RegionRequest& request);
  std::uint32_t lkey() const noexcept { return mr_->lkey; }
  std::uint32_t rkey() const noexcept { return mr_->rkey; }
  bool relaxed_ordering() const noexcept { return relaxed_ordering_; }  ///< in effect as far as libibverbs says
  /// name_of(Registration) of the way in effect.
  const std::string& way() const noexcept { return attempts_.back().name; }
  /// What was tried or could not be, in order; the last one succeeded.
  const std::vector<memory::RegistrationAttempt>& attempts() const noexcept { return attempts_; }

 private:
  bool try_way(const RegionRequest& request, const memory::Registration& registration);
  bool try_once(ibv_pd* pd, const memory::Registration& registration, unsigned access);

  std::vector<memory::RegistrationAttempt> attempts_;
  bool relaxed_ordering_ = false;
  MrHandle mr_;
};

/// Whether a NIC takes dma-bufs, asked without one (as NCCL and libfabric do, verbs-facts.md 5.3).
struct DmabufProbe {
  std::optional<bool> supported;        ///< nothing: the answer was none of the known ones
  int code = 0;                         ///< errno of ibv_reg_dmabuf_mr on descriptor −1; EBADF where dma-bufs are taken
  std::string meaning;                  ///< empty where supported
};
/// Any protection domain of the device. Never throws.
DmabufProbe probe_dmabuf(ibv_pd* pd);

/// The soft limit of locked memory in bytes; nothing when there is none or this process may pass it (root).
std::optional<std::uint64_t> memlock_limit_bytes();

}  // namespace railgauge::verbs
