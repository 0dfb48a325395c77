#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// From the bytes of a file to NCCL's messages, before anything is known of what they say.
namespace railgauge::cuda {

/// A line without colours and control characters.
struct CleanLine {
  std::size_t number = 0;                     ///< from 1
  std::string text;
  bool readable = true;                       ///< false: cut by the end of the file, or too long (only its begin is kept)
};

/// Lines end at line feeds; carriage returns divide them further (progress bars). Control characters become spaces.
std::vector<CleanLine> clean_lines(std::string_view text, std::size_t longest);

/// One "… NCCL INFO text" or "… NCCL WARN text".
struct Message {
  std::size_t line = 0;
  bool warn = false;
  bool torn = false;                          ///< another line was written into this one at a place that cannot be told
  std::string host;                           ///< empty where the prefix names none
  std::uint64_t pid = 0;
  std::optional<int> cuda_dev;
  std::optional<std::string> file;
  std::optional<int> file_line;
  std::optional<std::string> function;
  std::string text;
};

using Hosts = std::set<std::string, std::less<>>;

/// Adds the host that the first message of `line` names.
void collect_host(std::string_view line, Hosts& hosts);

/// All messages of a line, which are several where processes wrote at once; none for a line that is not NCCL's. `hosts`
/// divides "…treesnode2:811:902 [1] NCCL INFO …", which nothing else could.
std::vector<Message> messages_of(const CleanLine& line, const Hosts& hosts);

}  // namespace railgauge::cuda
