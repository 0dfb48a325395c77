#include "description.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace railgauge::simcuda {

namespace {

constexpr std::size_t kMostGpus = 8;

/// The text of a variable, or of the file it names; a FIFO or device of that name is no file.
std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return {};
  std::error_code none;
  std::string text = value;
  if (std::filesystem::is_regular_file(value, none)) {
    std::ifstream file(value);
    std::stringstream all;
    all << file.rdbuf();
    text = all.str();
  }
  for (char& c : text) {
    if (c == ';') c = '\n';
  }
  return text;
}

std::string trim(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

void read_lines(const char* variable, const std::function<bool(const std::string&)>& read) {
  std::istringstream lines(text_of(variable));
  std::string line;
  while (std::getline(lines, line)) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty() || read(line)) continue;
    std::fprintf(stderr, "railgauge-sim: %s: cannot understand \"%s\"\n", variable, line.c_str());
    std::_Exit(2);
  }
}

/// "4G", "256M" or plain bytes.
bool to_size(const std::string& text, std::uint64_t& bytes) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return false;
  char* end = nullptr;
  bytes = std::strtoull(text.c_str(), &end, 10);
  const std::string unit = end;
  bytes <<= unit == "G" ? 30 : unit == "M" ? 20 : 0;
  return unit.empty() || unit == "G" || unit == "M";
}

/// "11.4" → 11040, "9.0" → 9000.
bool to_version(const std::string& text, int& version) {
  int major = 0;
  int minor = 0;
  char more = 0;
  if (std::sscanf(text.c_str(), "%d.%d%c", &major, &minor, &more) != 2) return false;
  version = major * 1000 + minor * 10;
  return true;
}

/// Figures of an H100 as far as cuda.h names them; ordering and flush so that a flush is asked for.
void add_gpu(Description& d) {
  GpuDescription gpu;
  char pci[16];
  std::snprintf(pci, sizeof pci, "0000:%02X:00.0", 0x1A + 0x10 * static_cast<unsigned>(d.gpus.size()));
  gpu.pci = pci;
  gpu.attributes = {{16, 132}, {18, 0}, {40, 3}, {75, 9}, {76, 0}, {110, 1}, {116, 1}, {117, 1}, {118, 0}, {124, 1}, {146, 0}};
  d.gpus.push_back(gpu);
}

bool set_attribute(GpuDescription& gpu, const std::string& number, const std::string& value) {
  char* end = nullptr;
  const long attribute = std::strtol(number.c_str(), &end, 10);
  if (*end != '\0' || attribute <= 0) return false;
  if (value == "unknown") return gpu.attributes.erase(static_cast<int>(attribute)), true;
  gpu.attributes[static_cast<int>(attribute)] = static_cast<int>(std::strtol(value.c_str(), &end, 10));
  return !value.empty() && *end == '\0';
}

bool set_gpu(GpuDescription& gpu, const std::string& key, const std::string& value) {
  if (key == "name") return gpu.name = "railgauge stand-in GPU " + value, true;
  if (key == "pci") return gpu.pci = value, value.size() == 12;
  if (key == "memory") return to_size(value, gpu.memory_bytes) && gpu.memory_bytes >= (1U << 20);
  if (key == "copy_gbyte_per_s") return gpu.copy_gbyte_per_s = std::atof(value.c_str()), gpu.copy_gbyte_per_s > 0;
  if (key == "dmabuf_pcie") return gpu.dmabuf_pcie = value == "yes", value == "yes" || value == "no";
  if (key == "compute") {
    int version = 0;
    if (!to_version(value, version)) return false;
    gpu.attributes[75] = version / 1000;
    gpu.attributes[76] = version % 1000 / 10;
    return true;
  }
  return key.rfind("attribute ", 0) == 0 && set_attribute(gpu, trim(key.substr(10)), value);
}

bool read_description_line(Description& d, const std::string& line) {
  if (line == "[gpu]") return d.gpus.size() < kMostGpus && (add_gpu(d), true);
  const auto equals = line.find('=');
  if (equals == std::string::npos) return false;
  const std::string key = trim(line.substr(0, equals));
  const std::string value = trim(line.substr(equals + 1));
  if (key == "driver" && d.gpus.empty()) return to_version(value, d.driver);
  return !d.gpus.empty() && set_gpu(d.gpus.back(), key, value);
}

/// "fail CALL code C [at N]" | "flip copy|launch N byte B" | "hang T at N"
bool read_fault_line(Faults& f, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::string what;
  std::string word;
  words >> verb >> what;
  if (verb == "fail") {
    Refusal r{what, 0, 0};
    if (!(words >> word >> r.code) || word != "code" || r.code <= 0) return false;
    if (words >> word && (word != "at" || !(words >> r.nth))) return false;
    f.refusals.push_back(r);
    return true;
  }
  if (verb == "flip") {
    Flip flip{what == "launch", 0, 0};
    f.flips.push_back(flip);
    return (what == "copy" || what == "launch") && (words >> f.flips.back().nth >> word >> f.flips.back().byte) && word == "byte";
  }
  f.hang_ns = static_cast<std::uint64_t>(std::atof(what.c_str()) * 1e9);
  return verb == "hang" && f.hang_ns > 0 && (words >> word >> f.hang_at) && word == "at";
}

}  // namespace

Description load_description() {
  Description d;
  read_lines("RAILGAUGE_SIM_CUDA", [&](const std::string& line) { return read_description_line(d, line); });
  if (d.gpus.empty()) add_gpu(d);
  return d;
}

Faults load_faults() {
  Faults f;
  read_lines("RAILGAUGE_SIM_CUDA_FAULTS", [&](const std::string& line) { return read_fault_line(f, line); });
  return f;
}

}  // namespace railgauge::simcuda
