#include "bench/tcp/info_log.h"

#include <algorithm>
#include <utility>

namespace railgauge::bench {

TcpInfoLog::TcpInfoLog(std::vector<int> descriptors)
    : descriptors_(std::move(descriptors)),
      capacity_(std::clamp<std::size_t>(kMaxReadings / std::max<std::size_t>(descriptors_.size(), 1), 2, kMaxInstants)) {
  const Instant empty{{}, std::vector<tcp::TcpInfoReading>(descriptors_.size())};
  instants_.assign(capacity_, empty);
  first_ = empty;
  latest_ = empty;
}

void TcpInfoLog::read_all(Instant& into, Clock::time_point at) noexcept {
  into.at = at;
  for (std::size_t i = 0; i < descriptors_.size(); ++i) {
    into.readings[i] = tcp::read_tcp_info(descriptors_[i]).value_or(tcp::TcpInfoReading{});
  }
}

void TcpInfoLog::take(Clock::time_point at) noexcept {
  read_all(latest_, at);
  if (taken_ == 0) first_ = latest_;
  if (taken_++ % stride_ != 0) return;
  if (kept_ == capacity_) {
    for (std::size_t i = 0; 2 * i < kept_; ++i) std::swap(instants_[i], instants_[2 * i]);
    kept_ = (kept_ + 1) / 2;
    stride_ *= 2;
  }
  // Sizes are equal, so this copies without allocating.
  instants_[kept_++] = latest_;
}

void TcpInfoLog::append(std::vector<results::TcpInfoSample>& out, const Instant& instant, Clock::time_point window_begin) {
  for (std::size_t i = 0; i < instant.readings.size(); ++i) {
    if (instant.readings[i].length == 0) continue;
    out.push_back({static_cast<int>(i), instant.at - window_begin, tcp::fields(instant.readings[i])});
  }
}

std::vector<results::TcpInfoSample> TcpInfoLog::samples(Clock::time_point window_begin) const {
  std::vector<results::TcpInfoSample> out;
  for (std::size_t k = 0; k < kept_; ++k) append(out, instants_[k], window_begin);
  if (kept_ > 0 && instants_[kept_ - 1].at != latest_.at) append(out, latest_, window_begin);
  return out;
}

std::optional<std::uint64_t> TcpInfoLog::increase(std::string_view key) const noexcept {
  std::optional<std::uint64_t> sum;
  for (std::size_t i = 0; i < descriptors_.size(); ++i) {
    const auto before = tcp::field(first_.readings[i], key);
    const auto after = tcp::field(latest_.readings[i], key);
    if (before && after && *after >= *before) sum = sum.value_or(0) + (*after - *before);
  }
  return sum;
}

}  // namespace railgauge::bench
