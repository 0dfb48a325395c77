#include "host/rdma_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "host/parse.h"

namespace railgauge::host {
namespace {

constexpr int kMaxGids = 1024;        // rxe has the largest table known (verbs-facts 7.3)
constexpr int kMaxPkeys = 1024;
constexpr int kEmptyPkeysToStop = 8;  // each read may be a firmware command, and the tables are filled from the front

NumberedWord numbered_word(std::string_view text, const std::string* words, std::size_t count) {
  std::size_t colon = text.find(':');
  std::optional<std::int64_t> number = parse_integer(trim(text.substr(0, colon)));
  std::string_view said = colon == std::string_view::npos ? std::string_view() : trim(text.substr(colon + 1));
  if (!number) return {Fact<std::string>::missing(fmt::format("\"{}\" has no number", text)), std::nullopt};
  if (*number < 0 || static_cast<std::size_t>(*number) >= count)
    return {Fact<std::string>::missing(fmt::format("unknown number in \"{}\"", text)), std::nullopt};
  const std::string& meant = words[*number];
  std::optional<std::string> warning;
  if (!said.empty() && said != meant && said != "<unknown>")
    warning = fmt::format("reads \"{}\", but {} is {}; taken as {}", text, *number, meant, meant);
  return {Fact<std::string>::of(meant), warning};
}

std::optional<std::array<unsigned char, 16>> bytes_of_gid(std::string_view gid) {
  std::array<unsigned char, 16> bytes{};
  if (gid.size() != 39 || inet_pton(AF_INET6, std::string(gid).c_str(), bytes.data()) != 1) return std::nullopt;
  return bytes;
}

Fact<std::string> read_word(const Root& root, const std::string& path, const std::string& label, const char* what,
                            NumberedWord (*parse)(std::string_view), std::vector<std::string>& warnings) {
  Fact<std::string> text = root.text(path);
  if (!text) return text;
  NumberedWord parsed = parse(*text);
  if (parsed.warning) warnings.push_back(fmt::format("{}: {} {}", label, what, *parsed.warning));
  return parsed.word;
}

LinkLayer read_link_layer(const Root& root, const std::string& path) {
  Fact<std::string> text = root.text(path);
  if (text && *text == "InfiniBand") return LinkLayer::infiniband;
  if (text && *text == "Ethernet") return LinkLayer::ethernet;
  return LinkLayer::unknown;
}

void read_rate(const Root& root, const std::string& path, RdmaPort& port) {
  auto all_missing = [&port](const std::string& why) {
    port.rate_gbit_per_s = Fact<double>::missing(why);
    port.width = Fact<int>::missing(why);
    port.speed = Fact<std::string>::missing(why);
  };
  port.rate_text = root.text(path);
  // A port without a link prints a default (10 or 40 Gb/sec) that nobody trained.
  if (!port.physical_state || *port.physical_state != "LinkUp") {
    std::string state = port.physical_state ? *port.physical_state : port.physical_state.reason;
    port.rate_text = Fact<std::string>::missing(fmt::format("the physical state is not LinkUp ({})", state));
    return all_missing(port.rate_text.reason);
  }
  if (!port.rate_text) return all_missing(port.rate_text.reason);
  std::optional<PortRate> rate = parse_rate(*port.rate_text);
  if (!rate) return all_missing(fmt::format("\"{}\" is no rate", *port.rate_text));
  port.rate_gbit_per_s = Fact<double>::of(rate->gbit_per_s);
  port.width = rate->width ? Fact<int>::of(*rate->width) : Fact<int>::missing("not printed");
  port.speed = rate->speed ? Fact<std::string>::of(*rate->speed) : Fact<std::string>::missing("not printed");
}

Fact<int> read_lid(const Root& root, const std::string& path) {
  Fact<std::int64_t> lid = root.integer(path);
  return lid ? Fact<int>::of(static_cast<int>(*lid)) : Fact<int>::missing(lid.reason);
}

/// Type of a non-empty slot; nothing when the slot turns out to be none after all (EINVAL) or its type is not known.
std::optional<GidType> read_gid_type(const Root& root, const std::string& path, LinkLayer layer, std::string& complaint) {
  bool ethernet = layer == LinkLayer::ethernet;
  Fact<std::string> text = root.text(path);
  if (text && *text == "RoCE v2") return GidType::roce_v2;
  if (text && *text == "IB/RoCE v1") return ethernet ? GidType::roce_v1 : GidType::ib;
  if (!ethernet) return GidType::ib;
  complaint = text ? fmt::format("has the unknown type \"{}\"", *text) : fmt::format("has no readable type: {}", text.reason);
  return std::nullopt;
}

std::vector<Gid> read_gids(const Root& root, const std::string& directory, LinkLayer layer, const std::string& label,
                           std::vector<std::string>& warnings) {
  std::vector<Gid> gids;
  for (int index = 0; index < kMaxGids; ++index) {
    FileText file = root.read(fmt::format("{}/gids/{}", directory, index));
    if (!file.text && file.error == ENOENT) break;
    if (!file.text) continue;  // EINVAL and the like: an empty slot
    std::string gid(trim(*file.text));
    std::optional<std::string> ip = ip_of_gid(gid);
    if (!ip || is_empty_gid(gid)) continue;
    std::string complaint;
    std::optional<GidType> type =
        read_gid_type(root, fmt::format("{}/gid_attrs/types/{}", directory, index), layer, complaint);
    if (!type) {
      warnings.push_back(fmt::format("{}: GID index {} {}; left out", label, index, complaint));
      continue;
    }
    Fact<std::string> netdev = root.text(fmt::format("{}/gid_attrs/ndevs/{}", directory, index));
    gids.push_back({index, std::move(gid), *type, std::move(netdev.value), std::move(ip)});
  }
  return gids;
}

std::vector<int> read_pkeys(const Root& root, const std::string& directory) {
  std::vector<int> pkeys;
  int empty = 0;
  for (int index = 0; index < kMaxPkeys && empty < kEmptyPkeysToStop; ++index) {
    FileText file = root.read(fmt::format("{}/pkeys/{}", directory, index));
    if (!file.text && file.error == ENOENT) break;
    std::int64_t pkey = file.text ? parse_integer(trim(*file.text)).value_or(0) : 0;
    empty = pkey == 0 ? empty + 1 : 0;
    if (pkey != 0) pkeys.push_back(static_cast<int>(pkey));
  }
  return pkeys;
}

}  // namespace

std::optional<PortRate> parse_rate(std::string_view text) {
  constexpr std::string_view kUnit = " Gb/sec";
  PortRate rate;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate.gbit_per_s);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || rate.gbit_per_s <= 0 || rest.substr(0, kUnit.size()) != kUnit) return std::nullopt;
  rest.remove_prefix(kUnit.size());
  if (rest.size() < 4 || rest.substr(0, 2) != " (" || rest.back() != ')') return rate;
  rest = rest.substr(2, rest.size() - 3);  // "4X NDR", "1X"
  std::size_t x = rest.find('X');
  std::optional<std::int64_t> width = parse_integer(rest.substr(0, x));
  if (x == std::string_view::npos || !width || *width < 1 || *width > 12) return rate;
  rate.width = static_cast<int>(*width);
  std::string_view speed = trim(rest.substr(x + 1));
  if (!speed.empty()) rate.speed = std::string(speed);
  return rate;
}

