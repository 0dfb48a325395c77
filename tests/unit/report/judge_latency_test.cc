#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measurements.h"
#include "report/judge.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Record;
using results::Verdict;
using results::VerdictWord;
using testing::HasSubstr;

TEST(Judge, WithheldPercentilesSpoilALatencyOnlyWhereTheUserSetALimit) {
  Measurement m = latency_at(1700, 2100);
  m.latency->samples = 17;
  m.latency->p50_ns = stats::Value::missing("17 samples; p50 needs 20");
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::no_criterion);
  Thresholds limit;
  limit.allowed_p50_us = 2.5;
  EXPECT_EQ(judge(m, Record{}, limit).word, VerdictWord::inconclusive);
  EXPECT_EQ(judge(m, Record{}, limit).cause, "run too short: 17 samples; p50 needs 20");
  m.latency->samples = 0;
  EXPECT_EQ(judge(m, Record{}).word, VerdictWord::inconclusive);
}

TEST(Judge, HasNoCriterionForLatencyUnlessTheUserGivesOne) {
  Verdict verdict = judge(latency_at(1700, 2100), Record{});
  EXPECT_EQ(verdict.word, VerdictWord::no_criterion);
  EXPECT_EQ(verdict.observed, 1.7);
  EXPECT_EQ(verdict.unit, "us");
  EXPECT_TRUE(verdict.cause.empty());
  Thresholds user;
  user.allowed_p50_us = 2.5;
  EXPECT_EQ(judge(latency_at(1700, 2100), Record{}, user).word, VerdictWord::met);
  user.allowed_p99_us = 2.0;
  verdict = judge(latency_at(1700, 2100), Record{}, user);
  EXPECT_EQ(verdict.word, VerdictWord::below);
  EXPECT_EQ(verdict.observed, 2.1);
  user.allowed_p50_us = 1.6;
  EXPECT_THAT(judge(latency_at(1700, 1900), Record{}, user).cause, HasSubstr("median 1.70 us is above the 1.60 us allowed"));
}

TEST(Judge, SaysThatAThreadHadNoCpuWhateverTheTail) {
  Measurement m = latency_at(10'200'000, 11'000'000);
  m.sides[1].threads.resize(1);
  m.sides[1].threads[0].elapsed = std::chrono::milliseconds(300);
  m.sides[1].threads[0].run_queue_wait = host::Fact<std::chrono::nanoseconds>::of(std::chrono::milliseconds(198));
  EXPECT_THAT(judge(m, Record{}).cause, testing::AllOf(HasSubstr("CPU contention"), HasSubstr("on beta"), HasSubstr("66 %")));
}

TEST(Judge, SpeaksOfALongTail) {
  EXPECT_THAT(judge(latency_at(1700, 17'000), Record{}).cause, HasSubstr("99th percentile is 10 times the median"));
}

TEST(Judge, IsNotLedToAVerdictOnP99ByAFewSamples) {
  Measurement m = latency_at(1700, 2100);
  m.latency->samples = 640;
  m.latency->p99_ns = stats::Value::missing("640 samples; p99 needs 1000");
  Thresholds limit;
  limit.allowed_p99_us = 2.5;
  Verdict verdict = judge(m, Record{}, limit);
  EXPECT_EQ(verdict.word, VerdictWord::inconclusive);
  EXPECT_EQ(verdict.cause, "run too short: no 99th percentile: 640 samples; p99 needs 1000");
}

}  // namespace
}  // namespace railgauge::report
