#include "bench/rates_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/path_mtu.h"
#include "base/units.h"
#include "rates/expect.h"
#include "rates/overview.h"
#include "results/rates_json.h"

namespace railgauge::bench {
namespace {

using rates::LinkQuestion;

constexpr int kUsualWidth = 4;
constexpr int kUsualPathMtu = 4096;
constexpr int kUsualTcpMtu = 1500;
constexpr std::uint64_t kUsualSize = 65536;  // as `railgauge check` and perftest measure bandwidth

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, what); }

void refuse_with(bool given, const char* option, const char* why) {
  if (given) refuse(fmt::format("{}: {}", option, why));
}

/// "100g", "100G" or "100" → Gbit/s of an Ethernet link.
double ethernet_rate(const std::string& text) {
  try {
    return parse_rate_gbit_per_s(text);
  } catch (const Error&) {
    refuse(fmt::format(
        "--link: \"{}\" is neither an InfiniBand speed (sdr ddr qdr fdr10 fdr edr hdr ndr xdr) nor an Ethernet rate such as 100g", text));
  }
}

std::string transport_of(const RatesOptions& options, bool lanes) {
  const std::string transport = options.transport.empty() ? (lanes ? "ib" : "roce2") : options.transport;
  if (transport == "ib" && !lanes) refuse("--transport ib: InfiniBand links are named by speed and width, such as --link ndr --width 4");
  return transport;
}

/// Rate and name of the link. Lanes carry their data rate on InfiniBand, and their nominal rate under Ethernet, which
/// borrows the names.
void fill_link(LinkQuestion& question, const RatesOptions& options, std::optional<LaneSpeed> lane, const std::string& transport) {
  if (!lane) {
    refuse_with(options.width.has_value(), "--width", "belongs to an InfiniBand speed; an Ethernet rate is that of the whole link");
    question.data_gbit_per_s = ethernet_rate(options.link);
    question.link_name = fmt::format("{:g}G Ethernet", question.data_gbit_per_s);
    return;
  }
  const int width = options.width.value_or(kUsualWidth);
  if (!rates::is_width(width)) refuse(fmt::format("--width: {} is not 1, 2, 4, 8 or 12", width));
  const LaneFacts& facts = rates::lane_facts(*lane);
  const bool infiniband = transport == "ib";
  question.data_gbit_per_s = infiniband ? rates::infiniband_data_gbit_per_s(*lane, width) : facts.nominal_gbit_per_s * width;
  question.link_name = fmt::format("{}X {}", width, facts.name) + (infiniband ? "" : " (Ethernet)");
}

void fill_tcp(LinkQuestion& question, const RatesOptions& options) {
  refuse_with(!options.operation.empty(), "--op", "TCP has no operations");
  refuse_with(!options.size.empty(), "--size", "TCP packs messages into full frames");
  refuse_with(options.grh, "--grh", "belongs to --transport ib");
  rates::TcpFormat format{options.mtu.value_or(kUsualTcpMtu), options.ip == 6, options.vlan};
  if (format.mtu_bytes < 576 || format.mtu_bytes > 65536) refuse(fmt::format("--mtu: {} is not an interface MTU (576 to 65536)", format.mtu_bytes));
  question.tcp = format;
}