NumberedWord parse_port_state(std::string_view text) {
  static const std::array<std::string, 6> kWords = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  return numbered_word(text, kWords.data(), kWords.size());
}

NumberedWord parse_physical_state(std::string_view text) {
  static const std::array<std::string, 8> kWords = {"<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining",
                                                    "LinkUp", "LinkErrorRecovery", "Phy Test"};
  return numbered_word(text, kWords.data(), kWords.size());
}

bool is_empty_gid(std::string_view gid) noexcept {
  std::string_view rest = gid.substr(0, 4) == "fe80" ? gid.substr(4) : gid;
  return rest.find_first_not_of("0:") == std::string_view::npos;
}

std::optional<std::string> ip_of_gid(std::string_view gid) {
  auto bytes = bytes_of_gid(gid);
  if (!bytes) return std::nullopt;
  std::array<char, INET6_ADDRSTRLEN> text{};
  bool mapped = gid.substr(0, 30) == "0000:0000:0000:0000:0000:ffff:";
  if (mapped)
    inet_ntop(AF_INET, bytes->data() + 12, text.data(), text.size());
  else
    inet_ntop(AF_INET6, bytes->data(), text.data(), text.size());
  return std::string(text.data());
}

RdmaPort read_rdma_port(const Root& root, const std::string& port_directory, const std::string& label,
                        std::vector<std::string>& warnings) {
  RdmaPort port;
  port.state = read_word(root, port_directory + "/state", label, "state", parse_port_state, warnings);
  port.physical_state = read_word(root, port_directory + "/phys_state", label, "phys_state", parse_physical_state, warnings);
  port.link_layer = read_link_layer(root, port_directory + "/link_layer");
  read_rate(root, port_directory + "/rate", port);
  port.active_mtu_bytes = Fact<int>::missing("only verbs knows it");
  port.max_mtu_bytes = Fact<int>::missing("only verbs knows it");
  port.lid = read_lid(root, port_directory + "/lid");
  port.sm_lid = read_lid(root, port_directory + "/sm_lid");
  port.gids = read_gids(root, port_directory, port.link_layer, label, warnings);
  port.pkeys = read_pkeys(root, port_directory);
  return port;
}

}  // namespace railgauge::host
