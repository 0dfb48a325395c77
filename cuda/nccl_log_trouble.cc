// Plugins, and what went wrong. Formats: NCCL src/plugin/, src/transport/net_ib/{p2p,common}.cc, src/misc/ibvwrap.cc, src/include/checks.h.
#include <initializer_list>

#include "cuda/nccl_log_lines.h"
#include "cuda/nccl_log_scan.h"

namespace railgauge::cuda {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What stands after the first of `keys` that occurs, up to one of `stops`; missing where it is empty.
std::optional<std::string> after(std::string_view text, std::initializer_list<std::string_view> keys, std::string_view stops) {
  for (const std::string_view key : keys) {
    Scanner scanner(text);
    if (!scanner.skip_past(key)) continue;
    scanner.skip_spaces();
    const std::string_view found = scanner.until(stops);
    if (!found.empty()) return std::string(found);
  }
  return std::nullopt;
}

template <typename Integer>
std::optional<Integer> number_in(const std::optional<std::string>& text) {
  return text ? Scanner(*text).integer<Integer>() : std::nullopt;
}

/// "Loaded net plugin NCCL RDMA Plugin v6 (v6)" → "NCCL RDMA Plugin v6"
std::optional<std::string> loaded_name(std::string_view text) {
  const std::initializer_list<std::string_view> before = {
      "Loaded net plugin ", "Loaded coll plugin ", "Loaded collnet plugin ", "Loaded gin plugin ", "P2P plugin ",
      "Plugin: Using ",     "Plugin: Loaded ",     "Successfully loaded external network plugin "};
  if (contains(text, "Using internal")) return std::nullopt;
  std::optional<std::string> name = after(text, before, "");
  if (!name) return std::nullopt;
  const std::size_t version = name->rfind(" (v");
  if (version != std::string::npos && name->ends_with(')')) name->erase(version);
  return name;
}

bool says_not_found(std::string_view text) {
  for (const std::string_view words : {"No plugin found", "Could not find", "cannot open shared object", "Plugin load", "is unsupported",
                                       "Failed to initialize NET plugin"})
    if (contains(text, words)) return true;
  return false;
}

bool is_completion(std::string_view text) { return contains(text, "Got completion ") || contains(text, "Got CQE with error"); }

bool has_vendor_error(std::string_view text) { return contains(text, "vendor err ") || contains(text, "vendor_err="); }

}  // namespace

bool read_plugin(NcclLog& log, const Origin& origin) {
  const std::string_view text = origin.text;
  Scanner scanner(text);
  std::string kind(scanner.until("/ "));
  const bool named = (scanner.take("/Plugin:") || scanner.take("/Plugin :")) && !kind.empty();
  const bool external = text.starts_with("Successfully loaded external ") || (text.starts_with("External ") && text.ends_with("is unsupported"));
  const bool net = text.starts_with("P2P plugin ") || text.starts_with("Plugin Path :") || text.starts_with("Plugin version :") ||
                   text.starts_with("Initialized NET plugin ") || text.starts_with("Failed to initialize NET plugin ") || external;
  if (!named && !net) return false;
  PluginLine line{origin, named ? kind : "NET", PluginNews::other, loaded_name(text)};
  if (external && !contains(text, "network")) line.kind = contains(text, "tuner") ? "TUNER" : "OTHER";
  if (line.name) line.news = PluginNews::loaded;
  else if (says_not_found(text)) line.news = PluginNews::not_found;
  log.plugins.push_back(std::move(line));
  return true;
}

bool read_completion(NcclLog& log, const Origin& origin) {
  const std::string_view text = origin.text;
  if (!is_completion(text)) return false;
  // "with error 12," up to 2.19; "status=12 " up to 2.27; "status=IBV_WC_RETRY_EXC_ERR(12)" since.
  const auto status = after(text, {"status=", "with error "}, " ,");
  FailedCompletion found;
  found.origin = origin;
  const std::size_t open = status ? status->find('(') : std::string::npos;
  const auto number = number_in<int>(open == std::string::npos ? status : std::optional(status->substr(open + 1)));
  if (!number) return false;
  found.status = *number;
  if (open != std::string::npos && open > 0) found.status_name = status->substr(0, open);
  const auto vendor = after(text, {"vendor err ", "vendor_err="}, " (");
  found.vendor_err = number_in<std::uint32_t>(vendor);
  found.side = after(text, {"req_type="}, " ");
  if (!found.side && vendor) found.side = after(text, {*vendor + " ("}, ") ");
  found.peer = after(text, {"from peer "}, "< ");
  found.local_gid = after(text, {"localGid "}, " ");
  found.remote_gid = after(text, {"remoteGids", "remoteGid "}, " ");
  found.hca = after(text, {" hca "}, " ");
  log.completions.push_back(std::move(found));
  return true;
}

bool read_async_event(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.take("NET/IB : ")) return false;
  AsyncEvent event;
  event.origin = origin;
  event.device = std::string(scanner.until(": "));
  const auto port = scanner.take(":") ? scanner.integer() : std::nullopt;
  if (!port || !scanner.take(" ")) return false;
  event.port = *port;
  if (scanner.take("async fatal event")) event.fatal = true;
  else if (!scanner.take("Got async event") && !scanner.take("Got non-fatal async event") && !scanner.rest().starts_with("GID table changed"))
    return false;
  // "async fatal event on QP (0x…): local access violation work queue error"
  if (!scanner.rest().starts_with("GID")) {
    if (!scanner.skip_past(":")) return false;
    scanner.skip_spaces();
  }
  event.event = std::string(scanner.rest());
  log.async_events.push_back(std::move(event));
  return true;
}

bool read_failed_call(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.skip_past("Call to ")) return false;
  FailedCall call{origin, std::string(scanner.until(" ")), std::nullopt, std::nullopt};
  if (call.call.empty() || !scanner.take(" failed")) return false;
  if (scanner.take(" with ")) {
    scanner.take("error ");
    call.error = scanner.integer();
    scanner.skip_spaces();
    std::string_view text = scanner.until(",");
    if (const std::size_t at = text.rfind(" errno "); at != std::string_view::npos) {
      call.error = whole_number(text.substr(at + 7));
      text = text.substr(0, at);
    }
    if (!text.empty()) call.error_text = std::string(text);
  }
  log.failed_calls.push_back(std::move(call));
  return true;
}

bool read_trace(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  const std::string file(scanner.until(": "));
  const auto line = scanner.take(":") ? scanner.integer() : std::nullopt;
  const auto result = scanner.take(" -> ") ? scanner.integer() : std::nullopt;
  if (file.find('.') == std::string::npos || !line || !result) return false;
  log.traces.push_back({origin, file, *line, *result});
  return true;
}

bool read_hint(NcclLog& log, const Origin& origin) {
  if (!contains(origin.text, "HINT")) return false;
  log.hints.push_back(origin);
  return true;
}

bool is_continued_by(const std::string& text, const std::string& next) {
  if (is_completion(text)) return !has_vendor_error(text);
  return contains(text, " via ") && (next.starts_with("/GDRDMA") || next.starts_with("/Shared"));
}

}  // namespace railgauge::cuda
