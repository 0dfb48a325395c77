#include "control/token.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/secret.h"

namespace railgauge::control {
namespace {

// Crockford's base 32 in lower case: no i, l, o, u, so that a token can be read aloud and typed.
constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
static_assert(kAlphabet.size() == 32);
constexpr std::size_t kGroups = 7, kGroupLetters = 4;  // 28 letters of 5 bits: 140 bits
constexpr std::size_t kShortToken = 16;
constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace

std::string make_token() {
  std::array<std::uint8_t, kGroups * kGroupLetters> random{};
  fill_random(random);
  std::string token;
  for (std::size_t i = 0; i < random.size(); ++i) {
    if (i > 0 && i % kGroupLetters == 0) token += '-';
    token += kAlphabet[random[i] % kAlphabet.size()];  // 256 is a multiple of 32: no letter is likelier
  }
  wipe(random);
  return token;
}

std::string read_token_file(const std::string& path) {
  std::string obstacle;
  UniqueFd fd = open_plain_file(path, obstacle);
  if (!fd) throw Error(ErrorKind::usage, fmt::format("--token-file {}: {}: name a file whose first line is the token", path, obstacle), errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && (status.st_mode & (S_IRGRP | S_IROTH)) != 0) {
    log_warning("--token-file {} can be read by others than its owner: chmod 600 {}", path, path);
  }
  // One byte more than allowed, to notice what is longer.
  std::array<char, kMaxTokenBytes + 1> room{};
  std::size_t filled = 0;
  while (filled < room.size()) {
    ssize_t n = ::read(fd.get(), room.data() + filled, room.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(ErrorKind::usage, fmt::format("--token-file {}: {}", path, errno_text(errno)), errno);
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  std::string_view text(room.data(), filled);
  std::string_view line = text.substr(0, text.find('\n'));
  refuse_long_token(line, fmt::format("--token-file {}", path));
  std::size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) throw Error(ErrorKind::usage, fmt::format("--token-file {}: no token in its first line", path));
  std::string token(line.substr(first, line.find_last_not_of(kBlanks) - first + 1));
  ::explicit_bzero(room.data(), room.size());
  return token;
}

void refuse_long_token(std::string_view token, const std::string& source) {
  if (token.size() <= kMaxTokenBytes) return;
  throw Error(ErrorKind::usage, fmt::format("{}: the token is longer than {} bytes: use a shorter one, best one that `railgauge serve` makes", source, kMaxTokenBytes));
}

std::optional<std::string> weakness_of(std::string_view token) {
  if (token.empty() || token.size() >= kShortToken) return std::nullopt;
  return fmt::format("the token has {} characters; use at least {}, best one that `railgauge serve` makes", token.size(), kShortToken);
}

}  // namespace railgauge::control
