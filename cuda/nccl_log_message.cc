#include "cuda/nccl_log_message.h"

#include <algorithm>
#include <cctype>

#include "cuda/nccl_log_scan.h"

namespace railgauge::cuda {
namespace {

constexpr std::size_t kMarkerBytes = std::string_view("NCCL INFO").size();
constexpr std::size_t kLongestHost = 255;     // RFC 1035

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_host_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-'; }

/// Where the escape sequence (ECMA-48 CSI, or one character) that begins at `at` ends.
std::size_t end_of_escape(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || text[at + 1] != '[') return std::min(at + 2, text.size());
  std::size_t end = at + 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

std::string without_controls(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] == '\x1b') {
      i = end_of_escape(raw, i);
      continue;
    }
    const auto byte = static_cast<unsigned char>(raw[i++]);
    text += byte < 0x20 || byte == 0x7f ? ' ' : static_cast<char>(byte);
  }
  return text;
}

std::string_view trimmed_right(std::string_view text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

std::string_view last_word(std::string_view text) {
  const std::size_t space = text.rfind(' ');
  return space == std::string_view::npos ? text : text.substr(space + 1);
}

/// The place of the next " NCCL INFO " or " NCCL WARN " as a whole phrase.
std::size_t find_marker(std::string_view line, std::size_t from) {
  for (std::size_t at = line.find("NCCL ", from); at != std::string_view::npos; at = line.find("NCCL ", at + 1)) {
    const std::string_view word = line.substr(at + 5, 4);
    const std::size_t end = at + kMarkerBytes;
    if ((word == "INFO" || word == "WARN") && (at == 0 || line[at - 1] == ' ') && (end == line.size() || line[end] == ' ')) return at;
  }
  return std::string_view::npos;
}

/// What stands before a marker, read from the right.
struct Prefix {
  std::size_t begin = 0;                      ///< its first character within what it was read from
  Message named;                              ///< host, pid, device, file
};

/// Takes "(function)", "file:line" and "[device]" from the right end of `text`.
void take_place(std::string_view& text, Message& named) {
  text = trimmed_right(text);
  const std::size_t open = text.rfind('(');
  if (text.ends_with(')') && open != std::string_view::npos) {
    named.function = std::string(text.substr(open + 1, text.size() - open - 2));
    text = trimmed_right(text.substr(0, open));
  }
  std::string_view word = last_word(text);
  const std::size_t colon = word.rfind(':');
  if (colon != std::string_view::npos && word.find(':') == colon && word.find('.') < colon) {
    if (const auto number = whole_number(word.substr(colon + 1))) {
      named.file = std::string(word.substr(0, colon));
      named.file_line = *number;
      text = trimmed_right(text.substr(0, text.size() - word.size()));
    }
  }
  word = last_word(text);
  if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
    if (const auto number = whole_number(word.substr(1, word.size() - 2))) {
      if (*number >= 0) named.cuda_dev = *number;
      text = trimmed_right(text.substr(0, text.size() - word.size()));
    }
  }
}

/// Takes ":123" from the right end.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::size_t digits = text.size();
  while (digits > 0 && is_digit(text[digits - 1])) --digits;
  if (digits == 0 || digits == text.size() || text[digits - 1] != ':') return std::nullopt;
  const auto number = whole_number<std::uint64_t>(text.substr(digits));
  if (number) text = text.substr(0, digits - 1);
  return number;
}

Prefix prefix_at_end_of(std::string_view before) {
  Prefix prefix;
  take_place(before, prefix.named);
  prefix.begin = before.size();
  std::string_view text = before;
  if (!take_number(text)) return prefix;
  const auto pid = take_number(text);
  if (!pid) return prefix;
  std::size_t host = text.size();
  while (host > 0 && text.size() - host < kLongestHost && is_host_character(text[host - 1])) --host;
  if (host == text.size()) return prefix;
  prefix.begin = host;
  prefix.named.host = std::string(text.substr(host));
  prefix.named.pid = *pid;
  return prefix;
}

/// Shortens a host that has other text glued before it to the longest one that is known; whether there was one.
bool settle_host(Prefix& prefix, const Hosts& hosts) {
  std::string_view host = prefix.named.host;
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (!hosts.contains(host.substr(i))) continue;
    prefix.begin += i;
    prefix.named.host.erase(0, i);
    return true;
  }
  return false;
}

}  // namespace

std::vector<CleanLine> clean_lines(std::string_view text, std::size_t longest) {
  std::vector<CleanLine> lines;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view whole = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    ++number;
    while (!whole.empty()) {
      const std::size_t carriage = whole.find('\r');
      const std::string_view piece = whole.substr(0, carriage);
      whole.remove_prefix(carriage == std::string_view::npos ? whole.size() : carriage + 1);
      if (piece.empty()) continue;
      const bool readable = newline != std::string_view::npos && piece.size() <= longest;
      lines.push_back({number, without_controls(piece.substr(0, longest)), readable});
    }
  }
  return lines;
}

void collect_host(std::string_view line, Hosts& hosts) {
  const std::size_t marker = find_marker(line, 0);
  if (marker == std::string_view::npos) return;
  Prefix prefix = prefix_at_end_of(line.substr(0, marker));
  if (!prefix.named.host.empty()) hosts.insert(std::move(prefix.named.host));
}

std::vector<Message> messages_of(const CleanLine& line, const Hosts& hosts) {
  std::vector<Message> messages;
  const std::string_view text = line.text;
  std::size_t from = 0;
  for (std::size_t marker = find_marker(text, 0); marker != std::string_view::npos;) {
    Prefix prefix = prefix_at_end_of(text.substr(from, marker - from));
    if (!messages.empty()) {
      const bool known = settle_host(prefix, hosts);
      if (!known) prefix.named.host.clear();
      messages.back().torn = !known;
      messages.back().text = std::string(trimmed_right(text.substr(from, prefix.begin)));
    }
    Message message = std::move(prefix.named);
    message.line = line.number;
    message.warn = text.substr(marker + 5, 4) == "WARN";
    from = std::min(marker + kMarkerBytes + 1, text.size());
    marker = find_marker(text, from);
    message.text = std::string(trimmed_right(text.substr(from)));
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace railgauge::cuda
