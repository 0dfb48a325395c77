#include "base/error.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

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
  const char* remedy = errno_value == EMFILE ? " (raise the limit: ulimit -n)" : errno_value == ENFILE ? " (raise sysctl fs.file-max)" : "";
  return Error(ErrorKind::system, fmt::format("{}: {}{}", call_and_object, errno_text(errno_value), remedy), errno_value);
}

Error error_from(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return *ours;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return Error(ErrorKind::system, "not enough memory", ENOMEM);
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error))
    return Error(ErrorKind::system, fmt::format("starting a thread: {} (fewer --threads, or raise the limit: ulimit -u, pids.max)", refused->what()),
                 refused->code().value());
  return Error(ErrorKind::system, error.what());
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
