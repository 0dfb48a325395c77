#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::control {

/// As much of a text as CheckedJson::text takes at the other end, which counts three bytes for one that is not UTF-8: whole
/// if it fits, else its beginning and "…". `max_bytes` at least 6. Internal to lib/control.
std::string fitting_text(const std::string& text, std::size_t max_bytes);

/// The one way by which a peer's JSON becomes values: each field is checked for presence, type, range and length, and what
/// does not fit is Error{peer} naming the message, the field, what was found and what is allowed. Internal to lib/control.
class CheckedJson {
 public:
  /// Parses an object. `what` names it in errors ("failure message"). check_json_shape has bounded the text before.
  static CheckedJson parse(std::string_view text, std::string what);
  CheckedJson(CheckedJson&&) noexcept;
  CheckedJson& operator=(CheckedJson&&) noexcept;
  ~CheckedJson();

  std::uint64_t unsigned_number(const char* field, std::uint64_t low, std::uint64_t high) const;
  std::int64_t signed_number(const char* field, std::int64_t low, std::int64_t high) const;
  /// Nothing where the field is null; a missing one is refused as any other.
  std::optional<std::int64_t> number_or_null(const char* field, std::int64_t low, std::int64_t high) const;
  bool flag(const char* field) const;
  /// A string of at most `max_bytes`.
  std::string text(const char* field, std::size_t max_bytes) const;
  /// Nothing where the field is null; a missing one is refused as any other.
  std::optional<std::string> text_or_null(const char* field, std::size_t max_bytes) const;
  /// An array of at most `max_count` objects, each named "<what>, <field> <index>" in errors.
  std::vector<CheckedJson> objects(const char* field, std::size_t max_count) const;
  /// An array of at most `max_count` such strings.
  std::vector<std::string> texts(const char* field, std::size_t max_count, std::size_t max_bytes) const;
  /// An array of at most `max_rows` arrays of exactly highs.size() whole numbers, each from 0 to its column's high.
  std::vector<std::vector<std::uint64_t>> rows(const char* field, std::size_t max_rows, const std::vector<std::uint64_t>& highs) const;

 private:
  struct Impl;
  explicit CheckedJson(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace railgauge::control
