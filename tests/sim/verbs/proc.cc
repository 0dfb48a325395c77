#include "proc.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace railgauge::simverbs {

namespace {

/// Fields of /proc/PID/stat from the third on (state), or false. The name before may hold blanks and brackets.
bool stat_fields(const char* path, char* buffer, std::size_t size, const char*& fields) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = read(fd, buffer, size - 1);
  close(fd);
  if (got <= 0) return false;
  buffer[got] = '\0';
  const char* bracket = std::strrchr(buffer, ')');
  if (bracket == nullptr) return false;
  fields = bracket + 2;
  return true;
}

/// The n-th field, counting the state as 3.
unsigned long long field(const char* at, int n) noexcept {
  for (int i = 3; i < n && at != nullptr; ++i) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

}  // namespace

std::uint64_t process_start_time(std::uint32_t pid) noexcept {
  char path[64];
  char buffer[1024];
  const char* fields = nullptr;
  std::snprintf(path, sizeof path, "/proc/%u/stat", pid);
  if (!stat_fields(path, buffer, sizeof buffer, fields)) return 0;
  if (*fields == 'Z' || *fields == 'X') return 0;
  return field(fields, 22);
}

int thread_count() noexcept {
  char buffer[1024];
  const char* fields = nullptr;
  if (!stat_fields("/proc/self/stat", buffer, sizeof buffer, fields)) return 2;  // assume the harder case
  return static_cast<int>(field(fields, 20));
}

}  // namespace railgauge::simverbs
