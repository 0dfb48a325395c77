#include "control/job_messages.h"

#include <nlohmann/json.hpp>

#include "support.h"

namespace railgauge::control {
namespace {

using namespace testing;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

Member full_member() {
  return {.rank = 5,
          .world = 8,
          .hostname = "gpu-a07",
          .boot_id = "8f3c2d1e-77aa-4f0e-9b2d-0c1d2e3f4a5b",
          .pid = 4194303,
          .tool_version = "1.2.3",
          .nccl_version = "2.27.5",
          .cuda_driver_version = "13.0",
          .gpu_pci_address = "0000:c1:00.0",
          .gpu_uuid = "GPU-5f2c",
          .launcher = "slurm",
          .job = "51234.2"};
}

std::string refusal_with(const std::string& field, const json& value) {
  json body = json::parse(to_json(full_member()));
  body[field] = value;
  Error error = thrown_by([&] { member_from_json(body.dump()); });
  EXPECT_EQ(error.kind(), ErrorKind::peer) << field;
  return error.what();
}

TEST(JobMessages, MemberSurvivesTheWire) {
  EXPECT_EQ(member_from_json(to_json(full_member())), full_member());
  Member bare{.rank = 2, .world = 3, .hostname = "h", .pid = 17, .tool_version = "0.1.0"};
  EXPECT_EQ(member_from_json(to_json(bare)), bare);
}

TEST(JobMessages, MemberIsChecked) {
  EXPECT_THAT(refusal_with("rank", 8), AllOf(HasSubstr("join message: field \"rank\" is 8"), HasSubstr("from 0 to 7")));
  EXPECT_THAT(refusal_with("world", 0), HasSubstr("\"world\""));
  EXPECT_THAT(refusal_with("world", 16385), HasSubstr("from 1 to 16384"));
  EXPECT_THAT(refusal_with("hostname", std::string(256, 'h')), HasSubstr("a text of at most 255 bytes"));
  EXPECT_THAT(refusal_with("hostname", nullptr), HasSubstr("\"hostname\""));
  EXPECT_THAT(refusal_with("gpu_uuid", 7), HasSubstr("\"gpu_uuid\" is 7"));
  EXPECT_THAT(refusal_with("pid", -3), HasSubstr("\"pid\" is -3"));
  json body = json::parse(to_json(full_member()));
  body.erase("job");
  EXPECT_THAT(thrown_by([&] { member_from_json(body.dump()); }).what(), HasSubstr("\"job\" is missing"));
}

TEST(JobMessages, NamesOfAHostMayBeAnything) {
  Member odd = full_member();
  odd.hostname = std::string("caf\xe9 ") + std::string(400, 'x');
  EXPECT_THAT(member_from_json(to_json(odd)).hostname, AllOf(HasSubstr("caf\xef\xbf\xbd x"), ::testing::SizeIs(::testing::Le(255u))));
}

TEST(JobMessages, RosterCarriesAnyBytes) {
  Roster roster{{full_member(), full_member()}, {}};
  roster.members[1].rank = 6;
  for (int i = 0; i < 128; ++i) roster.blob += static_cast<char>(i * 37 + 11);
  EXPECT_EQ(roster_from_json(to_json(roster)), roster);
  roster.blob.assign(kMaxBlobBytes, '\xfe');
  EXPECT_EQ(roster_from_json(to_json(roster)), roster);
  roster.blob += 'x';
  EXPECT_EQ(thrown_by([&] { to_json(roster); }).kind(), ErrorKind::usage);
  for (const char* bad : {R"({"members":[],"blob":"0"})", R"({"members":[],"blob":"0g"})", R"({"members":[],"blob":"0G"})"}) {
    EXPECT_THAT(thrown_by([&] { roster_from_json(bad); }).what(), HasSubstr("no hexadecimal text")) << bad;
  }
  EXPECT_THAT(thrown_by([&] { roster_from_json(R"({"members":[[]],"blob":""})"); }).what(), HasSubstr("\"members\""));
  EXPECT_THAT(thrown_by([&] { roster_from_json(R"({"members":[{"world":3,"rank":3}],"blob":""})"); }).what(),
              HasSubstr("roster message, members 0: field \"rank\" is 3"));
}

TEST(JobMessages, ArrivalAndReleaseKeepTheirTexts) {
  Arrival arrival{"gather", "median of 64 KiB", "{\"a\":[1,2],\"ü\":\"\\\"\"}", std::chrono::milliseconds(20017)};
  EXPECT_EQ(arrival_from_json(to_json(arrival)), arrival);
  Release release{"line\nwith\ttabs"};
  EXPECT_EQ(release_from_json(to_json(release)), release);
  EXPECT_EQ(thrown_by([&] { to_json(Release{"\xff"}); }).kind(), ErrorKind::usage);
  EXPECT_THAT(thrown_by([&] {
                to_json(Arrival{"gather", "times", std::string(kMaxTextBytes + 1, 'x')});
              }).what(),
              HasSubstr("gather \"times\": a text of 4194305 bytes"));
  // Each of these takes six bytes in JSON.
  EXPECT_THAT(thrown_by([&] { to_json(Release{std::string(kMaxTextBytes, '\1')}); }).what(), HasSubstr("bytes in JSON"));
  EXPECT_THAT(thrown_by([&] { arrival_from_json(R"({"kind":"barrier","name":"x","text":"","budget_ms":86400001})"); }).what(),
              HasSubstr("budget_ms"));
}

TEST(JobMessages, LongStepsAreCut) {
  EXPECT_EQ(step_from_json(to_json(Step{"ncclCommInitRank"})).text, "ncclCommInitRank");
  EXPECT_EQ(step_from_json(to_json(Step{std::string(5000, 's')})).text, std::string(1021, 's') + "…");
}

}  // namespace
}  // namespace railgauge::control
