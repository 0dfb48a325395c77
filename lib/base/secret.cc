#include "base/secret.h"

#include <strings.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace railgauge {

bool equal_constant_time(std::span<const std::uint8_t> left, std::span<const std::uint8_t> right) noexcept {
  if (left.size() != right.size()) return false;
  // volatile keeps the compiler from leaving the loop at the first difference.
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (left[i] ^ right[i]));
  }
  return difference == 0;
}

void fill_random(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    ssize_t n = ::getrandom(out.data(), out.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("getrandom", errno);
    out = out.subspan(static_cast<std::size_t>(n));
  }
}

void wipe(std::span<std::uint8_t> bytes) noexcept { ::explicit_bzero(bytes.data(), bytes.size()); }

}  // namespace railgauge
