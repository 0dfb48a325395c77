// Data that were lost, torn, short or flipped on the way, as the device's fault script tells it: found, and said where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/fault_plan.h"

namespace railgauge {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::EnginePair;
using testing_support::run_to_end;
using testing_support::write_plan;

TEST(RdmaData, AFlippedByteIsFoundWhereItLies) {
  plan::Plan p = write_plan();
  p.iterations = 320;
  p.warm_up = milliseconds(0);
  EnginePair pair(p, "message 70 flip byte 5");
  run_to_end(pair, seconds(10));
  EXPECT_FALSE(pair.client_result.error);
  ASSERT_TRUE(pair.server_result.verification);
  EXPECT_EQ(pair.server_result.verification->checked_bytes, 320'000U);
  EXPECT_EQ(pair.server_result.verification->mismatched_bytes, 1U);
  // A page of tallies, then slots of 1000 bytes rounded up to 1024; message 70 is slot 69.
  EXPECT_EQ(pair.server_result.verification->first_offset, 4096U + 69 * 1024 + 5);
  ASSERT_TRUE(pair.server_result.error);
  EXPECT_EQ(pair.server_result.error->kind, "data");
  EXPECT_EQ(pair.server_result.error->stage, "verify");
}

TEST(RdmaData, ALostAnswerOfAnAtomicIsNamedByTheByteThatDiffers) {
  plan::Plan p = write_plan();
  p.operation = plan::Operation::fetch_add;
  p.message_bytes = 8;
  p.iterations = 320;
  p.warm_up = milliseconds(0);
  // Request 257 finds 256 = 0x100, but its answer does not reach its slot, which stays 0: byte 1 alone differs.
  EnginePair pair(p, "message 257 flip byte 3");
  run_to_end(pair, seconds(10));
  ASSERT_TRUE(pair.client_result.verification);
  const results::Verification& found = *pair.client_result.verification;
  EXPECT_EQ(found.checked_bytes, 320U * 8);
  EXPECT_EQ(found.mismatched_bytes, 1U);
  // A page of tallies, then slots of 8 bytes rounded up to 64.
  EXPECT_EQ(found.first_offset, 4096U + 256 * 64 + 1);
  EXPECT_EQ(found.expected, 1);
  EXPECT_EQ(found.found, 0);
}

/// The client's message 1500 of 3000 arrives wrong; each slot is written many times after it.
EnginePair flipped_midway(plan::Operation operation, bool verify_each) {
  plan::Plan p = write_plan();
  p.operation = operation;
  p.iterations = 3000;
  p.warm_up = milliseconds(0);
  p.working_set_bytes = 64 * 1024;  // 64 slots of 1000 bytes rounded up to 1024
  p.verify_each = verify_each;
  return EnginePair(p, "message 1500 flip byte 5");
}

TEST(RdmaData, AByteFlippedMidwayIsFoundWhereEachMessageIsChecked) {
  for (auto operation : {plan::Operation::send, plan::Operation::write_imm}) {
    EnginePair pair = flipped_midway(operation, true);
    run_to_end(pair, seconds(20));
    EXPECT_FALSE(pair.client_result.error);
    ASSERT_TRUE(pair.server_result.verification);
    const results::Verification& found = *pair.server_result.verification;
    EXPECT_EQ(found.scope, "every message");
    EXPECT_EQ(found.checked_messages, 3000U);
    EXPECT_EQ(found.messages, 3000U);
    EXPECT_EQ(found.checked_bytes, 3'000'000U);
    EXPECT_EQ(found.mismatched_bytes, 1U);
    EXPECT_EQ(found.first_offset, 4096U + (1499 % 64) * 1024 + 5);  // a page of tallies before the slots
    ASSERT_TRUE(pair.server_result.error);
    EXPECT_EQ(pair.server_result.error->kind, "data");
  }
}

TEST(RdmaData, WhatOnlyTheLastMessagesSayIsSaidInWords) {
  EnginePair pair = flipped_midway(plan::Operation::write, true);  // nobody sees a write arrive
  run_to_end(pair, seconds(20));
  ASSERT_TRUE(pair.server_result.verification);
  EXPECT_EQ(pair.server_result.verification->scope, "the last message in each slot, told from the 2 before it there");
  // A third of the 64 slots, because each message comes in three versions; whole signals.
  EXPECT_EQ(pair.server_result.verification->checked_messages, 21U / static_cast<unsigned>(write_plan().rdma.signal_every) * static_cast<unsigned>(write_plan().rdma.signal_every));
  EXPECT_EQ(pair.server_result.verification->messages, 3000U);
  EXPECT_EQ(pair.server_result.verification->mismatched_bytes, 0U);
}

/// By count, in 64 KiB: slots of 1024 bytes, the last 21 or so of 3000 messages are what is left.
plan::Plan counted_plan(plan::Operation operation) {
  plan::Plan p = write_plan();
  p.operation = operation;
  p.iterations = 3000;
  p.warm_up = milliseconds(0);
  p.working_set_bytes = 64 * 1024;
  return p;
}

/// The side to which the data comes.
const results::SideResult& receiver_of(const EnginePair& pair, plan::Operation operation) {
  return operation == plan::Operation::read ? pair.client_result : pair.server_result;
}

void expect_data_error(const results::SideResult& side, const char* text) {
  ASSERT_TRUE(side.error);
  EXPECT_EQ(side.error->kind, "data");
  EXPECT_EQ(side.error->stage, "verify");
  EXPECT_THAT(side.error->text, HasSubstr(text));
}

TEST(RdmaData, AllWritesLostIsADataErrorWhetherVerifiedOrNot) {
  for (const bool verify : {true, false}) {
    plan::Plan p = counted_plan(plan::Operation::write);
    p.verify = verify;
    EnginePair pair(p, "message 1.. drop");
    run_to_end(pair, seconds(20));
    EXPECT_FALSE(pair.client_result.error);
    expect_data_error(pair.server_result, "expected 3000, found 0");
    EXPECT_EQ(pair.server_result.verification.has_value(), verify);
    if (verify) { EXPECT_GT(pair.server_result.verification->mismatched_bytes, 15'000U); }
  }
}

/// In each slot the message before it left data that were right for it. Two of the last messages, and half of a third.
TEST(RdmaData, ALostOrTornMessageAmongTheLastIsFound) {
  for (const char* fault : {"message 2990..2991 drop", "message 2990 torn at byte 700"})
    for (auto operation : {plan::Operation::write, plan::Operation::write_imm, plan::Operation::send, plan::Operation::read}) {
      SCOPED_TRACE(testing::Message() << fault << " of " << plan::name_of(operation));
      plan::Plan p = counted_plan(operation);
      if (operation == plan::Operation::read) p.direction = plan::Direction::from;  // the client reads
      EnginePair pair(p, fault);
      run_to_end(pair, seconds(20));
      const results::SideResult& receiver = receiver_of(pair, operation);
      expect_data_error(receiver, "bytes checked differ");
      // All words of the versions differ, single bytes of them by chance do not.
      const std::uint64_t lost = *fault == 'm' && std::string(fault).find("torn") != std::string::npos ? 300 : 2000;
      EXPECT_LE(receiver.verification->mismatched_bytes, lost);
      EXPECT_GT(receiver.verification->mismatched_bytes, lost * 9 / 10);
    }
}

/// As many as there are slots, twice as many, and a power of two.
TEST(RdmaData, LostRoundsThroughAllSlotsAreFound) {
  plan::Plan p = counted_plan(plan::Operation::write);
  p.rdma.signal_every = 1;
  for (const char* fault : {"message 2980..3000 drop", "message 2959..3000 drop", "message 2873..3000 drop"}) {
    EnginePair pair(p, fault);
    run_to_end(pair, seconds(20));
    ASSERT_EQ(pair.server_result.verification->checked_messages, 21U);
    expect_data_error(pair.server_result, "bytes checked differ");
  }
}

TEST(RdmaData, AMessageThatWasNeverSeenToArriveIsMissed) {
  for (const bool each : {true, false})
    for (auto operation : {plan::Operation::write_imm, plan::Operation::send}) {
      SCOPED_TRACE(plan::name_of(operation));
      plan::Plan p = counted_plan(operation);
      p.verify_each = each;
      EnginePair pair(p, "message 2000 unseen");
      run_to_end(pair, seconds(20));
      expect_data_error(pair.server_result, "2999 messages arrived on QP 0 of thread 0, but 3000 completed");
      EXPECT_EQ(pair.server_result.verification->messages, 3000U);
      if (each) {
        EXPECT_EQ(pair.server_result.verification->checked_messages, 2999U);
        EXPECT_NE(pair.server_result.verification->scope, "every message");
      }
    }
}

TEST(RdmaData, ATornMessageIsFoundWhereEachIsChecked) {
  for (auto operation : {plan::Operation::write_imm, plan::Operation::send, plan::Operation::read}) {
    SCOPED_TRACE(plan::name_of(operation));
    plan::Plan p = counted_plan(operation);
    p.verify_each = true;
    if (operation == plan::Operation::read) p.direction = plan::Direction::from;
    EnginePair pair(p, "message 1500 torn at byte 700");
    run_to_end(pair, seconds(20));
    const results::SideResult& receiver = receiver_of(pair, operation);
    expect_data_error(receiver, "bytes checked differ");
    EXPECT_EQ(receiver.verification->checked_messages, 3000U);
    EXPECT_EQ(receiver.verification->mismatched_bytes, 2U);  // of the bytes spoilt, 768 and the last were in what did not arrive
  }
}

TEST(RdmaData, AReceiveOfAnotherLengthIsADataError) {
  // One of each: a sender learns of it by its own deadline only.
  for (auto [metric, operation] : {std::pair(plan::Metric::bandwidth, plan::Operation::write_imm), std::pair(plan::Metric::latency, plan::Operation::send)}) {
    SCOPED_TRACE(plan::name_of(operation));
    plan::Plan p = counted_plan(operation);
    p.metric = metric;
    if (metric == plan::Metric::latency) p.rdma.depth = 1;
    EnginePair pair(p, "message 1500 short");
    run_to_end(pair, seconds(20));
    expect_data_error(pair.server_result, "message 1500 on lane 0 arrived with 999 bytes, 1000 were sent");
  }
}

TEST(RdmaData, ALostSwapIsFoundAlsoWhereAnotherOneFollows) {
  plan::Plan p = counted_plan(plan::Operation::compare_swap);
  p.message_bytes = 8;
  p.working_set_bytes.reset();
  EnginePair pair(p, "message 2998..2999 drop");
  run_to_end(pair, seconds(20));
  expect_data_error(pair.client_result, "bytes checked differ");
}

TEST(RdmaData, AByteFlippedMidwayIsFoundInALatency) {
  for (auto operation : {plan::Operation::write, plan::Operation::write_imm, plan::Operation::send}) {
    plan::Plan p = write_plan();
    p.metric = plan::Metric::latency;
    p.operation = operation;
    p.rdma.depth = 1;
    p.iterations = 600;
    p.warm_up = milliseconds(0);
    EnginePair pair(p, "message 300 flip byte 5");
    run_to_end(pair, seconds(20));
    ASSERT_TRUE(pair.server_result.verification);
    EXPECT_EQ(pair.server_result.verification->scope, "every message");
    EXPECT_EQ(pair.server_result.verification->checked_messages, 600U);
    EXPECT_EQ(pair.server_result.verification->mismatched_bytes, 1U);
    EXPECT_EQ(pair.server_result.verification->first_offset, 4096U + 1024 + 5);  // two slots in turn; the 300th is in the second
    ASSERT_TRUE(pair.client_result.verification);
    EXPECT_EQ(pair.client_result.verification->checked_messages, 600U);
    EXPECT_EQ(pair.client_result.verification->mismatched_bytes, 0U);
  }
}

/// The last byte is the mark that is waited for: it never comes, and yet it is data that differ and no silence.
TEST(RdmaData, ADamagedMarkIsADataErrorOfItsReceiver) {
  for (auto direction : {plan::Direction::to, plan::Direction::from}) {
    plan::Plan p = write_plan();
    p.metric = plan::Metric::latency;
    p.direction = direction;
    p.rdma.depth = 1;
    p.warm_up = milliseconds(0);
    EnginePair pair(p, "message 300 flip byte 999");  // of the client, who asks or answers
    run_to_end(pair, seconds(30));
    const results::SideResult& receiver = pair.server_result;
    ASSERT_TRUE(receiver.error);
    EXPECT_EQ(receiver.error->kind, "data");
    EXPECT_EQ(receiver.error->stage, "verify");
    EXPECT_THAT(receiver.error->text, HasSubstr("message 300"));
    EXPECT_THAT(receiver.error->text, HasSubstr("expected 0x2c, found 0xd3"));  // 300 modulo 256, and its bits inverted
    ASSERT_TRUE(receiver.verification);
    EXPECT_EQ(receiver.verification->mismatched_bytes, 1U);
    EXPECT_EQ(receiver.verification->first_offset, 4096U + 1024 + 999);  // two slots in turn; the 300th is in the second
  }
}

TEST(RdmaData, WhatTheChecksFoundStandsBesideAFailure) {
  plan::Plan p = write_plan();
  p.metric = plan::Metric::latency;
  p.operation = plan::Operation::send;
  p.direction = plan::Direction::from;  // the server asks; the 30th answer comes wrong, the 60th never
  p.rdma.depth = 1;
  p.warm_up = milliseconds(0);
  EnginePair pair(p, "message 30 flip byte 5; message 60 stuck");
  run_to_end(pair, seconds(15));
  ASSERT_TRUE(pair.server_result.error);
  EXPECT_EQ(pair.server_result.error->kind, "timeout");
  ASSERT_TRUE(pair.server_result.verification);
  EXPECT_EQ(pair.server_result.verification->checked_messages, 59U);
  EXPECT_EQ(pair.server_result.verification->messages, 59U);
  EXPECT_EQ(pair.server_result.verification->mismatched_bytes, 1U);
  EXPECT_THAT(pair.server_result.warnings, Contains(HasSubstr("beside the failure: 1 of")));
}

TEST(RdmaData, AMessageOfOneByteThatIsTheMarkIsNotSaidToBeVerified) {
  plan::Plan p = write_plan();
  p.metric = plan::Metric::latency;
  p.message_bytes = 1;
  p.rdma.depth = 1;
  p.iterations = 20;
  p.warm_up = milliseconds(0);
  EnginePair pair(p);
  run_to_end(pair, seconds(15));
  for (const auto* side : {&pair.client_result, &pair.server_result}) {
    EXPECT_FALSE(side->error);
    ASSERT_TRUE(side->verification);
    EXPECT_EQ(side->verification->checked_messages, 0U);
    EXPECT_EQ(side->verification->messages, 20U);
    EXPECT_EQ(side->verification->checked_bytes, 0U);
    EXPECT_THAT(side->verification->scope, StartsWith("nothing"));
  }
}

TEST(RdmaData, WhereNotEachMessageCanBeCheckedItIsSaidWhy) {
  plan::Plan p = write_plan();
  p.operation = plan::Operation::send;
  p.verify_each = true;
  p.iterations = 320;
  p.warm_up = milliseconds(0);
  p.working_set_bytes = 2048;  // two slots
  p.rdma.qps = 4;
  EnginePair pair(p);
  run_to_end(pair, seconds(15));
  ASSERT_TRUE(pair.server_result.verification);
  EXPECT_EQ(pair.server_result.verification->scope, "what the messages left in each slot, where all are alike");
  EXPECT_THAT(pair.server_result.warnings, Contains(AllOf(HasSubstr("not every message was verified"), HasSubstr("--working-set"))));
}

}  // namespace
}  // namespace railgauge
