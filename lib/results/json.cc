#include "results/json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "results/describe.h"

namespace railgauge::results {
namespace {

/// Takes a copy because `describe` serves both ways and takes a plain reference.
template <typename T>
std::string to_text(T value, Layout layout) {
  return write_document([&](Io& io) { describe(io, value); }, layout);
}

template <typename T>
T from_text(std::string_view text, std::string_view what, const TextLimits& limits) {
  T value;
  read_document(text, what, limits, [&](Io& io) { describe(io, value); });
  return value;
}

/// What crosses the control channel. Nonsense in it is the peer's fault and says nothing about data that was measured.
template <typename T>
T from_peer(std::string_view text, std::string_view what) {
  try {
    return from_text<T>(text, what, kMessageLimits);
  } catch (const Error& error) {
    throw Error(error.kind() == ErrorKind::data ? ErrorKind::peer : error.kind(), error.what(), error.code());
  }
}

constexpr std::string_view kSchemaPrefix = "https://railgauge.invalid/schema/record-";
constexpr int kSchemaMajor = 1;

/// Reads before everything else, so that another major version is named as such and not as a wrong key.
void check_schema(Io& io) {
  std::string schema;
  io.field("schema", schema);
  int major = -1;
  if (schema.compare(0, kSchemaPrefix.size(), kSchemaPrefix) == 0)
    std::from_chars(schema.data() + kSchemaPrefix.size(), schema.data() + schema.size(), major);
  if (major < 0) throw Error(ErrorKind::data, fmt::format("record: schema \"{}\" is no railgauge record", printable(schema.substr(0, 100))));
  if (major != kSchemaMajor)
    throw Error(ErrorKind::data, fmt::format("record: its schema is of major version {}, this program reads major version {}", major, kSchemaMajor));
}

std::string read_whole(const std::string& path) {
  std::string obstacle;
  UniqueFd fd = open_plain_file(path, obstacle);
  if (!fd) throw Error(ErrorKind::system, fmt::format("open {}: {}", path, obstacle), errno);
  std::string text;
  std::array<char, 65536> chunk;
  while (text.size() <= kFileLimits.bytes) {
    ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(fmt::format("read {}", path), errno);
    if (n == 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

std::string plan_to_json(const plan::Plan& plan) { return to_text(plan, Layout::one_line); }
std::string side_result_to_json(const SideResult& side) { return to_text(side, Layout::one_line); }
std::string node_to_json(const Node& node) { return to_text(node, Layout::one_line); }
std::string record_to_json(const Record& record) { return to_text(record, Layout::pretty); }

plan::Plan plan_from_json(std::string_view text) { return from_peer<plan::Plan>(text, "plan"); }
SideResult side_result_from_json(std::string_view text) { return from_peer<SideResult>(text, "result"); }
Node node_from_json(std::string_view text) { return from_peer<Node>(text, "node"); }

Record record_from_json(std::string_view text) {
  Record record;
  read_document(text, "record", kFileLimits, [&](Io& io) {
    check_schema(io);
    describe(io, record);
  });
  return record;
}

Record read_record(const std::string& path) {
  try {
    return record_from_json(read_whole(path));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::system) throw;
    throw Error(error.kind(), fmt::format("{}: {}", path, error.what()), error.code());
  }
}

}  // namespace railgauge::results
