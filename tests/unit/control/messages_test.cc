#include "control/messages.h"

#include <nlohmann/json.hpp>

#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using nlohmann::json;
using transport::Offer;

Offer full_offer() {
  Offer offer;
  offer.device = "mlx5_3";
  offer.port = 2;
  offer.link_layer = "Ethernet";
  offer.transport = "InfiniBand";
  offer.lid = 49151;
  offer.gid_index = 3;
  offer.gid = "0000:0000:0000:0000:0000:ffff:0a00:0002";
  offer.gid_type = "RoCE v2";
  offer.gid_choice_reason = "the only RoCE v2 GID on the subnet of 10.0.0.1";
  offer.active_mtu_bytes = 4096;
  offer.max_responder_reads = 16;
  offer.rdma_cm_address = "10.0.0.2";
  offer.rdma_cm_port = 40123;
  offer.qps = {{0xabcdef, 0x123456, 0x7f12'3456'7000, 1u << 30, 0xfffffffe}, {17, 0xffffff, UINT64_MAX - 5, 5, 9}};
  offer.data_addresses = {"10.0.0.2", "fe80::1%eth0"};
  offer.data_port = 65535;
  for (std::size_t i = 0; i < offer.data_nonce.size(); ++i) offer.data_nonce[i] = static_cast<std::uint8_t>(0xf1 * (i + 1));
  offer.simulated = true;
  return offer;
}

