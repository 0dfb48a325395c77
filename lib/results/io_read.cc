#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/unique_keys.h"
#include "base/units.h"
#include "results/io.h"
#include "results/path.h"

namespace railgauge::results {
namespace {

using nlohmann::json;

std::string found_text(const json& value) {
  constexpr std::size_t kLongest = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return printable(text);
}

class Reader final : public Io {
 public:
  Reader(const json& root, std::string_view what) : places_{&root}, what_(what) {}

  void boolean(bool& value) override {
    if (!here().is_boolean()) fail("true or false");
    value = here().get<bool>();
  }
  void integer(std::int64_t& value, std::int64_t low, std::int64_t high) override {
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    bool fits = here().is_number_unsigned() ? here().get<std::uint64_t>() <= static_cast<std::uint64_t>(kMax) : here().is_number_integer();
    auto found = fits ? here().get<std::int64_t>() : 0;
    if (!fits || found < low || found > high)
      fail(high == kMax ? fmt::format("an integer ≥ {}", low) : fmt::format("an integer from {} to {}", low, high));
    value = found;
  }
  void natural(std::uint64_t& value, std::uint64_t low, std::uint64_t high) override {
    bool fits = here().is_number_unsigned();
    auto found = fits ? here().get<std::uint64_t>() : 0;
    if (!fits || found < low || found > high)
      fail(high == std::numeric_limits<std::uint64_t>::max() ? fmt::format("an integer ≥ {}", low)
                                                             : fmt::format("an integer from {} to {}", low, high));
    value = found;
  }
  void number(double& value, double low, double high) override {
    double found = here().is_number() ? here().get<double>() : std::nan("");
    if (!(std::isfinite(found) && found >= low && found <= high)) fail(low == 0 ? "a number ≥ 0" : "a number in its range");
    value = found;
  }
  void text(std::string& value) override {
    if (!here().is_string()) fail("a string");
    value = here().get<std::string>();
  }
  bool null(bool) override { return here().is_null(); }
  void open_object() override {
    if (!here().is_object()) fail("an object");
  }
  std::size_t open_array(std::size_t) override {
    if (!here().is_array()) fail("an array");
    return here().size();
  }
  std::vector<std::string> keys() override {
    std::vector<std::string> out;
    for (const auto& item : here().items()) out.push_back(item.key());
    return out;
  }
  bool has(const std::string& key) const override { return here().contains(key); }
  void enter(const std::string& key) override {
    path_.push(key);
    auto found = here().find(key);
    if (found == here().end()) throw Error(ErrorKind::data, fmt::format("{}: {} is missing", what_, path_.text()));
    places_.push_back(&*found);
  }
  void enter(std::size_t index) override {
    path_.push(index);
    places_.push_back(&here()[index]);
  }
  void leave() override {
    places_.pop_back();
    path_.pop();
  }
  bool reading() const noexcept override { return true; }
  [[noreturn]] void fail(const std::string& wanted) const override {
    throw Error(ErrorKind::data, fmt::format("{}: {}: expected {}, found {}", what_, path_.text(), wanted, found_text(*places_.back())));
  }

 private:
  const json& here() const { return *places_.back(); }
  std::vector<const json*> places_;
  Path path_;
  std::string what_;
};

/// Counts depth and values without parsing, so that a hostile document is refused before it costs memory.
void check_limits(std::string_view text, std::string_view what, const TextLimits& limits) {
  auto refuse = [&](const std::string& why) { throw Error(ErrorKind::data, fmt::format("{}: {}", what, why)); };
  if (text.size() > limits.bytes) refuse(fmt::format("{} bytes are more than the limit of {}", text.size(), format_size(limits.bytes)));
  int depth = 0;
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ',') ++values;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > limits.depth) refuse(fmt::format("nested deeper than {}", limits.depth));
    if (values > limits.values) refuse(fmt::format("more than {} values", limits.values));
  }
}

/// Throws json::exception if `text` is not JSON, Error{data} for a key that stands twice in one object.
json parse_unique(std::string_view text, std::string_view what) {
  UniqueKeys keys;
  return json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.open_object();
    if (event == json::parse_event_t::object_end) keys.close_object();
    if (event == json::parse_event_t::key && !keys.add(parsed.get<std::string>()))
      throw Error(ErrorKind::data, fmt::format("{}: the key {} stands twice in one object", what, found_text(parsed)));
    return true;
  });
}

}  // namespace

void read_document(std::string_view text, std::string_view what, const TextLimits& limits, const std::function<void(Io&)>& body) {
  check_limits(text, what, limits);
  try {
    json root = parse_unique(text, what);
    Reader reader(root, what);
    reader.open_object();
    body(reader);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::data, fmt::format("{}: not JSON: {}", what, printable(error.what())));
  }
}

}  // namespace railgauge::results
