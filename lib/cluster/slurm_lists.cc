#include "cluster/slurm_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/units.h"

namespace railgauge::cluster {
namespace {

constexpr std::uint64_t kMaxNumber = 999'999'999;

/// What is being read and whose it is; for messages.
struct Source {
  std::string_view text;
  std::string_view what;
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::usage, fmt::format("{}={}: {}", what, printable(text.substr(0, 200)), why));
  }
};

/// Cuts at commas that stand outside brackets.
std::vector<std::string_view> cut_names(const Source& source) {
  std::vector<std::string_view> names;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= source.text.size(); ++i) {
    char c = i < source.text.size() ? source.text[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0 || depth > 1) source.refuse("its brackets do not match");
    if (c != ',' || depth != 0) continue;
    names.push_back(source.text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (depth != 0) source.refuse("its brackets do not match");
  return names;
}

std::uint64_t number(std::string_view digits, const Source& source) {
  if (digits.size() > 20) source.refuse("a number of more than 20 digits");
  try {
    return parse_count(digits, "a node's number", 0, kMaxNumber);
  } catch (const Error& error) {
    source.refuse(error.what());
  }
}

/// "01-03,7" → 01, 02, 03, 7.
std::vector<std::string> expand_bracket(std::string_view inside, const Source& source) {
  std::vector<std::string> out;
  while (true) {
    std::size_t comma = inside.find(',');
    std::string_view item = inside.substr(0, comma);
    std::string_view low = item.substr(0, item.find('-'));
    std::string_view high = low.size() < item.size() ? item.substr(low.size() + 1) : low;
    std::uint64_t first = number(low, source), last = number(high, source);
    if (first > last) source.refuse(fmt::format("the range {} falls", printable(item)));
    if (last - first >= kMaxNodes - out.size()) source.refuse(fmt::format("more than {} hosts", kMaxNodes));
    for (std::uint64_t n = first; n <= last; ++n) out.push_back(fmt::format("{:0{}}", n, low.size()));
    if (comma == std::string_view::npos) return out;
    inside.remove_prefix(comma + 1);
  }
}

/// All names of one "gpu-a[1-2]b[3-4]".
std::vector<std::string> expand_name(std::string_view name, const Source& source) {
  std::vector<std::string> out{""};
  while (!name.empty()) {
    std::size_t open = name.find('[');
    std::size_t close = name.find(']', open == std::string_view::npos ? 0 : open);
    std::vector<std::string> next{std::string(name.substr(0, open))};
    if (open != std::string_view::npos) {
      std::string prefix = std::exchange(next, expand_bracket(name.substr(open + 1, close - open - 1), source)).front();
      for (std::string& text : next) text.insert(0, prefix);
    }
    if (out.size() * next.size() > kMaxNodes) source.refuse(fmt::format("more than {} hosts", kMaxNodes));
    std::vector<std::string> product;
    for (const std::string& head : out) {
      for (const std::string& tail : next) product.push_back(head + tail);
    }
    out = std::move(product);
    name = open == std::string_view::npos ? std::string_view{} : name.substr(close + 1);
  }
  return out;
}

bool fits_a_host_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

}  // namespace

std::vector<std::string> expand_node_list(std::string_view text, std::string_view what) {
  Source source{text, what};
  std::vector<std::string> out;
  for (std::string_view name : cut_names(source)) {
    for (std::string& host : expand_name(name, source)) {
      if (host.empty() || !std::all_of(host.begin(), host.end(), fits_a_host_name))
        source.refuse(fmt::format("\"{}\" is no host name", printable(host)));
      if (out.size() == kMaxNodes) source.refuse(fmt::format("more than {} hosts", kMaxNodes));
      out.push_back(std::move(host));
    }
  }
  return out;
}

std::vector<int> expand_tasks_per_node(std::string_view text, std::string_view what) {
  Source source{text, what};
  std::vector<int> out;
  while (true) {
    std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    std::string_view tasks = item.substr(0, item.find('('));
    std::string_view times = item.substr(tasks.size());
    if (!times.empty() && (times.size() < 4 || times.substr(0, 2) != "(x" || times.back() != ')'))
      source.refuse("wanted tasks of each node, as in 4(x2),3");
    std::uint64_t repeats = times.empty() ? 1 : number(times.substr(2, times.size() - 3), source);
    if (repeats == 0 || repeats > kMaxNodes - out.size()) source.refuse(fmt::format("wanted 1 to {} nodes", kMaxNodes));
    out.insert(out.end(), repeats, static_cast<int>(number(tasks, source)));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace railgauge::cluster
