#include "cuda/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace railgauge::cuda {
namespace {

struct Meaning {
  abi::Result result;
  const char* name;
  const char* meaning;
};

// Names from cuda.h 13.0; meanings from its comments and from nccl-facts.md, section 7.
constexpr std::array kMeanings = {
    Meaning{0, "CUDA_SUCCESS", ""},
    Meaning{1, "CUDA_ERROR_INVALID_VALUE", "an argument is out of range, or this driver does not know it"},
    Meaning{2, "CUDA_ERROR_OUT_OF_MEMORY", "the GPU's memory does not suffice: use a smaller --working-set, --size or --qps, or see with `nvidia-smi` who uses it"},
    Meaning{3, "CUDA_ERROR_NOT_INITIALIZED", "the driver was not initialised in this process; a fork after cuInit does this"},
    Meaning{4, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down in this process"},
    Meaning{34, "CUDA_ERROR_STUB_LIBRARY",
            "this libcuda.so.1 is the stub that a toolkit has for linking: take it out of LD_LIBRARY_PATH so that the driver's own is found"},
    Meaning{35, "CUDA_ERROR_INSUFFICIENT_DRIVER", "the NVIDIA driver is too old for what was asked, or its kernel module is missing: see `nvidia-smi`, update the driver"},
    Meaning{36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer NVIDIA driver: see `nvidia-smi`"},
    Meaning{46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the GPU is busy or in exclusive or prohibited mode: see `nvidia-smi -q -d COMPUTE`"},
    Meaning{100, "CUDA_ERROR_NO_DEVICE", "the driver is there, but no GPU that this process may use: see `nvidia-smi -L`, CUDA_VISIBLE_DEVICES and, in a container, its device list"},
    Meaning{101, "CUDA_ERROR_INVALID_DEVICE", "there is no GPU of that number"},
    Meaning{102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "the vGPU has no licence"},
    Meaning{200, "CUDA_ERROR_INVALID_IMAGE", "the kernel image is no code that this driver knows"},
    Meaning{201, "CUDA_ERROR_INVALID_CONTEXT", "no context is current on this thread, or it is gone"},
    Meaning{209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the kernel image has no code for this GPU's architecture"},
    Meaning{214, "CUDA_ERROR_ECC_UNCORRECTABLE", "an uncorrectable ECC error of the GPU's memory: see `nvidia-smi -q -d ECC`; the GPU must be reset or replaced"},
    Meaning{218, "CUDA_ERROR_INVALID_PTX", "the driver's compiler refused the kernel's PTX"},
    Meaning{220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "an uncorrectable NVLink error: see `nvidia-smi nvlink -e`"},
    Meaning{221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "libnvidia-ptxjitcompiler.so.1 of the driver is missing"},
    Meaning{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the kernel's PTX is newer than this driver: update the driver, or build with an older toolkit"},
    Meaning{223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "CUDA_DISABLE_PTX_JIT is set, and the image has no code for this GPU"},
    Meaning{304, "CUDA_ERROR_OPERATING_SYSTEM", "the operating system refused something to the driver: see `dmesg`, the limits of the container and of locked memory"},
    Meaning{400, "CUDA_ERROR_INVALID_HANDLE", "a handle that is not, or no longer, valid"},
    Meaning{500, "CUDA_ERROR_NOT_FOUND", "there is nothing of that name"},
    Meaning{600, "CUDA_ERROR_NOT_READY", "the work has not ended"},
    Meaning{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel or copy touched memory that is not its own; the context can do nothing more"},
    Meaning{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the kernel needs more registers or threads than the GPU has"},
    Meaning{702, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran longer than the system lets it"},
    Meaning{716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel read or wrote at a misaligned address"},
    Meaning{719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed; the context can do nothing more: see `dmesg` for an Xid"},
    Meaning{800, "CUDA_ERROR_NOT_PERMITTED", "not permitted"},
    Meaning{801, "CUDA_ERROR_NOT_SUPPORTED", "this driver, kernel module or GPU does not do that"},
    Meaning{802, "CUDA_ERROR_SYSTEM_NOT_READY",
            "the GPUs of an NVSwitch system wait for the fabric manager: `systemctl start nvidia-fabricmanager`, of the same version as the driver"},
    Meaning{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            "libcuda and the loaded kernel module are of different versions: reboot, or reload the nvidia modules, after a driver update; in a container see its libcuda"},
    Meaning{804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "the forward compatibility package does not serve this GPU: take cuda-compat out of LD_LIBRARY_PATH"},
    Meaning{999, "CUDA_ERROR_UNKNOWN", "the driver is broken at the moment: see `dmesg` (Xid, nvidia-uvm not loaded) and `nvidia-smi`"},
};

const Meaning* find(abi::Result result) {
  const auto* at = std::find_if(kMeanings.begin(), kMeanings.end(), [&](const Meaning& m) { return m.result == result; });
  return at == kMeanings.end() ? nullptr : at;
}

}  // namespace

std::string name_of_result(abi::Result result) {
  const Meaning* known = find(result);
  return known != nullptr ? known->name : fmt::format("CUresult {}", result);
}

std::string meaning_of_result(abi::Result result) {
  const Meaning* known = find(result);
  return known != nullptr ? known->meaning : "";
}

std::string describe_result(abi::Result result) {
  const Meaning* known = find(result);
  if (known == nullptr) return name_of_result(result);
  const char* colon = *known->meaning != '\0' ? ": " : "";
  return fmt::format("{} ({}){}{}", known->name, result, colon, known->meaning);
}

Error cuda_error(abi::Result result, const std::string& what) {
  const ErrorKind kind = result == abi::kNoDevice ? ErrorKind::unsupported : ErrorKind::cuda;
  return Error(kind, fmt::format("{}: {}", what, describe_result(result)), result);
}

}  // namespace railgauge::cuda
