#pragma once
#include <string>

#include "base/error.h"
#include "cuda/cuda_abi.h"

namespace railgauge::cuda {

/// "CUDA_ERROR_SYSTEM_NOT_READY"; "CUresult 4711" for one that is not in the table of result.cc.
std::string name_of_result(abi::Result result);

/// What it means and what mends it, in a sentence; empty where nothing is known beyond the name.
std::string meaning_of_result(abi::Result result);

/// "CUDA_ERROR_NO_DEVICE (100): …": name, number, and the meaning where there is one.
std::string describe_result(abi::Result result);

/// The exception for a refused call: `what` names call and object ("cuMemAlloc of 64 MiB on CUDA device 3"). Its code is the
/// CUresult, its kind `cuda`, but `unsupported` where there is no GPU.
Error cuda_error(abi::Result result, const std::string& what);

/// Throws cuda_error unless it succeeded.
inline void check(abi::Result result, const std::string& what) {
  if (result != abi::kSuccess) throw cuda_error(result, what);
}

}  // namespace railgauge::cuda
