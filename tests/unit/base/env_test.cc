#include "base/env.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace railgauge {
namespace {

TEST(RecordableEnvironment, LetsTuningInAndSecretsOut) {
  EXPECT_TRUE(is_recordable_variable("NCCL_IB_HCA"));
  EXPECT_TRUE(is_recordable_variable("MLX5_SINGLE_THREADED"));
  EXPECT_TRUE(is_recordable_variable("CUDA_VISIBLE_DEVICES"));
  for (const char* name : {"RAILGAUGE_TOKEN", "AWS_SECRET_ACCESS_KEY", "HOME", "NCCL_FOO_TOKEN", "PATH", "UCX_API_KEY"})
    EXPECT_FALSE(is_recordable_variable(name)) << name;
}

TEST(ReadEnvironment, TakesSetToNothingForUnset) {
  setenv("RAILGAUGE_TOKEN", "", 1);
  EXPECT_FALSE(read_environment().token.has_value());  // an empty token would have opened the server to everybody
  setenv("RAILGAUGE_TOKEN", "hush", 1);
  EXPECT_EQ(read_environment().token, "hush");
}

TEST(RecordableEnvironment, ListsWhatIsSetSorted) {
  setenv("UCX_TLS", "rc,self", 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("RAILGAUGE_TOKEN", "hush", 1);
  auto list = recordable_environment();
  ASSERT_GE(list.size(), 2u);
  for (const auto& [name, value] : list) EXPECT_NE(value, "hush") << name;
  std::pair<std::string, std::string> wanted{"NCCL_DEBUG", "INFO"};
  EXPECT_NE(std::find(list.begin(), list.end(), wanted), list.end());
  EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
}

TEST(LauncherEnvironment, TakesLaunchersVariablesAndNoOthers) {
  setenv("SLURM_PROCID", "3", 1);
  setenv("SLURM_NTASKS", "", 1);
  setenv("PMI_SIZE", "8", 1);
  setenv("SLURM_JOB_ACCOUNT", "secret-project", 1);
  setenv("RAILGAUGE_TOKEN", "hush", 1);
  auto variables = launcher_environment();
  EXPECT_EQ(variables.at("SLURM_PROCID"), "3");
  EXPECT_EQ(variables.at("PMI_SIZE"), "8");
  for (const char* name : {"SLURM_NTASKS", "SLURM_JOB_ACCOUNT", "RAILGAUGE_TOKEN", "HOME"}) EXPECT_EQ(variables.count(name), 0u) << name;
  for (const auto& [name, value] : variables) EXPECT_FALSE(is_recordable_variable(name)) << name;
}

}  // namespace
}  // namespace railgauge
