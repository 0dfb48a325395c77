#include "control/job_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "control/checked_json.h"
#include "control/protocol.h"

namespace railgauge::control {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxName = 255;
constexpr std::int64_t kMaxPid = 1LL << 31;
constexpr std::int64_t kMaxBudgetMs = 24LL * 3600 * 1000;

json or_null(const std::optional<std::string>& text) { return text ? json(fitting_text(*text, kMaxName)) : json(nullptr); }

json object_of(const Member& member) {
  return {{"rank", member.rank},
          {"world", member.world},
          {"hostname", fitting_text(member.hostname, kMaxName)},
          {"boot_id", or_null(member.boot_id)},
          {"pid", member.pid},
          {"tool_version", fitting_text(member.tool_version, kMaxName)},
          {"nccl_version", or_null(member.nccl_version)},
          {"cuda_driver_version", or_null(member.cuda_driver_version)},
          {"gpu_pci_address", or_null(member.gpu_pci_address)},
          {"gpu_uuid", or_null(member.gpu_uuid)},
          {"launcher", fitting_text(member.launcher, kMaxName)},
          {"job", fitting_text(member.job, kMaxName)}};
}

Member member_from(const CheckedJson& object) {
  Member member;
  member.world = static_cast<int>(object.unsigned_number("world", 1, kMaxRanks));
  member.rank = static_cast<int>(object.unsigned_number("rank", 0, static_cast<std::uint64_t>(member.world) - 1));
  member.hostname = object.text("hostname", kMaxName);
  member.boot_id = object.text_or_null("boot_id", kMaxName);
  member.pid = object.signed_number("pid", 0, kMaxPid);
  member.tool_version = object.text("tool_version", kMaxName);
  member.nccl_version = object.text_or_null("nccl_version", kMaxName);
  member.cuda_driver_version = object.text_or_null("cuda_driver_version", kMaxName);
  member.gpu_pci_address = object.text_or_null("gpu_pci_address", kMaxName);
  member.gpu_uuid = object.text_or_null("gpu_uuid", kMaxName);
  member.launcher = object.text("launcher", kMaxName);
  member.job = object.text("job", kMaxName);
  return member;
}

/// This host's names may hold any bytes.
std::string dump(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

/// The caller's own texts are not altered: what does not fit is refused.
std::string dump_exact(const json& body, const std::string& what) {
  try {
    std::string text = body.dump();
    if (text.size() <= limits_of(MessageType::arrive).bytes) return text;
    throw Error(ErrorKind::usage, fmt::format("{}: {} bytes in JSON, at most {} fit", what, text.size(), limits_of(MessageType::arrive).bytes));
  } catch (const json::type_error&) {
    throw Error(ErrorKind::usage, fmt::format("{}: the text is not UTF-8", what));
  }
}

void refuse_long_text(const std::string& text, const std::string& what) {
  if (text.size() > kMaxTextBytes)
    throw Error(ErrorKind::usage, fmt::format("{}: a text of {} bytes, at most {} fit", what, text.size(), kMaxTextBytes));
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string bytes_of_hex(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    std::size_t high = kDigits.find(text[i]), low = i + 1 < text.size() ? kDigits.find(text[i + 1]) : std::string_view::npos;
    if (high == std::string_view::npos || low == std::string_view::npos)
      throw Error(ErrorKind::peer, "roster message: field \"blob\" is no hexadecimal text");
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

}  // namespace

std::string to_json(const Member& member) { return dump(object_of(member)); }
Member member_from_json(std::string_view body) { return member_from(CheckedJson::parse(body, "join message")); }

std::string to_json(const Roster& roster) {
  if (roster.blob.size() > kMaxBlobBytes)
    throw Error(ErrorKind::usage, fmt::format("roster: a blob of {} bytes, at most {} fit", roster.blob.size(), kMaxBlobBytes));
  json members = json::array();
  for (const Member& member : roster.members) members.push_back(object_of(member));
  return dump({{"members", members}, {"blob", hex(roster.blob)}});
}

Roster roster_from_json(std::string_view body) {
  auto object = CheckedJson::parse(body, "roster message");
  Roster roster;
  for (const CheckedJson& member : object.objects("members", kMaxRanks)) roster.members.push_back(member_from(member));
  roster.blob = bytes_of_hex(object.text("blob", 2 * kMaxBlobBytes));
  return roster;
}

std::string to_json(const Step& step) { return dump({{"text", fitting_text(step.text, kMaxStepBytes)}}); }
Step step_from_json(std::string_view body) { return {CheckedJson::parse(body, "step message").text("text", kMaxStepBytes)}; }

std::string to_json(const Arrival& arrival) {
  auto budget = std::clamp<std::int64_t>(arrival.budget.count(), 0, kMaxBudgetMs);
  if (arrival.name.size() > kMaxName)
    throw Error(ErrorKind::usage, fmt::format("{}: a name of {} bytes, at most {} fit", arrival.kind, arrival.name.size(), kMaxName));
  std::string what = fmt::format("{} \"{}\"", arrival.kind, arrival.name);
  refuse_long_text(arrival.text, what);
  return dump_exact({{"kind", arrival.kind}, {"name", arrival.name}, {"text", arrival.text}, {"budget_ms", budget}}, what);
}

Arrival arrival_from_json(std::string_view body) {
  auto object = CheckedJson::parse(body, "arrive message");
  Arrival arrival{object.text("kind", kMaxName), object.text("name", kMaxName), object.text("text", kMaxTextBytes)};
  arrival.budget = std::chrono::milliseconds(object.signed_number("budget_ms", 0, kMaxBudgetMs));
  return arrival;
}

std::string to_json(const Release& release) {
  refuse_long_text(release.text, "broadcast");
  return dump_exact({{"text", release.text}}, "broadcast");
}
Release release_from_json(std::string_view body) { return {CheckedJson::parse(body, "release message").text("text", kMaxTextBytes)}; }

}  // namespace railgauge::control
