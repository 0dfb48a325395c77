/// Exported calls: the driver, its devices and their contexts.
#include <cstdio>
#include <cstring>

#include "memory.h"
#include "state.h"

using namespace railgauge::simcuda;

namespace {

Gpu* gpu_at(State& s, int device) {
  return device >= 0 && static_cast<std::size_t>(device) < s.gpus.size() ? s.gpus[static_cast<std::size_t>(device)].get() : nullptr;
}

/// Copies text as far as there is room, with its end.
void give(char* to, int room, const std::string& text) { std::snprintf(to, room > 0 ? static_cast<std::size_t>(room) : 0, "%s", text.c_str()); }

}  // namespace

RAILGAUGE_SIM_EXPORT Result cuInit(unsigned) {
  reload(state());
  Call call("cuInit", Call::Needs::nothing);
  if (call.refused() != kSuccess) return call.refused();
  call.state().initialized = true;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDriverGetVersion(int* version) {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  s.description.driver = load_description().driver;  // also before cuInit, for whoever explains why that fails
  *version = s.description.driver;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDeviceGetCount(int* count) {
  Call call("cuDeviceGetCount", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  *count = static_cast<int>(call.state().gpus.size());
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDeviceGet(int* device, int ordinal) {
  Call call("cuDeviceGet", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  if (gpu_at(call.state(), ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDeviceGetName(char* name, int room, int device) {
  Call call("cuDeviceGetName", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  const Gpu* gpu = gpu_at(call.state(), device);
  if (gpu == nullptr) return kInvalidDevice;
  give(name, room, gpu->described.name);
  return kSuccess;
}

/// The letters "simulated", then the number.
RAILGAUGE_SIM_EXPORT Result cuDeviceGetUuid(unsigned char* uuid, int device) {
  Call call("cuDeviceGetUuid", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  if (gpu_at(call.state(), device) == nullptr) return kInvalidDevice;
  std::memset(uuid, 0, 16);
  std::memcpy(uuid, "simulated", 9);
  uuid[15] = static_cast<unsigned char>(device);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDeviceGetPCIBusId(char* address, int room, int device) {
  Call call("cuDeviceGetPCIBusId", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  const Gpu* gpu = gpu_at(call.state(), device);
  if (gpu == nullptr) return kInvalidDevice;
  give(address, room, gpu->described.pci);
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  Call call("cuDeviceGetAttribute", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  const Gpu* gpu = gpu_at(call.state(), device);
  if (gpu == nullptr) return kInvalidDevice;
  const auto known = gpu->described.attributes.find(attribute);
  if (known == gpu->described.attributes.end()) return kInvalidValue;
  *value = known->second;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  Call call("cuDeviceTotalMem", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  const Gpu* gpu = gpu_at(call.state(), device);
  if (gpu == nullptr) return kInvalidDevice;
  *bytes = gpu->described.memory_bytes;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDevicePrimaryCtxRetain(Gpu** context, int device) {
  Call call("cuDevicePrimaryCtxRetain", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  Gpu* gpu = gpu_at(call.state(), device);
  if (gpu == nullptr) return kInvalidDevice;
  if (!map_memory(*gpu)) return kOutOfMemory;
  ++gpu->context_users;
  *context = gpu;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuDevicePrimaryCtxRelease_v2(int device) {
  Call call("cuDevicePrimaryCtxRelease", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  Gpu* gpu = gpu_at(call.state(), device);
  if (gpu == nullptr) return kInvalidDevice;
  if (gpu->context_users == 0) return kInvalidContext;
  if (--gpu->context_users == 0) gpu->broken = kSuccess;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuCtxSetCurrent(Gpu* context) {
  Call call("cuCtxSetCurrent", Call::Needs::driver);
  if (call.refused() != kSuccess) return call.refused();
  current_context() = context;
  return kSuccess;
}
