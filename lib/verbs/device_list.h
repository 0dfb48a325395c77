#pragma once
#include <infiniband/verbs.h>

#include <span>

namespace railgauge::verbs {

/// ibv_get_device_list with its end. Empty when libibverbs has none or cannot say.
class DeviceList {
 public:
  DeviceList();
  ~DeviceList();
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  std::span<ibv_device*> devices() const noexcept { return {devices_, devices_ == nullptr ? 0 : static_cast<std::size_t>(count_)}; }

 private:
  int count_ = 0;
  ibv_device** devices_;
};

}  // namespace railgauge::verbs
