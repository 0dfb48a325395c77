#include "control/handshake.h"

#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using State = Handshake::State;

HandshakeOptions with_token(const std::string& token, Version version = kProtocolVersion) {
  return {key_from_token(token), !token.empty(), version};
}

/// Lets two sides talk until neither has anything to say.
void converse(Handshake& client, Handshake& server) {
  for (int i = 0; i < 8; ++i) {
    std::string to_server = client.take_output();
    server.feed(bytes_of(to_server));
    std::string to_client = server.take_output();
    client.feed(bytes_of(to_client));
  }
}

TEST(Handshake, EndsWithTheSameKeysOnBothSides) {
  Handshake client(Role::client, with_token(kToken));
  Handshake server(Role::server, with_token(kToken));
  converse(client, server);
  ASSERT_EQ(client.state(), State::done);
  ASSERT_EQ(server.state(), State::done);
  Session c = client.session();
  Session s = server.session();
  EXPECT_EQ(hex(c.keys.client_to_server.bytes()), hex(s.keys.client_to_server.bytes()));
  EXPECT_EQ(hex(c.keys.server_to_client.bytes()), hex(s.keys.server_to_client.bytes()));
  EXPECT_NE(hex(c.keys.server_to_client.bytes()), hex(c.keys.client_to_server.bytes()));
}

TEST(Handshake, KeysDifferEachTime) {
  auto key_of = [] {
    Handshake client(Role::client, with_token(kToken));
    Handshake server(Role::server, with_token(kToken));
    converse(client, server);
    return hex(client.session().keys.client_to_server.bytes());
  };
  EXPECT_NE(key_of(), key_of());
}

// The layout is fixed for ever: a change here breaks "differing versions say so".
TEST(Handshake, HelloLayoutIsFixedForEver) {
  Hello hello{{258, 772}, Role::server, true, {}};
  for (std::size_t i = 0; i < hello.nonce.size(); ++i) hello.nonce[i] = static_cast<std::uint8_t>(0xa0 + i);
  EXPECT_EQ(hex(encode_hello(hello)), "5241494c47415547" "0102" "0304" "02" "01" "0000"
                                      "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf" +
                                          std::string(160, '0'));
  auto decoded = decode_hello(encode_hello(hello));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->version, (Version{258, 772}));
  EXPECT_EQ(decoded->role, Role::server);
  EXPECT_TRUE(decoded->token_in_force);
  EXPECT_EQ(decoded->nonce, hello.nonce);
}

TEST(Handshake, DifferingMajorIsSaidOnBothSides) {
  Handshake client(Role::client, with_token(kToken, {2, 0}));
  Handshake server(Role::server, with_token(kToken, {1, 3}));
  converse(client, server);
  EXPECT_EQ(client.state(), State::refused);
  EXPECT_EQ(client.refusal(), "speaks control protocol 1.3, this side 2.0: use the same major version of railgauge on both hosts");
  EXPECT_EQ(server.refusal(), "speaks control protocol 2.0, this side 1.3: use the same major version of railgauge on both hosts");
}

TEST(Handshake, DifferingMinorTalksAndTheLowerIsInForce) {
  // 6.100 against 6.28 is what perftest gets wrong (perftest-lessons.md, section 4): whole numbers, not fractions.
  Handshake client(Role::client, with_token(kToken, {6, 100}));
  Handshake server(Role::server, with_token(kToken, {6, 28}));
  converse(client, server);
  ASSERT_EQ(client.state(), State::done);
  EXPECT_EQ(client.session().in_force, (Version{6, 28}));
  EXPECT_EQ(server.session().in_force, (Version{6, 28}));
}

TEST(Handshake, WrongTokenIsRefusedByTheServerAndSaidToTheClient) {
  Handshake client(Role::client, with_token("one-token-of-many"));
  Handshake server(Role::server, with_token(kToken));
  converse(client, server);
  EXPECT_THAT(server.refusal(), HasSubstr("wrong token"));
  EXPECT_TRUE(server.wrong_proof());
  EXPECT_THAT(client.refusal(), HasSubstr("does not accept this side's token"));
}

TEST(Handshake, ServerThatDoesNotKnowTheTokenIsRefused) {
  Handshake client(Role::client, with_token(kToken));
  Handshake server(Role::server, with_token(kToken));
  server.feed(bytes_of(client.take_output()));
  client.feed(bytes_of(server.take_output()));
  client.take_output();
  // A server that cannot compute the proof but says all is well: status 0 and a made-up MAC.
  std::string forged = "RAILPROF" + std::string(8, '\0') + std::string(32, '\x5c');
  client.feed(bytes_of(forged));
  EXPECT_EQ(client.state(), State::refused);
  EXPECT_THAT(client.refusal(), HasSubstr("could not prove that it knows the token"));
}

TEST(Handshake, OpenAgainstTokenIsSaidBothWays) {
  Handshake open_client(Role::client, with_token(""));
  Handshake server(Role::server, with_token(kToken));
  converse(open_client, server);
  EXPECT_THAT(open_client.refusal(), AllOf(HasSubstr("asks for a token"), HasSubstr("RAILGAUGE_TOKEN")));
  EXPECT_THAT(server.refusal(), HasSubstr("came without a token"));

  Handshake client(Role::client, with_token(kToken));
  Handshake open_server(Role::server, with_token(""));
  converse(client, open_server);
  EXPECT_THAT(client.refusal(), HasSubstr("runs without a token"));
  EXPECT_THAT(open_server.refusal(), HasSubstr("runs without one"));
}

