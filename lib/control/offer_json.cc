#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "control/checked_json.h"
#include "control/messages.h"

namespace railgauge::control {
namespace {

using nlohmann::json;
using transport::Offer;
using transport::QpInfo;

// Names, GIDs and addresses are far shorter; a reason is a sentence.
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxReason = 1024;
// A host has that many addresses at most that are worth offering.
constexpr std::size_t kMaxAddresses = 256;
constexpr std::uint64_t k24Bits = (1u << 24) - 1;

std::string hex_of(const std::array<std::uint8_t, 16>& bytes) {
  std::string out;
  for (std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

std::array<std::uint8_t, 16> nonce_of(const std::string& text) {
  std::array<std::uint8_t, 16> bytes{};
  auto digit = [](char c) { return static_cast<int>(c >= 'a' ? c - 'a' + 10 : c - '0'); };
  bool fits = text.size() == 2 * bytes.size() &&
              std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!fits) throw Error(ErrorKind::peer, "offer: field \"data_nonce\" is not 32 lower-case hexadecimal digits");
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return bytes;
}

std::vector<QpInfo> qps_of(const CheckedJson& object) {
  // Rows, not objects: a thousand QPs are 40 KB instead of 100.
  auto rows = object.rows("qps", kMaxOfferQps, {k24Bits, k24Bits, UINT64_MAX, UINT64_MAX, UINT32_MAX});
  std::vector<QpInfo> qps;
  qps.reserve(rows.size());
  for (const auto& row : rows) {
    if (row[2] > UINT64_MAX - row[3]) throw Error(ErrorKind::peer, "offer: field \"qps\" has a memory range that wraps around");
    qps.push_back({.qp_number = static_cast<std::uint32_t>(row[0]),
                   .psn = static_cast<std::uint32_t>(row[1]),
                   .remote_address = row[2],
                   .remote_bytes = row[3],
                   .rkey = static_cast<std::uint32_t>(row[4])});
  }
  return qps;
}

}  // namespace

std::string offer_to_json(const Offer& offer) {
  if (offer.qps.size() > kMaxOfferQps) {
    throw Error(ErrorKind::usage, fmt::format("{} queue pairs are more than one offer can hold ({}): use fewer --qps or --threads",
                                              offer.qps.size(), kMaxOfferQps));
  }
  json qps = json::array();
  for (const QpInfo& qp : offer.qps) qps.push_back({qp.qp_number, qp.psn, qp.remote_address, qp.remote_bytes, qp.rkey});
  json body{{"device", offer.device},
            {"port", offer.port},
            {"link_layer", offer.link_layer},
            {"transport", offer.transport},
            {"lid", offer.lid},
            {"gid_index", offer.gid_index ? json(*offer.gid_index) : json(nullptr)},
            {"gid", offer.gid},
            {"gid_type", offer.gid_type},
            {"gid_choice_reason", offer.gid_choice_reason},
            {"active_mtu_bytes", offer.active_mtu_bytes},
            {"max_responder_reads", offer.max_responder_reads},
            {"rdma_cm_address", offer.rdma_cm_address},
            {"rdma_cm_port", offer.rdma_cm_port},
            {"qps", std::move(qps)},
            {"data_addresses", offer.data_addresses},
            {"data_port", offer.data_port},
            {"data_nonce", hex_of(offer.data_nonce)},
            {"simulated", offer.simulated},
            {"software", offer.software}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

Offer offer_from_json(std::string_view body) {
  auto object = CheckedJson::parse(body, "offer");
  auto number = [&](const char* field, int low, int high) { return static_cast<int>(object.signed_number(field, low, high)); };
  Offer offer;
  offer.device = object.text("device", kMaxName);
  offer.port = number("port", 0, 255);                    // verbs: uint8_t
  offer.link_layer = object.text("link_layer", kMaxName);
  offer.transport = object.text("transport", kMaxName);
  offer.lid = static_cast<std::uint16_t>(object.unsigned_number("lid", 0, UINT16_MAX));
  if (auto index = object.number_or_null("gid_index", 0, 65535)) offer.gid_index = static_cast<int>(*index);
  offer.gid = object.text("gid", kMaxName);
  offer.gid_type = object.text("gid_type", kMaxName);
  offer.gid_choice_reason = object.text("gid_choice_reason", kMaxReason);
  offer.active_mtu_bytes = number("active_mtu_bytes", 0, 65535);
  offer.max_responder_reads = number("max_responder_reads", 0, 65535);
  offer.rdma_cm_address = object.text("rdma_cm_address", kMaxName);
  offer.rdma_cm_port = number("rdma_cm_port", 0, 65535);
  offer.qps = qps_of(object);
  offer.data_addresses = object.texts("data_addresses", kMaxAddresses, kMaxName);
  offer.data_port = number("data_port", 0, 65535);
  offer.data_nonce = nonce_of(object.text("data_nonce", 64));
  offer.simulated = object.flag("simulated");
  offer.software = object.flag("software");
  return offer;
}

}  // namespace railgauge::control
