#include "base/error.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace railgauge {

const char* name_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::system: return "system";
    case ErrorKind::verbs: return "verbs";
    case ErrorKind::cuda: return "cuda";
    case ErrorKind::nccl: return "nccl";
    case ErrorKind::peer: return "peer";
    case ErrorKind::timeout: return "timeout";
    case ErrorKind::data: return "data";
  }
  return "system";
}

std::string errno_text(int errno_value) {
  std::array<char, 128> buffer{};
  // glibc's strerror_r returns the text, which need not lie in the buffer.
  return strerror_r(errno_value, buffer.data(), buffer.size());
}

Error system_error(const std::string& call_and_object, int errno_value) {
  return Error(ErrorKind::system, fmt::format("{}: {}", call_and_object, errno_text(errno_value)), errno_value);
}

ExitCode exit_code_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage: return ExitCode::usage;
    case ErrorKind::unsupported: return ExitCode::unsupported;
    case ErrorKind::data: return ExitCode::below_expectation;
    default: return ExitCode::not_measured;
  }
}

}  // namespace railgauge