void fill_rdma(LinkQuestion& question, const RatesOptions& options, const std::string& transport) {
  rates::Message message;
  message.path_mtu_bytes = options.mtu.value_or(kUsualPathMtu);
  if (!is_path_mtu(message.path_mtu_bytes))
    refuse(fmt::format("--mtu: {} is not a path MTU ({})", message.path_mtu_bytes, kPathMtuWords));
  const auto operation = rates::rdma_operation_from(options.operation.empty() ? "write" : options.operation);
  if (!operation) refuse(fmt::format("--op: \"{}\" is not write, write_imm, read, send, fetch_add or compare_swap", options.operation));
  message.operation = *operation;
  const bool atomic = *operation == rates::RdmaOperation::atomic;
  message.bytes = options.size.empty() ? (atomic ? 8 : kUsualSize) : parse_size(options.size, "--size");
  if (message.bytes == 0 || message.bytes > (1ULL << 31)) refuse(fmt::format("--size: {} is not from 1 to 2G", options.size));
  if (atomic && message.bytes != 8) refuse("--size: an atomic operation moves 8 bytes");
  if (transport == "ib") {
    refuse_with(options.ip.has_value(), "--ip", "InfiniBand packets have no IP header");
    refuse_with(options.vlan, "--vlan", "InfiniBand packets have no VLAN tag");
    message.format = {rates::Wire::infiniband, options.grh, false, false};
  } else {
    refuse_with(options.grh, "--grh", "belongs to --transport ib (RoCE v1 always has one, v2 has an IP header)");
    const bool v1 = transport == "roce1";
    refuse_with(v1 && options.ip.has_value(), "--ip", "RoCE v1 has no IP header");
    message.format = {v1 ? rates::Wire::roce_v1 : rates::Wire::roce_v2, false, options.ip == 6, options.vlan};
  }
  question.rdma = message;
}

void fill_pcie(LinkQuestion& question, const RatesOptions& options) {
  refuse_with(options.pcie.empty() && options.max_payload.has_value(), "--max-payload", "belongs to --pcie");
  if (options.pcie.empty()) return;
  question.pcie = rates::pcie_link_from(options.pcie);
  if (!question.pcie) refuse(fmt::format("--pcie: \"{}\" is not a link such as gen4x16 (gen1 to gen6, x1 to x32)", options.pcie));
  const int payload = options.max_payload.value_or(question.pcie->max_payload_bytes);
  if (payload != 128 && payload != 256 && payload != 512 && payload != 1024 && payload != 2048 && payload != 4096)
    refuse(fmt::format("--max-payload: {} is not 128, 256, 512, 1024, 2048 or 4096", payload));
  question.pcie->max_payload_bytes = payload;
}

LinkQuestion question_of(const RatesOptions& options) {
  LinkQuestion question;
  const auto lane = rates::lane_speed_from(options.link);
  const std::string transport = transport_of(options, lane.has_value());
  fill_link(question, options, lane, transport);
  if (options.ip && *options.ip != 4 && *options.ip != 6) refuse(fmt::format("--ip: {} is not 4 or 6", *options.ip));
  if (transport == "tcp") fill_tcp(question, options);
  else if (transport == "ib" || transport == "roce1" || transport == "roce2") fill_rdma(question, options, transport);
  else refuse(fmt::format("--transport: \"{}\" is not ib, roce1, roce2 or tcp", transport));
  fill_pcie(question, options);
  return question;
}

bool is_overview(const RatesOptions& o) {
  const bool other = o.width || o.mtu || o.ip || o.vlan || o.grh || o.max_payload || !o.transport.empty() || !o.operation.empty() ||
                     !o.size.empty() || !o.pcie.empty();
  if (o.link.empty() && other) refuse("--link is missing: these options describe one link, such as --link ndr or --link 100g");
  return o.link.empty();
}

std::string what_of(const LinkQuestion& question) {
  if (question.tcp)
    return fmt::format("TCP over IPv{}, MTU {}{}", question.tcp->ipv6 ? 6 : 4, question.tcp->mtu_bytes, question.tcp->vlan ? ", VLAN" : "");
  const rates::Message& message = *question.rdma;
  return fmt::format("{} {} of {}, path MTU {}", name_of(message.format.wire), name_of(message.operation), format_size(message.bytes),
                     message.path_mtu_bytes);
}

