#include "base/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace railgauge {

std::chrono::nanoseconds measure_clock_cost() {
  constexpr int kReadsPerSample = 64;
  std::array<std::chrono::nanoseconds, 33> samples{};
  for (auto& sample : samples) {
    auto begin = Clock::now();
    for (int i = 1; i < kReadsPerSample; ++i) (void)Clock::now();
    sample = (Clock::now() - begin) / kReadsPerSample;
  }
  auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

std::string utc_now_text() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  tm parts{};
  gmtime_r(&t.tv_sec, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, t.tv_nsec / 1'000'000);
}

int Deadline::poll_timeout_ms() const noexcept {
  constexpr std::int64_t kDayMs = 24LL * 3600 * 1000;
  auto ms = std::chrono::ceil<std::chrono::milliseconds>(remaining()).count();
  return static_cast<int>(std::min<std::int64_t>(ms, kDayMs));
}

}  // namespace railgauge
