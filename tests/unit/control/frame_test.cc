#include "control/frame.h"

#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::HasSubstr;

Key client_key() { return fixed_session(Role::client).keys.client_to_server; }
Key server_key() { return fixed_session(Role::client).keys.server_to_client; }

/// What a reader makes of `bytes`: the messages it gives, or throws.
std::vector<Message> read_all(FrameReader& reader, std::string_view bytes) {
  reader.append(bytes_of(bytes));
  std::vector<Message> out;
  while (auto message = reader.next()) out.push_back(std::move(*message));
  return out;
}
std::string refusal_of(std::string_view bytes, const Key& key = client_key()) {
  FrameReader reader(key);
  return thrown_by([&] { read_all(reader, bytes); }).what();
}

// Expected values from Python's hashlib.blake2b(key=…, digest_size=32), with the labels and layout of keys.cc and frame.h.
TEST(Keys, AreKeyedBlake2b) {
  Key key = key_from_token("k7qd-2m9x-0v4t");
  auto transcript = fixed_transcript();
  EXPECT_EQ(hex(key.bytes()), "18b7f2e31728eaf1640e624a34669960d383166a45cac429a84a817e294589ac");
  EXPECT_EQ(hex(key_from_token("").bytes()), "fd0b2dcc89f95e906772912eeeeb4fa68aa6b77c024ed645d61b9f389b2f54a3");
  EXPECT_EQ(hex(proof_of(Role::client, key, transcript)), "87effe8125f6ba5cef49ab22e66ab0f1ede92ffd673c838f3787bbb3edb16183");
  EXPECT_EQ(hex(proof_of(Role::server, key, transcript)), "82e47ac9dad26968cb36885abe6c95706e643d2ed8a4a061653e8eb80f0d0729");
  EXPECT_EQ(hex(session_keys(key, transcript).client_to_server.bytes()), "a474919ceca84fbc6683f36cda4419909eb855f3b21256455bdb09ba7dc80bde");
  EXPECT_EQ(hex(session_keys(key, transcript).server_to_client.bytes()), "1541fe0914d78831b6981ef3a2c0d6892c5ab5f00d1151ae1ef986922803eac9");
}

TEST(Frame, HasTheDocumentedBytes) {
  FrameWriter writer(session_keys(key_from_token("k7qd-2m9x-0v4t"), fixed_transcript()).client_to_server);
  std::string first = writer.seal(MessageType::stop, R"({"reason":"Ctrl-C"})");
  EXPECT_EQ(hex(bytes_of(first)),
            "52474631" "00000013" "0c" "000000" "0000000000000000" "7b22726561736f6e223a224374726c2d43227d"
            "ef6354ccb438778396b2b15b676f5795442ac6ecec100b266209dddd50da50c8");
  std::string second = writer.seal(MessageType::stop, R"({"reason":"Ctrl-C"})");
  EXPECT_EQ(hex(bytes_of(second)).substr(78), "972481fd037bd6c4c059814cea7e6b041a026418a4c392bf508177397025cd7e");
}

