#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "golden/examples.h"
#include "report/render/text.h"
#include "results/json.h"

namespace railgauge::golden {
namespace {

constexpr const char* kUpdate = "RAILGAUGE_UPDATE_GOLDEN";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Equal to the file byte for byte. With RAILGAUGE_UPDATE_GOLDEN=1 the file is written instead, for a person to look at.
void expect_golden(const std::string& path, const std::string& text) {
  if (std::getenv(kUpdate) != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(read(path), text) << path << ": if the change is meant, run again with " << kUpdate << "=1 and read the difference";
}

class Golden : public testing::TestWithParam<Example> {};

TEST_P(Golden, RecordIsByteForByteTheExample) {
  const Example& example = GetParam();
  expect_golden(std::string(RAILGAUGE_SOURCE_DIR) + "/results-schema/examples/" + example.name + ".json", results::record_to_json(example.record));
}

TEST_P(Golden, RecordReadsBackToTheSameText) {
  std::string text = results::record_to_json(GetParam().record);
  EXPECT_EQ(results::record_to_json(results::record_from_json(text)), text);
}

TEST_P(Golden, ReportIsByteForByteTheText) {
  const Example& example = GetParam();
  report::TextOptions options;
  options.record_path = "railgauge-" + example.name + ".json";
  expect_golden(std::string(RAILGAUGE_SOURCE_DIR) + "/tests/golden/report/" + example.name + ".txt", report::render_text(example.record, options));
}

TEST_P(Golden, ReportOfTheReadRecordIsTheSame) {
  const results::Record& record = GetParam().record;
  EXPECT_EQ(report::render_text(results::record_from_json(results::record_to_json(record))), report::render_text(record));
}

INSTANTIATE_TEST_SUITE_P(Examples, Golden, testing::ValuesIn(examples()), [](const auto& entry) {
  std::string name = entry.param.name;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

}  // namespace
}  // namespace railgauge::golden
