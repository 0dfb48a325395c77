#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "tcp/data_hello.h"
#include "tcp/socket.h"

namespace railgauge::tcp {

/// One data connection that said the right hello and was answered.
struct AcceptedStream {
  StreamName name;
  UniqueFd fd;
};

/// Connections of strangers, closed without an answer.
struct Strangers {
  std::uint64_t wrong_hello = 0;  ///< wrong magic, nonce, role, index, or a name already taken
  std::uint64_t silent = 0;       ///< said no whole hello in time, or hung up
};

/// The server's listener for the data connections of one measurement. Its nonce is valid for this object's life only.
class DataListener {
 public:
  /// Listens on `local` (port 0: chosen by the kernel). Throws Error.
  DataListener(const Endpoint& local, const SocketSettings& settings);
  std::uint16_t port() const { return local_endpoint(fd_.get()).port(); }
  const Nonce& nonce() const noexcept { return nonce_; }
  /// Accepts until each of `wanted` has come, in that order in the result. A stranger, silent or wrong, never holds up the
  /// others. Throws Error{timeout} saying how many came and how many were turned away, Error{peer} as soon as `cancel_fd`
  /// (−1: none) is readable.
  std::vector<AcceptedStream> accept_all(const std::vector<StreamName>& wanted, Deadline deadline, int cancel_fd = -1);
  const Strangers& strangers() const noexcept { return strangers_; }

 private:
  struct Pending {
    UniqueFd fd;
    Hello hello{};
    std::size_t got = 0;
    Deadline deadline;
  };
  bool take_new_connection();
  void drop_late();
  enum class Step { more, done, drop };
  Step read_hello(Pending& pending) noexcept;
  void seat(Pending& pending, std::vector<AcceptedStream>& seats);

  UniqueFd fd_;
  Nonce nonce_;
  std::vector<Pending> pending_;
  Strangers strangers_;
};

}  // namespace railgauge::tcp
