#include "control/messages.h"

#include <array>
#include <climits>

#include <nlohmann/json.hpp>

#include "control/checked_json.h"

namespace railgauge::control {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxStage = 64;
constexpr std::size_t kMaxText = 4096;

/// Also when a system message or a name in it is not UTF-8.
std::string dump(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

constexpr std::array kKinds{ErrorKind::usage, ErrorKind::unsupported, ErrorKind::system, ErrorKind::verbs, ErrorKind::cuda,
                            ErrorKind::nccl,  ErrorKind::peer,        ErrorKind::timeout, ErrorKind::data};

}  // namespace

std::string to_json(const Failure& failure) {
  return dump({{"kind", name_of(failure.kind)},
               {"code", failure.code},
               {"stage", fitting_text(failure.stage, kMaxStage)},
               {"text", fitting_text(failure.text, kMaxText)}});
}

Failure failure_from_json(std::string_view body) {
  auto object = CheckedJson::parse(body, "failure message");
  std::string kind = object.text("kind", 32);
  Failure failure;
  // A kind that a newer minor version added is still a failure.
  for (ErrorKind known : kKinds) {
    if (kind == name_of(known)) failure.kind = known;
  }
  failure.code = static_cast<int>(object.signed_number("code", INT_MIN, INT_MAX));
  failure.stage = object.text("stage", kMaxStage);
  failure.text = object.text("text", kMaxText);
  return failure;
}

std::string to_json(const Done& done) {
  json rows = json::array();
  for (std::uint64_t n : done.completed) rows.push_back(json::array({n}));
  return dump({{"completed", rows}});
}

Done done_from_json(std::string_view body) {
  Done done;
  if (body.empty()) return done;
  constexpr std::uint64_t kMost = 1ULL << 53;  // exact in any reader of JSON; 285 years at a million a second
  for (const auto& row : CheckedJson::parse(body, "done message").rows("completed", kMaxOfferQps, {kMost})) done.completed.push_back(row[0]);
  return done;
}

std::string to_json(const Stop& stop) { return dump({{"reason", fitting_text(stop.reason, kMaxText)}}); }

Stop stop_from_json(std::string_view body) { return {CheckedJson::parse(body, "stop message").text("reason", kMaxText)}; }

std::string to_json(const Busy& busy) { return dump({{"text", fitting_text(busy.text, kMaxText)}}); }

Busy busy_from_json(std::string_view body) { return {CheckedJson::parse(body, "busy message").text("text", kMaxText)}; }

}  // namespace railgauge::control