TEST(Frame, ArrivesWholeHoweverItIsCut) {
  FrameWriter writer(client_key());
  std::vector<Message> wanted{{MessageType::prepare, R"({"qps":3})"}, {MessageType::start, ""}, {MessageType::result, std::string(70'001, '7')}};
  std::string bytes;
  for (const Message& message : wanted) bytes += writer.seal(message.type, message.body);
  for (std::size_t piece : {std::size_t{1}, std::size_t{19}, std::size_t{61}, std::size_t{4096}, bytes.size()}) {
    FrameReader reader(client_key());
    std::vector<Message> got;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      for (auto& message : read_all(reader, std::string_view(bytes).substr(at, piece))) got.push_back(std::move(message));
    }
    EXPECT_EQ(got, wanted) << "pieces of " << piece;
    EXPECT_FALSE(reader.in_the_middle());
  }
}

TEST(Frame, EveryFlippedBitIsRefused) {
  FrameWriter writer(client_key());
  const std::string good = writer.seal(MessageType::stop, R"({"reason":"x"})");
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    FrameReader reader(client_key());
    std::vector<Message> got;
    try {
      got = read_all(reader, bad + std::string(70'000, '\0'));  // enough for whatever length the flipped bit announces
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::peer);
    }
    EXPECT_TRUE(got.empty()) << "bit " << bit;
  }
}

TEST(Frame, TruncatedAnywhereIsNoMessage) {
  FrameWriter writer(client_key());
  const std::string good = writer.seal(MessageType::stop, R"({"reason":"x"})");
  for (std::size_t length = 0; length < good.size(); ++length) {
    FrameReader reader(client_key());
    EXPECT_TRUE(read_all(reader, std::string_view(good).substr(0, length)).empty()) << length;
    EXPECT_EQ(reader.in_the_middle(), length > 0);
  }
}

TEST(Frame, ReplayReorderAndReflectionAreRefused) {
  FrameWriter writer(client_key());
  std::string first = writer.seal(MessageType::start, {});
  std::string second = writer.seal(MessageType::done, {});
  EXPECT_THAT(refusal_of(first + first), HasSubstr("sent frame 0 where 1 was due"));
  EXPECT_THAT(refusal_of(second + first), HasSubstr("sent frame 1 where 0 was due"));
  EXPECT_THAT(refusal_of(first, server_key()), HasSubstr("seal does not fit"));
  // The sequence number altered to the one that is due: then the seal does not fit.
  second[19] = '\0';
  EXPECT_THAT(refusal_of(second), HasSubstr("seal does not fit"));
}

TEST(Frame, AnnouncedLengthIsCheckedBeforeAnythingElseArrives) {
  auto header = [](std::uint8_t type, std::uint32_t length) {
    std::string bytes = "RGF1" + std::string(16, '\0');
    put_big_endian(reinterpret_cast<std::uint8_t*>(bytes.data()) + 4, length);
    bytes[8] = static_cast<char>(type);
    return bytes;
  };
  EXPECT_THAT(refusal_of(header(12, 65537)), HasSubstr("announced a stop message of 65537 bytes; at most 65536 are allowed"));
  EXPECT_THAT(refusal_of(header(11, 16777217)), HasSubstr("announced a result message of 16777217 bytes; at most 16777216"));
  EXPECT_THAT(refusal_of(header(11, 0xffffffff)), HasSubstr("4294967295"));  // + 1 wraps in 32 bits: CVE-2023-38403
  EXPECT_THAT(refusal_of(header(0, 3)), HasSubstr("type 0, which this version does not know"));
  EXPECT_THAT(refusal_of(header(20, 3)), HasSubstr("type 20"));
  // At the limit it is waited for, and nothing is held beyond what has come.
  FrameReader reader(client_key());
  EXPECT_TRUE(read_all(reader, header(11, 16777216)).empty());
  EXPECT_EQ(reader.buffered_bytes(), kFrameHeaderBytes);
}

TEST(Frame, GarbageIsRefusedAtItsFirstByte) {
  EXPECT_THAT(refusal_of("G"), HasSubstr("wrong magic"));
  EXPECT_THAT(refusal_of("RGF2"), HasSubstr("wrong magic"));
  FrameReader reader(client_key());
  thrown_by([&] { read_all(reader, "x"); });
  FrameWriter writer(client_key());
  thrown_by([&] { read_all(reader, writer.seal(MessageType::start, {})); });  // once spoiled, for ever
}

TEST(Frame, WriterRefusesWhatThePeerWould) {
  FrameWriter writer(client_key());
  EXPECT_EQ(thrown_by([&] { writer.seal(MessageType::failure, std::string(65537, ' ')); }).kind(), ErrorKind::usage);
  FrameReader reader(client_key());
  EXPECT_EQ(read_all(reader, writer.seal(MessageType::failure, std::string(65536, ' '))).size(), 1u);
}

std::string nested(int depth) { return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']'); }

TEST(JsonShape, DepthIsBounded) {
  FrameWriter writer(client_key());
  FrameReader reader(client_key());
  EXPECT_EQ(read_all(reader, writer.seal(MessageType::result, nested(16))).size(), 1u);
  EXPECT_THAT(thrown_by([&] { read_all(reader, writer.seal(MessageType::result, nested(17))); }).what(),
              HasSubstr("sent a result message nested deeper than 16 levels"));
}

TEST(JsonShape, CountsValuesAndSkipsStrings) {
  BodyLimits limits{1000, 3, 5};
  EXPECT_NO_THROW(check_json_shape(R"([1,2,3,4])", limits));        // array + 4
  EXPECT_THROW(check_json_shape(R"([1,2,3,4,5])", limits), Error);  // array + 5
  EXPECT_NO_THROW(check_json_shape(R"({"[[[[,,,,,,\"[[[[,,,,":1})", limits));
  EXPECT_NO_THROW(check_json_shape(R"(["\\",[1]])", limits));
  EXPECT_THROW(check_json_shape(R"(["\\",[[[1]]]])", limits), Error);
  EXPECT_NO_THROW(check_json_shape("\"\\", limits));  // ends inside an escape
  EXPECT_NO_THROW(check_json_shape("", limits));
}

}  // namespace
}  // namespace railgauge::control
