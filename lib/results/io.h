#pragma once
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/facts.h"
#include "stats/series.h"

namespace railgauge::results {

/// One JSON document being written or read, at one place in it. Each struct has one `describe(Io&, T&)` that serves both
/// ways, so that a key cannot be written and not read. A writing Io changes nothing in what is described.
/// Reading throws Error{data} that names the place and what was found.
class Io {
 public:
  virtual ~Io() = default;

  // The value at this place.
  virtual void boolean(bool& value) = 0;
  virtual void integer(std::int64_t& value, std::int64_t low, std::int64_t high) = 0;
  virtual void natural(std::uint64_t& value, std::uint64_t low, std::uint64_t high) = 0;
  virtual void number(double& value, double low, double high) = 0;
  virtual void text(std::string& value) = 0;
  /// Writing: null if `absent`, and says whether it was. Reading: says whether null stands here.
  virtual bool null(bool absent) = 0;
  virtual void open_object() = 0;
  /// The number of elements: as given when writing, as found when reading.
  virtual std::size_t open_array(std::size_t size) = 0;
  /// Reading: the keys of the object here. Writing: nothing.
  virtual std::vector<std::string> keys() = 0;

  /// Reading: whether the object here has that key. Writing: true.
  virtual bool has(const std::string& key) const = 0;

  // Other places; each is left with leave().
  virtual void enter(const std::string& key) = 0;
  virtual void enter(std::size_t index) = 0;
  virtual void leave() = 0;

  virtual bool reading() const noexcept = 0;
  /// Throws: `place`: expected `wanted`, found ….
  [[noreturn]] virtual void fail(const std::string& wanted) const = 0;

  /// One key of the object here. A key that may be null (std::optional, Fact, Value) may also be missing when reading, and
  /// is absent then: a record of an older minor version, which did not have it yet. Any other key has to be there.
  template <typename T, typename... Range>
  void field(const std::string& key, T& value, Range... range);
  /// A choice among words, all of them given.
  template <typename Enum>
  void word(const std::string& key, Enum& value, const std::vector<std::pair<Enum, std::string>>& words);
};


inline void transfer(Io& io, bool& value) { io.boolean(value); }
inline void transfer(Io& io, std::string& value) { io.text(value); }
inline void transfer(Io& io, double& value, double low = std::numeric_limits<double>::lowest(), double high = std::numeric_limits<double>::max()) {
  io.number(value, low, high);
}
inline void transfer(Io& io, std::uint64_t& value, std::uint64_t low = 0, std::uint64_t high = std::numeric_limits<std::uint64_t>::max()) {
  io.natural(value, low, high);
}
inline void transfer(Io& io, int& value, std::int64_t low = std::numeric_limits<int>::min(), std::int64_t high = std::numeric_limits<int>::max()) {
  std::int64_t wide = value;
  io.integer(wide, low, high);
  value = static_cast<int>(wide);
}
/// In nanoseconds; the key has to end in _ns. Not negative unless a range says so.
inline void transfer(Io& io, std::chrono::nanoseconds& value, std::int64_t low = 0, std::int64_t high = std::numeric_limits<std::int64_t>::max()) {
  std::int64_t count = value.count();
  io.integer(count, low, high);
  value = std::chrono::nanoseconds(count);
}

template <typename T, typename... Range>
void transfer(Io& io, std::optional<T>& value, Range... range);
template <typename T, typename... Range>
void transfer(Io& io, std::vector<T>& values, Range... range);
template <typename T>
void transfer(Io& io, std::map<std::string, T>& values);

/// Everything that has a `describe`.
template <typename T>
  requires requires(Io& io, T& value) { describe(io, value); }
void transfer(Io& io, T& value) {
  io.open_object();
  describe(io, value);
}

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// A quotient by zero or the like: not known, and JSON has no word for it.
template <typename T>
bool is_no_number(const std::optional<T>& value) {
  if constexpr (std::is_same_v<T, double>) return value && !std::isfinite(*value);
  return false;
}

template <typename T, typename... Range>
void transfer(Io& io, std::optional<T>& value, Range... range) {
  if (io.null(!value || is_no_number(value))) {
    value.reset();
    return;
  }
  if (io.reading()) value.emplace();
  transfer(io, *value, range...);
}

template <typename T, typename... Range>
void transfer(Io& io, std::vector<T>& values, Range... range) {
  std::size_t size = io.open_array(values.size());
  if (io.reading()) values = std::vector<T>(size);
  for (std::size_t i = 0; i < size; ++i) {
    io.enter(i);
    transfer(io, values[i], range...);
    io.leave();
  }
}

template <typename T>
void transfer(Io& io, std::map<std::string, T>& values) {
  io.open_object();
  if (io.reading()) values.clear();
  for (const std::string& key : io.keys()) values.emplace(key, T{});
  for (auto& [key, value] : values) io.field(key, value);
}

/// `"key": number`, or `"key": null, "key_reason": "why"`.
template <typename T, typename... Range>
void transfer_with_reason(Io& io, const std::string& key, std::optional<T>& value, std::string& reason, Range... range) {
  if (!io.has(key)) {
    value.reset();
    reason = "not in the document: it is older than this fact";
    return;
  }
  if (is_no_number(value)) reason = "not a finite number";
  io.enter(key);
  transfer(io, value, range...);
  io.leave();
  if (value) {
    reason.clear();
    return;
  }
  std::string why = reason.empty() ? "not given" : reason;
  io.field(key + "_reason", why);
  if (io.reading()) reason = std::move(why);
}

template <typename T, typename... Range>
void Io::field(const std::string& key, T& value, Range... range) {
  if constexpr (requires { transfer_with_reason(*this, key, value.value, value.reason, range...); }) {
    transfer_with_reason(*this, key, value.value, value.reason, range...);
  } else {
    if constexpr (is_optional<T>) {
      if (!has(key)) {
        value.reset();
        return;
      }
    }
    enter(key);
    transfer(*this, value, range...);
    leave();
  }
}

template <typename Enum>
void Io::word(const std::string& key, Enum& value, const std::vector<std::pair<Enum, std::string>>& words) {
  enter(key);
  std::string found;
  for (const auto& [candidate, name] : words)
    if (candidate == value) found = name;
  text(found);
  bool known = false;
  std::string wanted;
  for (const auto& [candidate, name] : words) {
    wanted += (wanted.empty() ? "\"" : ", \"") + name + "\"";
    if (name != found) continue;
    value = candidate;
    known = true;
  }
  if (!known) fail("one of " + wanted);
  leave();
}

/// Limits of a document, checked by a scan before anything is parsed.
struct TextLimits {
  std::size_t bytes;
  std::size_t values;  ///< commas outside strings: a bound on what parsing allocates (16 to 100 bytes a value)
  int depth = 32;
};
inline constexpr TextLimits kMessageLimits{16U << 20, 4'000'000};
inline constexpr TextLimits kFileLimits{256U << 20, 40'000'000};

enum class Layout { one_line, pretty };

/// The text of the object that `body` describes.
std::string write_document(const std::function<void(Io&)>& body, Layout layout);

/// Reads the object in `text`. `what` names the document in errors: "plan". Throws Error{data}.
void read_document(std::string_view text, std::string_view what, const TextLimits& limits, const std::function<void(Io&)>& body);

}  // namespace railgauge::results