std::string terms_text(const LinkQuestion& question, const rates::Expectation& expectation) {
  std::string out = fmt::format("{}, {}\n\n", question.link_name, what_of(question));
  for (std::size_t i = 0; i < expectation.terms.size(); ++i) {
    const rates::Term& term = expectation.terms[i];
    const char* mark = expectation.limiting == i ? "  limit" : term.informational ? "  (if)" : "";
    out += fmt::format("  {:<44} {:>10.4f} Gbit/s{}\n      = {}\n      {}\n", term.name, term.gbit_per_s, mark, term.formula, term.source);
  }
  const rates::Term& limit = expectation.terms[*expectation.limiting];
  out += fmt::format("\nExpect {:.2f} Gbit/s ({:.3f} GB/s) of payload in each direction:\nlimited by {}\n", limit.gbit_per_s,
                     limit.gbit_per_s / 8, limit.name);
  if (expectation.wire_limit_only) out += "Wire limit only: messages this small are usually limited by message rate.\n";
  return out;
}

std::string table_text(const rates::OverviewTable& table) {
  std::string out = fmt::format("{}\n  {:<12}{:>10}", table.title, "link", "before");
  for (const auto& [column, value] : table.rows.front().goodput) out += fmt::format("{:>10}", column);
  out += '\n';
  for (const rates::OverviewRow& row : table.rows) {
    out += fmt::format("  {:<12}{:>10.2f}", row.link, row.data_gbit_per_s);
    for (const auto& [column, value] : row.goodput) out += fmt::format("{:>10.2f}", value);
    out += '\n';
  }
  return out + '\n';
}

std::string overview_text() {
  std::string out =
      "Payload that a link can carry in one direction, by the headers around it.\n"
      "\"before\" is the rate before packet headers; --link shows one with its terms.\n\n";
  for (const rates::OverviewTable& table : rates::overview()) out += table_text(table);
  return out;
}

}  // namespace

std::string rates_text(const RatesOptions& options) {
  const bool json = options.format == "json";
  if (!json && options.format != "text") refuse(fmt::format("--format: \"{}\" is not text or json", options.format));
  if (is_overview(options)) return json ? results::overview_json(rates::overview()) : overview_text();
  const LinkQuestion question = question_of(options);
  const rates::Expectation expectation = rates::expect_link(question);
  return json ? results::rates_json(expectation, question.link_name, what_of(question)) : terms_text(question, expectation);
}

int run_rates(const RatesOptions& options) {
  const std::string text = rates_text(options);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(ErrorKind::system, "cannot write to stdout");
  return static_cast<int>(ExitCode::met);
}

void add_rates_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RatesOptions>();
  auto* c = app.add_subcommand("rates", "What a link can carry, from first principles (no measurement)");
  c->add_option("--link", options->link, "sdr ddr qdr fdr10 fdr edr hdr ndr xdr, or\nEthernet 10g to 800g; without it: all");
  c->add_option("--width", options->width, "lanes: 1, 2, 4, 8, 12 (default 4)");
  c->add_option("--mtu", options->mtu, "RDMA: path MTU, 256 to 4096 (default 4096);\nTCP: interface MTU (default 1500)");
  c->add_option("--transport", options->transport, "ib, roce1, roce2, tcp (default by link)");
  c->add_option("--ip", options->ip, "4 or 6 (default 4)");
  c->add_flag("--vlan", options->vlan, "one 802.1Q tag");
  c->add_flag("--grh", options->grh, "InfiniBand: a global route header");
  c->add_option("--op", options->operation, "write, write_imm, read, send, fetch_add,\ncompare_swap (default write)");
  c->add_option("--size", options->size, "message size: 64, 4K, 1M (default 64K)");
  c->add_option("--pcie", options->pcie, "the NIC's PCIe link: gen4x16");
  c->add_option("--max-payload", options->max_payload, "PCIe MaxPayload in bytes (default 256)");
  c->add_option("--format", options->format, "text or json")->capture_default_str();
  c->footer(
      "Examples:\n"
      "  railgauge rates                                      every link and MTU\n"
      "  railgauge rates --link ndr --width 4 --pcie gen4x16  PCIe limits, not the port\n"
      "  railgauge rates --link 100g --mtu 1024 --op read     RoCE v2 at a small MTU\n"
      "  railgauge rates --link 25g --transport tcp --mtu 9000 --format json\n");
  c->callback([options, &exit_code] { exit_code = run_rates(*options); });
}

}  // namespace railgauge::bench
