#include "state.h"

#include <ctime>

namespace railgauge::simcuda {

State& state() {
  static auto* made = [] {
    auto* fresh = new State;
    reload(*fresh);
    return fresh;
  }();
  return *made;
}

void reload(State& s) {
  for (const auto& gpu : s.gpus) {
    if (gpu->context_users > 0) return;
  }
  s.description = load_description();
  s.faults = load_faults();
  s.calls.clear();
  s.operations = s.copies = s.launches = 0;
  for (auto& gpu : s.gpus) s.retired.push_back(std::move(gpu));
  s.gpus.clear();
  for (const auto& described : s.description.gpus) {
    auto gpu = std::make_unique<Gpu>();
    gpu->described = described;
    gpu->index = static_cast<int>(s.gpus.size());
    gpu->default_stream.gpu = gpu.get();
    s.gpus.push_back(std::move(gpu));
  }
}

Gpu*& current_context() {
  thread_local Gpu* current = nullptr;
  return current;
}

Call::Call(const char* name, Needs needs) : state_(railgauge::simcuda::state()), guard_(state_.mutex) {
  const std::uint64_t number = ++state_.calls[name];
  for (const auto& r : state_.faults.refusals) {
    if (r.call == name && (r.nth == 0 || r.nth == number)) refused_ = r.code;
  }
  if (refused_ != kSuccess || needs == Needs::nothing) return;
  if (!state_.initialized) {
    refused_ = kNotInitialized;
    return;
  }
  if (needs != Needs::context) return;
  gpu_ = current_context();
  if (gpu_ == nullptr || gpu_->context_users == 0) refused_ = kInvalidContext;
  else refused_ = gpu_->broken;
}

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

void take_time(State& s, Gpu& gpu, Stream* stream, std::uint64_t bytes) {
  Stream& queue = stream != nullptr ? *stream : gpu.default_stream;
  const std::uint64_t now = now_ns();
  std::uint64_t begin = queue.due_ns > now ? queue.due_ns : now;
  // bytes ÷ (GB/s) is nanoseconds
  if (gpu.described.copy_gbyte_per_s > 0) begin += static_cast<std::uint64_t>(static_cast<double>(bytes) / gpu.described.copy_gbyte_per_s);
  if (++s.operations == s.faults.hang_at) begin += s.faults.hang_ns;
  queue.due_ns = begin;
}

}  // namespace railgauge::simcuda
