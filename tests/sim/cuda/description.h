/// The described GPUs and the scripted faults. formats.md has the grammar of both.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace railgauge::simcuda {

struct GpuDescription {
  std::string name = "railgauge stand-in GPU";  ///< always begins so
  std::string pci;                              ///< as the driver writes it: "0000:4A:00.0"
  std::uint64_t memory_bytes = 1ULL << 30;
  double copy_gbyte_per_s = 0;                  ///< 0: as fast as it goes
  bool dmabuf_pcie = false;                     ///< takes CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE
  std::map<int, int> attributes;
};

struct Description {
  int driver = 13000;
  std::vector<GpuDescription> gpus;
};

/// The `nth` call (0: every one) of `call` fails with `code`.
struct Refusal {
  std::string call;
  std::uint64_t nth = 0;
  int code = 0;
};

/// Byte `byte` of what the nth copy or launch wrote is inverted.
struct Flip {
  bool launch = false;
  std::uint64_t nth = 0;
  std::uint64_t byte = 0;
};

struct Faults {
  std::vector<Refusal> refusals;
  std::vector<Flip> flips;
  std::uint64_t hang_at = 0;   ///< the operation (copies, sets and launches from 1) that takes long; 0: none
  std::uint64_t hang_ns = 0;
};

/// From RAILGAUGE_SIM_CUDA and RAILGAUGE_SIM_CUDA_FAULTS, each a plain file or the text itself. A line that cannot be
/// understood ends the process with status 2.
Description load_description();
Faults load_faults();

}  // namespace railgauge::simcuda
