/// What a dma-buf of the stand-ins is: a small memory file that says where the bytes are. tests/sim/cuda makes them,
/// tests/sim/verbs takes them; both in one process.
#pragma once
#include <cstdint>

namespace railgauge::sim {

constexpr char kDmabufMagic[24] = "railgauge-sim-dmabuf-1";
/// Device memory is a file of this name (and a number), mapped without any right where the program's device addresses are.
constexpr char kDeviceMemoryName[] = "railgauge-sim-cuda";

struct DmabufHeader {
  char magic[24];
  std::int32_t memory_fd;      ///< the device memory's file in this process
  std::int32_t reserved;
  std::uint64_t offset;        ///< of the buffer in that file
  std::uint64_t bytes;
};

}  // namespace railgauge::sim
