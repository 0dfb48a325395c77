#include "bench/strict_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/error.h"

namespace railgauge::bench {
namespace {

template <typename T>
bool is_all_of(const std::string& text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// CLI11 takes a leading 0 for octal.
bool is_decimal(const std::string& text) {
  auto digits = text.find_first_not_of('-');
  return digits != std::string::npos && (text[digits] != '0' || digits + 1 == text.size());
}

bool is_whole(const std::string& text) {
  auto digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
  return is_decimal(text) && digits.find_first_not_of("0123456789") == std::string::npos;
}

/// What is wrong with `text` as a value of an option of CLI11's type `type`; empty: nothing.
std::string wrong_with(const std::string& type, const std::string& text) {
  if (type == "INT" && is_whole(text) && !is_all_of<std::int32_t>(text)) return fmt::format("{} is out of range: use a smaller number", text);
  if (type == "UINT" && is_whole(text) && text[0] != '-' && !is_all_of<std::uint64_t>(text))
    return fmt::format("{} is out of range: use a smaller number", text);
  if (type == "INT" && !(is_decimal(text) && is_all_of<std::int32_t>(text))) return fmt::format("\"{}\" is not a whole number", text);
  if (type == "UINT" && !(is_decimal(text) && is_all_of<std::uint64_t>(text))) return fmt::format("\"{}\" is not a whole number of 0 or more", text);
  double value = 0;
  if (type == "FLOAT" && !(CLI::detail::lexical_cast(text, value) && std::isfinite(value))) return fmt::format("\"{}\" is not a number", text);
  return {};
}

}  // namespace

void make_numbers_strict(CLI::App& app) {
  for (auto* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (auto* option : command->get_options()) {
      std::string type = option->get_type_name();
      type.resize(std::min(type.find(':'), type.size()));  // "INT:INT in [2 - 1024]" where a validator describes itself
      if (type == "INT" || type == "UINT" || type == "FLOAT") option->check([type](const std::string& text) { return wrong_with(type, text); });
    }
  }
}

void refuse_empty_arguments(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    bool bare = argument.rfind("--", 0) == 0 && argument.find('=') == argument.size() - 1;
    if (!argument.empty() && !bare) continue;
    std::string where = bare ? argument.substr(0, argument.size() - 1) : i > 0 ? arguments[i - 1] : "railgauge";
    throw Error(ErrorKind::usage, fmt::format("an empty value after {}: give one, or leave the option out (an unset variable of the shell?)", where));
  }
}

}  // namespace railgauge::bench
