#include "results/provenance.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "base/error.h"
#include "results/build_commit.h"
#include "results/build_info.h"

namespace railgauge::results {
namespace {

/// libibverbs 1.14.44.0 belongs to rdma-core 44.0: its version ends in the package's (rdma-core, CMakeLists.txt,
/// IBVERBS_PABI and PACKAGE_VERSION).
std::string rdma_core_version() {
  std::string_view version = kLibibverbsVersion;
  auto first = version.find('.');
  auto second = first == std::string_view::npos ? first : version.find('.', first + 1);
  return std::string(second == std::string_view::npos ? version : version.substr(second + 1));
}

constexpr std::array<std::string_view, 4> kSecretOptions = {"--token", "--password", "--secret", "--key"};
constexpr const char* kRemoved = "[removed]";

/// The option of `argument` that takes a secret: itself ("--token") or as "--token=…".
std::string_view secret_option(std::string_view argument) {
  for (std::string_view option : kSecretOptions) {
    if (argument.substr(0, option.size()) != option) continue;
    if (argument.size() == option.size() || argument[option.size()] == '=') return option;
  }
  return {};
}

}  // namespace

Provenance this_build() {
  Provenance out;
  out.version = kVersion;
  out.commit = kCommit;
  out.compiler = kCompiler;
  out.flags = kFlags;
  out.build_type = kBuildType;
  out.libraries["rdma-core"] = rdma_core_version();
  out.libraries["fmt"] = kFmtVersion;
  out.libraries["nlohmann_json"] = kNlohmannVersion;
  out.libraries["libsodium"] = sodium_version_string();
  return out;
}

std::string new_run_id() {
  std::array<unsigned char, 16> bytes{};
  ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
  if (got != static_cast<ssize_t>(bytes.size())) throw system_error("getrandom 16 bytes", got < 0 ? errno : EIO);
  auto now = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<unsigned char>(now >> (8 * (5 - i)));
  // RFC 9562 section 5.7: version 7 in the high nibble of byte 6, variant 10 in the high bits of byte 8.
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x70);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

std::vector<std::string> recordable_command_line(int argc, const char* const* argv) {
  std::vector<std::string> out;
  bool value_follows = false;
  for (int i = 0; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (value_follows) {
      out.emplace_back(kRemoved);
      value_follows = false;
      continue;
    }
    std::string_view option = secret_option(argument);
    value_follows = !option.empty() && option.size() == argument.size();
    out.emplace_back(option.empty() || value_follows ? std::string(argument) : fmt::format("{}={}", option, kRemoved));
  }
  return out;
}

}  // namespace railgauge::results
