#pragma once
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

namespace railgauge::cuda {

/// Walks along one line. Each taker consumes what it names, or nothing and says so.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_(text) {}

  std::string_view rest() const noexcept { return rest_; }
  bool done() const noexcept { return rest_.empty(); }

  void skip_spaces() noexcept { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  bool take(std::string_view literal) noexcept {
    if (rest_.substr(0, literal.size()) != literal) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }

  /// Everything up to and with the next `literal`.
  bool skip_past(std::string_view literal) noexcept {
    const std::size_t at = rest_.find(literal);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + literal.size());
    return true;
  }

  /// Up to the next of the characters `stops`, which stays, or to the end.
  std::string_view until(std::string_view stops) noexcept {
    const std::string_view taken = rest_.substr(0, rest_.find_first_of(stops));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  /// Decimal digits, with a sign where Integer has one; nothing for what does not fit.
  template <typename Integer = int>
  std::optional<Integer> integer() noexcept {
    Integer value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  /// A finite decimal fraction.
  std::optional<double> fraction() noexcept {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

 private:
  std::string_view rest_;
};

/// A whole number and nothing else.
template <typename Integer = int>
std::optional<Integer> whole_number(std::string_view text) noexcept {
  Scanner scanner(text);
  const std::optional<Integer> value = scanner.integer<Integer>();
  return scanner.done() ? value : std::nullopt;
}

}  // namespace railgauge::cuda
