#include "control/checked_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/unique_keys.h"
#include "control/frame.h"

namespace railgauge::control {

using nlohmann::json;

namespace {

/// What the peer will read.
std::size_t bytes_when_read(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get_ref<const std::string&>().size();
}

/// At most `bytes`, and not ended inside a character.
std::string beginning_of(const std::string& text, std::size_t bytes) {
  std::string out = text.substr(0, bytes);
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
  if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
  return out;
}

}  // namespace

std::string fitting_text(const std::string& text, std::size_t max_bytes) {
  constexpr std::string_view kEllipsis = "…";
  if (text.size() <= max_bytes && bytes_when_read(text) <= max_bytes) return text;
  std::size_t room = max_bytes - kEllipsis.size();
  std::string shorter = beginning_of(text, room);
  if (bytes_when_read(shorter) > room) shorter = beginning_of(text, room / 3);
  return shorter.append(kEllipsis);
}

struct CheckedJson::Impl {
  json object;
  std::string what;

  [[noreturn]] void refuse(const char* field, const std::string& found, const std::string& wanted) const {
    throw Error(ErrorKind::peer, fmt::format("{}: field \"{}\" is {}; wanted: {}", what, field, found, wanted));
  }
  /// Discarded if `text` is not JSON.
  static json parse_unique(std::string_view text, const std::string& what) {
    UniqueKeys keys;
    auto on_event = [&](int, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start) keys.open_object();
      if (event == json::parse_event_t::object_end) keys.close_object();
      if (event == json::parse_event_t::key && !keys.add(parsed.get<std::string>()))
        throw Error(ErrorKind::peer, fmt::format("{}: field {} stands twice in one object", what, shown(parsed)));
      return true;
    };
    return json::parse(text, on_event, false);
  }
  /// What was found, short and printable.
  static std::string shown(const json& value) {
    if (value.is_structured()) return value.type_name();
    std::string dumped = value.dump(-1, ' ', true, json::error_handler_t::replace);
    return dumped.size() <= 64 ? printable(dumped) : fmt::format("a {} of {} bytes", value.type_name(), dumped.size());
  }
  const json& at(const char* field, const std::string& wanted) const {
    auto found = object.find(field);
    if (found == object.end()) refuse(field, "missing", wanted);
    return *found;
  }
  std::uint64_t whole(const json& value, const char* field, std::uint64_t low, std::uint64_t high) const {
    if (!value.is_number_unsigned()) refuse(field, shown(value), fmt::format("a whole number from {} to {}", low, high));
    auto number = value.get<std::uint64_t>();
    if (number < low || number > high) refuse(field, shown(value), fmt::format("a whole number from {} to {}", low, high));
    return number;
  }
  std::string text(const json& value, const char* field, std::size_t max_bytes) const {
    std::string wanted = fmt::format("a text of at most {} bytes", max_bytes);
    if (!value.is_string()) refuse(field, shown(value), wanted);
    const auto& string = value.get_ref<const std::string&>();
    if (string.size() > max_bytes) refuse(field, shown(value), wanted);
    return string;
  }
  const json& array(const char* field, std::size_t max_count, const char* of) const {
    std::string wanted = fmt::format("an array of at most {} {}", max_count, of);
    const json& value = at(field, wanted);
    if (!value.is_array()) refuse(field, shown(value), wanted);
    if (value.size() > max_count) refuse(field, fmt::format("an array of {}", value.size()), wanted);
    return value;
  }
};

CheckedJson CheckedJson::parse(std::string_view text, std::string what) {
  // Bounded again here, so that no caller can forget it; a scan of a control message costs microseconds.
  try {
    check_json_shape(text, limits_of(MessageType::prepared));
  } catch (const Error& error) {
    throw Error(ErrorKind::peer, fmt::format("{} is {}", what, error.what()));
  }
  auto impl = std::make_unique<Impl>(Impl{Impl::parse_unique(text, what), what});
  if (impl->object.is_discarded()) throw Error(ErrorKind::peer, fmt::format("{} is not JSON", impl->what));
  if (!impl->object.is_object()) throw Error(ErrorKind::peer, fmt::format("{} is not a JSON object", impl->what));
  return CheckedJson(std::move(impl));
}

CheckedJson::CheckedJson(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckedJson::CheckedJson(CheckedJson&&) noexcept = default;
CheckedJson& CheckedJson::operator=(CheckedJson&&) noexcept = default;
CheckedJson::~CheckedJson() = default;

std::uint64_t CheckedJson::unsigned_number(const char* field, std::uint64_t low, std::uint64_t high) const {
  return impl_->whole(impl_->at(field, fmt::format("a whole number from {} to {}", low, high)), field, low, high);
}

std::int64_t CheckedJson::signed_number(const char* field, std::int64_t low, std::int64_t high) const {
  std::string wanted = fmt::format("a whole number from {} to {}", low, high);
  const json& value = impl_->at(field, wanted);
  // nlohmann stores what does not fit as another type (unsigned, float); get() would convert silently.
  if (!value.is_number_integer()) impl_->refuse(field, Impl::shown(value), wanted);
  bool too_big = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  if (too_big || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) impl_->refuse(field, Impl::shown(value), wanted);
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> CheckedJson::number_or_null(const char* field, std::int64_t low, std::int64_t high) const {
  if (impl_->at(field, fmt::format("null or a whole number from {} to {}", low, high)).is_null()) return std::nullopt;
  return signed_number(field, low, high);
}

bool CheckedJson::flag(const char* field) const {
  const json& value = impl_->at(field, "true or false");
  if (!value.is_boolean()) impl_->refuse(field, Impl::shown(value), "true or false");
  return value.get<bool>();
}

std::string CheckedJson::text(const char* field, std::size_t max_bytes) const {
  return impl_->text(impl_->at(field, fmt::format("a text of at most {} bytes", max_bytes)), field, max_bytes);
}

std::optional<std::string> CheckedJson::text_or_null(const char* field, std::size_t max_bytes) const {
  if (impl_->at(field, fmt::format("null or a text of at most {} bytes", max_bytes)).is_null()) return std::nullopt;
  return text(field, max_bytes);
}

std::vector<CheckedJson> CheckedJson::objects(const char* field, std::size_t max_count) const {
  std::vector<CheckedJson> out;
  for (const json& value : impl_->array(field, max_count, "objects")) {
    if (!value.is_object()) impl_->refuse(field, Impl::shown(value), "objects");
    out.push_back(CheckedJson(std::make_unique<Impl>(Impl{value, fmt::format("{}, {} {}", impl_->what, field, out.size())})));
  }
  return out;
}

std::vector<std::string> CheckedJson::texts(const char* field, std::size_t max_count, std::size_t max_bytes) const {
  std::vector<std::string> out;
  for (const json& value : impl_->array(field, max_count, "texts")) out.push_back(impl_->text(value, field, max_bytes));
  return out;
}

std::vector<std::vector<std::uint64_t>> CheckedJson::rows(const char* field, std::size_t max_rows,
                                                          const std::vector<std::uint64_t>& highs) const {
  std::vector<std::vector<std::uint64_t>> out;
  std::string wanted = fmt::format("rows of {} whole numbers", highs.size());
  for (const json& row : impl_->array(field, max_rows, "rows")) {
    if (!row.is_array() || row.size() != highs.size()) impl_->refuse(field, Impl::shown(row), wanted);
    auto& numbers = out.emplace_back();
    for (std::size_t i = 0; i < highs.size(); ++i) numbers.push_back(impl_->whole(row[i], field, 0, highs[i]));
  }
  return out;
}

}  // namespace railgauge::control