TEST(Handshake, OpenModeTalks) {
  Handshake client(Role::client, with_token(""));
  Handshake server(Role::server, with_token(""));
  converse(client, server);
  EXPECT_EQ(client.state(), State::done);
  EXPECT_EQ(server.state(), State::done);
}

TEST(Handshake, ReflectionIsRefused) {
  Handshake client(Role::client, with_token(kToken));
  std::string own_hello = client.take_output();
  client.feed(bytes_of(own_hello));
  EXPECT_THAT(client.refusal(), HasSubstr("answered with a client's hello"));

  // A client's own proof sent back as the server's, under otherwise honest hellos.
  Handshake victim(Role::client, with_token(kToken));
  Handshake server(Role::server, with_token(kToken));
  server.feed(bytes_of(victim.take_output()));
  victim.feed(bytes_of(server.take_output()));
  std::string own_proof = victim.take_output();
  ASSERT_EQ(own_proof.size(), kProofBytes);
  victim.feed(bytes_of(own_proof));
  EXPECT_EQ(victim.state(), State::refused);
}

TEST(Handshake, ReplayedProofIsRefused) {
  Handshake client(Role::client, with_token(kToken));
  Handshake first(Role::server, with_token(kToken));
  std::string hello = client.take_output();
  first.feed(bytes_of(hello));
  client.feed(bytes_of(first.take_output()));
  std::string proof = client.take_output();
  Handshake second(Role::server, with_token(kToken));
  second.feed(bytes_of(hello));
  second.feed(bytes_of(proof));
  EXPECT_EQ(second.state(), State::refused);
  EXPECT_TRUE(second.wrong_proof());
}

/// What the server makes of a conversation in which one byte is altered on the way: 0…127 client hello, 128…175 proof.
State server_state_after_flip(std::size_t byte, int bit) {
  Handshake client(Role::client, with_token(kToken));
  Handshake server(Role::server, with_token(kToken));
  auto flip = [&](std::string block, std::size_t begin) {
    if (byte >= begin && byte < begin + block.size()) block[byte - begin] = static_cast<char>(block[byte - begin] ^ (1 << bit));
    return block;
  };
  server.feed(bytes_of(flip(client.take_output(), 0)));
  client.feed(bytes_of(server.take_output()));
  server.feed(bytes_of(flip(client.take_output(), kHelloBytes)));
  return server.state();
}

TEST(Handshake, EveryFlippedBitIsRefused) {
  for (std::size_t byte = 0; byte < kHelloBytes + kProofBytes; ++byte) {
    for (int bit = 0; bit < 8; ++bit) EXPECT_NE(server_state_after_flip(byte, bit), State::done) << byte << "." << bit;
  }
  EXPECT_EQ(server_state_after_flip(kHelloBytes + kProofBytes, 0), State::done);  // nothing flipped: the test can fail
}

TEST(Handshake, StrangersAreRecognisedAndQuotedSafely) {
  auto refusal_of = [](std::string_view bytes) {
    Handshake server(Role::server, with_token(kToken));
    server.feed(bytes_of(bytes));
    EXPECT_EQ(server.state(), State::refused);
    EXPECT_EQ(server.take_output(), "");  // not a byte to a stranger
    return server.refusal();
  };
  EXPECT_THAT(refusal_of("GET / HTTP/1.1\r\nHost: b\r\n"), HasSubstr("it began with \"GET / HTTP/1.1\\x0d\\x0aHost: b\\x0d\""));
  EXPECT_THAT(refusal_of(std::string_view("\x16\x03\x01\x02\x00\x01\xfc", 7)), HasSubstr("\"\\x16\\x03\\x01\\x02\\x00\\x01\\xfc\""));
  EXPECT_THAT(refusal_of("\x1b[2J"), HasSubstr("\\x1b[2J"));
  EXPECT_THAT(refusal_of("R!"), HasSubstr("R!"));
}

TEST(Handshake, ServerNeverSendsMoreThanItReceived) {
  Handshake client(Role::client, with_token(kToken));
  Handshake server(Role::server, with_token(kToken));
  std::size_t received = 0, sent = 0;
  for (int round = 0; round < 4; ++round) {
    std::string to_server = client.take_output();
    for (char c : to_server) {
      server.feed(bytes_of({&c, 1}));
      ++received;
      std::string out = server.take_output();
      sent += out.size();
      EXPECT_LE(sent, received);
      client.feed(bytes_of(out));
    }
  }
  EXPECT_EQ(server.state(), State::done);
}

TEST(Handshake, LeavesBytesOfTheFirstFrame) {
  Handshake client(Role::client, with_token(kToken));
  Handshake server(Role::server, with_token(kToken));
  server.feed(bytes_of(client.take_output()));
  client.feed(bytes_of(server.take_output()));
  std::string proof_and_more = client.take_output() + "RGF1";
  EXPECT_EQ(server.feed(bytes_of(proof_and_more)), kProofBytes);
  EXPECT_EQ(server.state(), State::done);
}

}  // namespace
}  // namespace railgauge::control
