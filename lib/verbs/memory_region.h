#pragma once
#include "memory/buffer_source.h"
#include "verbs/handles.h"

namespace railgauge::verbs {

/// What to register, and what the peer may do with it. LOCAL_WRITE is always given.
struct RegionRequest {
  ibv_pd* pd = nullptr;
  memory::Registration memory;
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;
  bool relaxed_ordering = false;        ///< asked for; refused silently where the device lacks it
};

/// Registered memory; its addresses are those of the Registration (an ibv_mr of a dma-buf has another `addr`).
class Region {
 public:
  /// Throws Error{verbs}; where a limit was passed (the largest region, the number of regions, locked memory) the message
  /// names its value and the ways round it.
  explicit Region(const RegionRequest& request);
  std::uint32_t lkey() const noexcept { return mr_->lkey; }
  std::uint32_t rkey() const noexcept { return mr_->rkey; }
  bool relaxed_ordering() const noexcept { return relaxed_ordering_; }  ///< in effect as far as libibverbs says

 private:
  bool relaxed_ordering_ = false;
  MrHandle mr_;
};

/// The soft limit of locked memory in bytes; nothing when there is none or this process may pass it (root).
std::optional<std::uint64_t> memlock_limit_bytes();

}  // namespace railgauge::verbs
