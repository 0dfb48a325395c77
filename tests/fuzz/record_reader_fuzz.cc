#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "report/judge.h"
#include "report/render/text.h"
#include "results/json.h"

namespace {

using railgauge::Error;
namespace results = railgauge::results;

/// Reads `text`; Error{data}, of a message Error{peer}, is the only way to refuse it.
template <typename Read>
void try_read(Read read, std::string_view text) {
  try {
    read(text);
  } catch (const Error& error) {
    if (error.kind() != railgauge::ErrorKind::data && error.kind() != railgauge::ErrorKind::peer) std::abort();
  }
}

}  // namespace

/// Whatever the bytes are: a reader refuses them by Error{data} or gives a value that can be written, read back to the same
/// text, judged and printed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try_read(
      [](std::string_view bytes) {
        results::Record record = results::record_from_json(bytes);
        std::string written = results::record_to_json(record);
        if (results::record_to_json(results::record_from_json(written)) != written) std::abort();
        for (auto& measurement : record.measurements) measurement.verdict = railgauge::report::judge(measurement, record);
        record.verdict = railgauge::report::overall(record);
        for (char c : railgauge::report::render_text(record))
          if (static_cast<unsigned char>(c) < 0x20 && c != '\n') std::abort();
      },
      text);
  try_read([](std::string_view bytes) { results::plan_from_json(bytes); }, text);
  try_read([](std::string_view bytes) { results::side_result_from_json(bytes); }, text);
  try_read([](std::string_view bytes) { results::node_from_json(bytes); }, text);
  return 0;
}
