/// Device memory: a file per GPU, mapped twice. Where the program's device addresses are, no access is allowed, so that a CPU
/// which touches device memory crashes as it would with a GPU.
#pragma once
#include "state.h"

namespace railgauge::simcuda {

/// Maps the GPU's memory; false: the system has none left.
bool map_memory(Gpu& gpu);

/// A device address for that many bytes; 0: none left. Aligned to 512 bytes and no more, so that nobody takes more for granted.
Pointer allocate(Gpu& gpu, std::uint64_t bytes);

/// Of the GPU that has it. False: it is no allocation's begin.
bool release(State& s, Pointer address);

/// Where an allocation holds [address, +bytes).
struct Place {
  Gpu* gpu = nullptr;          ///< null: nowhere
  char* bytes = nullptr;
  std::uint64_t offset = 0;    ///< in the GPU's file
};
Place find(State& s, Pointer address, std::uint64_t bytes);

}  // namespace railgauge::simcuda
