#include <gtest/gtest.h>

#include "measurements.h"
#include "report/judge.h"

namespace railgauge::report {
namespace {

using results::Measurement;
using results::Outcome;
using results::Record;
using results::VerdictWord;

TEST(ExitCode, OfMeasurementsAskedForWronglyIsUsage) {
  Record record;
  record.measurements.push_back(write_at(98));
  Measurement& wrong = record.measurements.front();
  wrong.outcome = Outcome::failed;
  wrong.error = results::ErrorInfo{"usage", 0, "prepare", "client", "GID index 77 is empty"};
  wrong.verdict = judge(wrong, record);
  EXPECT_EQ(exit_code(record), ExitCode::usage);
  record.measurements.push_back(wrong);
  record.measurements.back().error->kind = "verbs";
  EXPECT_EQ(exit_code(record), ExitCode::not_measured);
}

TEST(ExitCode, AUsersLimitCountsOnASimulatedDeviceToo) {
  Record record;
  record.simulated = true;
  record.measurements.push_back(write_at(60));
  Measurement& m = record.measurements.front();
  m.sides[0].simulated = true;
  m.verdict = judge(m, record);
  EXPECT_EQ(exit_code(record), ExitCode::met);
  Thresholds user;
  user.required_gbit_per_s = 61.0;
  m.verdict = judge(m, record, user);
  EXPECT_EQ(exit_code(record), ExitCode::below_expectation);
}

TEST(ExitCode, OfACheckThatCouldJudgeNothingIsNotMet) {
  Record record;
  record.subcommand = "check";
  record.measurements.push_back(write_at(98));
  record.measurements.front().verdict.word = VerdictWord::no_criterion;
  EXPECT_EQ(exit_code(record), ExitCode::not_measured);
  record.subcommand = "rdma";
  EXPECT_EQ(exit_code(record), ExitCode::met);
  record.subcommand = "check";
  record.software_device = true;
  EXPECT_EQ(exit_code(record), ExitCode::met);
}

}  // namespace
}  // namespace railgauge::report
