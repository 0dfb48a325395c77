#pragma once
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/nccl_log.h"

namespace railgauge::cuda {

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("no file " + path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// A log of invented hosts and numbers in the line forms of one NCCL release.
inline NcclLog sample(const std::string& name) { return parse_nccl_log(file_text(std::string(RAILGAUGE_NCCL_SAMPLES) + "/" + name)); }

/// The text of one rank's lines, each with NCCL's prefix.
inline std::string said(const std::vector<std::string>& texts, const std::string& prefix = "node5:77:78 [3] NCCL INFO ") {
  std::string log;
  for (const std::string& text : texts) log += prefix + text + "\n";
  return log;
}

}  // namespace railgauge::cuda