/// What the reader says of the full offer with one field replaced (or, with a discarded value, taken away).
std::string refusal_with(const std::string& field, const json& value) {
  json body = json::parse(offer_to_json(full_offer()));
  if (value.is_discarded()) {
    body.erase(field);
  } else {
    body[field] = value;
  }
  Error error = thrown_by([&] { offer_from_json(body.dump()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer);
  return error.what();
}

TEST(DoneJson, ComesBackAsItWasAndAnEmptyBodyCountsNothing) {
  for (const Done& done : {Done{}, Done{{0}}, Done{{5000, 4999, 1ULL << 53}}}) EXPECT_EQ(done_from_json(to_json(done)), done);
  EXPECT_EQ(done_from_json(""), Done{});
  for (const char* bad : {R"({})", R"({"completed":7})", R"({"completed":[7]})", R"({"completed":[[-1]]})", R"({"completed":[[9007199254740993]]})"})
    EXPECT_EQ(thrown_by([&] { done_from_json(bad); }).kind(), ErrorKind::peer) << bad;
}

TEST(OfferJson, ComesBackAsItWas) {
  EXPECT_EQ(offer_from_json(offer_to_json(full_offer())), full_offer());
  EXPECT_EQ(offer_from_json(offer_to_json(Offer{})), Offer{});
}

TEST(OfferJson, EveryMissingFieldIsNamed) {
  json body = json::parse(offer_to_json(full_offer()));
  ASSERT_EQ(body.size(), 19u);  // one for each member of Offer
  for (const auto& [field, value] : body.items()) {
    EXPECT_THAT(refusal_with(field, json(json::value_t::discarded)), AllOf(HasSubstr("\"" + field + "\""), HasSubstr("missing")));
  }
}

TEST(OfferJson, EveryWrongTypeIsNamed) {
  json body = json::parse(offer_to_json(full_offer()));
  for (const auto& [field, value] : body.items()) {
    for (const json& wrong : {json(nullptr), json(1.5), json::object({{"a", 3}}), json("\x1b[2J"), json::array({json::array()}), json(-7), json(1e300)}) {
      if (wrong.is_null() && field == "gid_index") continue;  // none in use
      if (wrong.type() == value.type() && field != "data_nonce") continue;
      if (value.is_number() && wrong.is_number_integer() && wrong >= 0) continue;
      EXPECT_THAT(refusal_with(field, wrong), HasSubstr(field)) << wrong;
    }
  }
}

TEST(OfferJson, NumbersBeyondTheirRangeAreRefused) {
  EXPECT_THAT(refusal_with("port", 256), HasSubstr("wanted: a whole number from 0 to 255"));
  refusal_with("lid", 65536);
  refusal_with("gid_index", -1);
  refusal_with("gid_index", 65536);
  refusal_with("active_mtu_bytes", 65536);
  refusal_with("max_responder_reads", -1);
  refusal_with("rdma_cm_port", 65536);
  refusal_with("data_port", UINT64_MAX);
  refusal_with("qps", {{1u << 24, 0, 0, 0, 0}});
  refusal_with("qps", {{0, 1u << 24, 0, 0, 0}});
  refusal_with("qps", {{0, 0, 0, 0, 1ull << 32}});
  refusal_with("qps", {{0, 0, 0, 0}});
  refusal_with("qps", {{0, 0, 0, 0, 0, 0}});
  EXPECT_THAT(refusal_with("qps", {{3, 4, UINT64_MAX - 5, 6, 7}}), HasSubstr("wraps around"));
  refusal_with("device", std::string(257, 'm'));
  refusal_with("data_addresses", json(std::vector<std::string>(257, "10.0.0.2")));
  refusal_with("data_nonce", std::string(31, 'a'));
  refusal_with("data_nonce", std::string(32, 'G'));
}

TEST(OfferJson, ManyQpsFitOneFrame) {
  Offer offer;
  offer.qps.assign(kMaxOfferQps, {0xffffff, 0xffffff, UINT64_MAX / 2, UINT64_MAX / 2, 0xffffffff});
  std::string body = offer_to_json(offer);
  EXPECT_LE(body.size(), limits_of(MessageType::prepared).bytes);
  EXPECT_EQ(offer_from_json(body).qps.size(), kMaxOfferQps);
  offer.qps.push_back({});
  EXPECT_EQ(thrown_by([&] { offer_to_json(offer); }).kind(), ErrorKind::usage);
}

TEST(OfferJson, FieldsOfANewerMinorAreIgnored) {
  json body = json::parse(offer_to_json(full_offer()));
  body["ece"] = {{"vendor_id", 5555}};
  EXPECT_EQ(offer_from_json(body.dump()), full_offer());
}

TEST(Messages, ComeBackAsTheyWere) {
  Failure failure{ErrorKind::timeout, -110, "connect", "no completion within 3 s on \"QP\" 7\n"};
  EXPECT_EQ(failure_from_json(to_json(failure)), failure);
  EXPECT_EQ(stop_from_json(to_json(Stop{"Ctrl-C on höst"})), Stop{"Ctrl-C on höst"});
  EXPECT_EQ(busy_from_json(to_json(Busy{"busy with x for y, for about 7 s more"})), Busy{"busy with x for y, for about 7 s more"});
}

TEST(Messages, EveryErrorKindCrosses) {
  for (int i = 0; i <= static_cast<int>(ErrorKind::data); ++i) {
    Failure failure{static_cast<ErrorKind>(i), i, "run", "x"};
    EXPECT_EQ(failure_from_json(to_json(failure)).kind, failure.kind);
  }
  EXPECT_EQ(failure_from_json(R"({"kind":"quantum","code":3,"stage":"run","text":"t"})").kind, ErrorKind::system);
}

TEST(Messages, AFieldThatStandsTwiceIsRefused) {
  // RFC 8259 section 4: names within an object should be unique, what receivers do else is unpredictable. \u006f is o.
  for (const char* body : {R"({"reason":"a","reason":"b"})", R"({"reason":"a","reas\u006fn":"b"})", R"({"reason":"a","more":[{"x":1},{"x":1,"x":2}]})"})
    EXPECT_THAT(thrown_by([&] { stop_from_json(body); }).what(), HasSubstr("stands twice")) << body;
  EXPECT_EQ(stop_from_json(R"({"reason":"a","more":[{"x":1},{"x":2,"y":{"x":3}}]})").reason, "a");
}

TEST(Messages, WhatIsNotJsonOrNoObjectIsRefused) {
  for (const char* body : {"", " ", "null", "3", "[]", "{", "{\"reason\":\"x\"}}", "{'reason':'x'}", "\xff\xfe", "{\"reason\":\"\xc3\x28\"}"}) {
    EXPECT_EQ(thrown_by([&] { stop_from_json(body); }).kind(), ErrorKind::peer) << body;
  }
  EXPECT_THAT(thrown_by([] { stop_from_json(std::string(100'000, '[')); }).what(), HasSubstr("nested deeper than 16"));
}

TEST(Messages, LongOrIllFormedTextsAreCutToWhatThePeerTakes) {
  for (const std::string& text : {std::string(5000, 'x'), std::string(4096, '\xff'), std::string(4095, 'y') + "\xc3\xbc", std::string(4096, '"'), std::string(3000, '\n')}) {
    Failure back = failure_from_json(to_json(Failure{ErrorKind::system, 3, std::string(70, 's'), text}));
    EXPECT_LE(back.text.size(), 4096u);
    EXPECT_GE(back.text.size(), 1000u);
    EXPECT_LE(back.stage.size(), 64u);
  }
}

// The limit is on what the peer reads: quotes and escapes of JSON do not count.
TEST(Messages, WhatJustFitsIsNotCut) {
  for (const std::string& text : {std::string(4096, 'x'), std::string(4096, '"'), std::string(4094, 'y') + "\xc3\xbc"}) {
    EXPECT_EQ(stop_from_json(to_json(Stop{text})).reason, text);
  }
  EXPECT_EQ(stop_from_json(to_json(Stop{std::string(4097, 'x')})).reason, std::string(4093, 'x') + "…");
}

}  // namespace
}  // namespace railgauge::control
