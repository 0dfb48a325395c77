#pragma once
#include <stdexcept>
#include <string>

namespace railgauge {

/// What went wrong, in the terms that choose the exit code and the record's `error.kind`.
enum class ErrorKind {
  usage,        ///< the command line, a plan or the settings of two hosts ask for something impossible or contradictory
  unsupported,  ///< there is no such device here, or it lacks the ability; what is there but closed, broken or off is `system`
  system,       ///< the operating system refused a call
  verbs,        ///< libibverbs or librdmacm refused a call, or a completion failed
  cuda,         ///< the CUDA driver refused a call
  nccl,         ///< NCCL refused a call
  peer,         ///< the other host said no, vanished, or spoke another language
  timeout,      ///< a deadline passed
  data,         ///< bytes differ from what was sent, or a record cannot be read
};

/// The word used in records and messages: "usage", "unsupported", ….
const char* name_of(ErrorKind kind) noexcept;

/// The one exception of the house. Set-up throws it, measuring loops never do, only main catches it.
/// The message names the call, the object, the value and the reason, and where one exists the mending command.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, int code = 0) : std::runtime_error(message), kind_(kind), code_(code) {}
  ErrorKind kind() const noexcept { return kind_; }
  /// errno, completion status or library result where the failing call gave one, else 0.
  int code() const noexcept { return code_; }

 private:
  ErrorKind kind_;
  int code_;
};

/// A failed system call: "<call> <object>: <strerror(errno_value)>", kind system.
Error system_error(const std::string& call_and_object, int errno_value);

/// A standard exception in our terms: too little memory, or a thread that could not be started (the only
/// std::system_error of the house); an Error as it is; anything else by its words.
Error error_from(const std::exception& error);

/// strerror without its thread trap.
std::string errno_text(int errno_value);

/// Exit codes of every subcommand (design.md, section 1).
enum class ExitCode : int {
  met = 0,
  below_expectation = 1,
  usage = 2,
  not_measured = 3,
  unsupported = 77,
};

/// The exit code that an error of this kind ends in: usage → 2, unsupported → 77, data → 1, everything else → 3.
ExitCode exit_code_of(ErrorKind kind) noexcept;

}  // namespace railgauge
