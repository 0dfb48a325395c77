/// Exported calls: modules and launches. Code for a GPU cannot run here: the three kernels of railgauge are known by name and
/// carried out by code of this library's own, written from the contract (cuda/kernels/contract.h) and lib/memory/README.md D1.
#include <cstring>

#include "memory.h"
#include "state.h"

using namespace railgauge::simcuda;

namespace {

struct Module {};
struct Function {
  const char* name;
  Result (*run)(State&, void** arguments);
};

/// Byte `at` of a pattern: its 64-bit words are x ^ x>>32 of a Weyl sequence, little-endian; the sequence begins at the seed's
/// own splitmix64 value (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
class PatternBytes {
 public:
  explicit PatternBytes(Pointer seed) {
    start_ = seed + kGolden;
    start_ ^= start_ >> 30;
    start_ *= 0xBF58476D1CE4E5B9ULL;
    start_ ^= start_ >> 27;
    start_ *= 0x94D049BB133111EBULL;
    start_ ^= start_ >> 31;
  }
  unsigned char at(Pointer at) const {
    const Pointer weyl = start_ + at / 8 * kGolden;
    const Pointer word = weyl ^ weyl >> 32;
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(word >> (8 * i));
    return bytes[at % 8];
  }

 private:
  static constexpr Pointer kGolden = 0x9E3779B97F4A7C15ULL;
  Pointer start_;
};

template <class T>
T argument(void** arguments, int i) {
  T value{};
  std::memcpy(&value, arguments[i], sizeof value);
  return value;
}

void spoil(State& s, char* data, std::uint64_t bytes) {
  for (const auto& flip : s.faults.flips) {
    if (flip.launch && flip.nth == s.launches && bytes > 0) data[flip.byte % bytes] = static_cast<char>(~data[flip.byte % bytes]);
  }
}

Result fill(State& s, void** arguments) {
  const auto bytes = argument<Pointer>(arguments, 1);
  const auto offset = argument<Pointer>(arguments, 2);
  const PatternBytes pattern(argument<Pointer>(arguments, 3));
  const Place to = find(s, argument<Pointer>(arguments, 0), bytes);
  if (to.gpu == nullptr) return kIllegalAddress;
  for (Pointer i = 0; i < bytes; ++i) to.bytes[i] = static_cast<char>(pattern.at(offset + i));
  spoil(s, to.bytes, bytes);
  return kSuccess;
}

Result verify(State& s, void** arguments) {
  const auto bytes = argument<Pointer>(arguments, 1);
  const auto offset = argument<Pointer>(arguments, 2);
  const PatternBytes pattern(argument<Pointer>(arguments, 3));
  const Place from = find(s, argument<Pointer>(arguments, 0), bytes);
  const Place result = find(s, argument<Pointer>(arguments, 4), 16);
  if (from.gpu == nullptr || result.gpu == nullptr || result.offset % 8 != 0) return kIllegalAddress;
  Pointer counted[2];  // differing bytes; offset << 16 | expected << 8 | found of the first
  std::memcpy(counted, result.bytes, sizeof counted);
  for (Pointer i = 0; i < bytes; ++i) {
    const unsigned char wanted = pattern.at(offset + i);
    const auto found = static_cast<unsigned char>(from.bytes[i]);
    if (wanted == found) continue;
    ++counted[0];
    const Pointer packed = i << 16 | static_cast<Pointer>(wanted) << 8 | found;
    if (packed < counted[1]) counted[1] = packed;
  }
  std::memcpy(result.bytes, counted, sizeof counted);
  return kSuccess;
}

Result copy(State& s, void** arguments) {
  const auto bytes = argument<Pointer>(arguments, 2);
  const Place to = find(s, argument<Pointer>(arguments, 0), bytes);
  const Place from = find(s, argument<Pointer>(arguments, 1), bytes);
  if (to.gpu == nullptr || from.gpu == nullptr) return kIllegalAddress;
  std::memcpy(to.bytes, from.bytes, bytes);
  spoil(s, to.bytes, bytes);
  return kSuccess;
}

Function* functions() {
  static Function all[] = {{"railgauge_fill", fill}, {"railgauge_verify", verify}, {"railgauge_copy", copy}, {nullptr, nullptr}};
  return all;
}

/// A fatbin, a cubin, PTX, or the word of a test that has no nvcc.
bool is_code(const char* image) {
  return std::memcmp(image, "\x50\xED\x55\xBA", 4) == 0 || std::memcmp(image, "\x7F" "ELF", 4) == 0 || std::strncmp(image, ".version", 8) == 0 ||
         std::strncmp(image, "railgauge stand-in", 18) == 0;
}

}  // namespace

RAILGAUGE_SIM_EXPORT Result cuModuleLoadData(Module** module, const void* image) {
  Call call("cuModuleLoadData", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  if (!is_code(static_cast<const char*>(image))) return kInvalidImage;
  *module = new Module;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuModuleUnload(Module* module) {
  Call call("cuModuleUnload", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  delete module;
  return kSuccess;
}

RAILGAUGE_SIM_EXPORT Result cuModuleGetFunction(Function** function, Module*, const char* name) {
  Call call("cuModuleGetFunction", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  for (Function* f = functions(); f->name != nullptr; ++f) {
    if (std::strcmp(f->name, name) == 0) return *function = f, kSuccess;
  }
  return kNotFound;
}

RAILGAUGE_SIM_EXPORT Result cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                           unsigned block_z, unsigned, Stream* stream, void** arguments, void**) {
  constexpr unsigned kMostThreads = 1024;  // of a block, on every architecture since sm_20
  Call call("cuLaunchKernel", Call::Needs::context);
  if (call.refused() != kSuccess) return call.refused();
  const bool fits = grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x > 0 && block_x <= kMostThreads && block_x % 32 == 0 && block_y == 1 && block_z == 1;
  if (!fits || arguments == nullptr) return kInvalidValue;
  State& s = call.state();
  ++s.launches;
  const Result result = function->run(s, arguments);
  // A kernel that touches what is not its own is found out later, and ends the context.
  call.gpu().broken = result;
  const bool copies = std::strcmp(function->name, "railgauge_copy") == 0;
  take_time(s, call.gpu(), stream, argument<Pointer>(arguments, copies ? 2 : 1));
  return kSuccess;
}
