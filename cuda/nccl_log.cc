#include "cuda/nccl_log.h"

#include <map>
#include <utility>

#include "cuda/nccl_log_lines.h"
#include "cuda/nccl_log_message.h"

namespace railgauge::cuda {
namespace {

/// Lines that may be the rest of a broken one: an editor's 72 columns make four pieces of NCCL's longest completion line.
constexpr std::size_t kMostRests = 5;

using Reader = bool (*)(NcclLog&, const Origin&);

/// Order matters in one place only: "NET/Plugin: …" is also a "NET/<name>: …".
constexpr Reader kReaders[] = {
    read_channel,       read_trees,      read_connected,  read_comm,         read_init_timings, read_channel_counts, read_graph,
    read_algorithm,     read_nvls,       read_version,    read_driver_version, read_environment, read_network_name,  read_interfaces,
    read_plugin,        read_gdr,        read_nic_list,   read_nic_detail,   read_virtual_nic,  read_dmabuf,         read_completion,
    read_async_event,   read_failed_call, read_trace,     read_hint,
};

/// What a warning may say besides itself.
constexpr Reader kTroubleReaders[] = {read_completion, read_async_event, read_failed_call};

void keep(KeptLines& lines, std::size_t number, const std::string& text) {
  ++lines.count;
  if (lines.first.size() < kKeptLines) lines.first.emplace_back(number, text.substr(0, kKeptLineBytes));
}

class Parser {
 public:
  NcclLog parse(std::string_view text) {
    const std::vector<CleanLine> lines = clean_lines(text, kLongestLineBytes);
    log_.last_line_cut = !text.empty() && text.back() != '\n';
    for (const CleanLine& line : lines)
      if (line.readable) collect_host(line.text, hosts_);
    for (const CleanLine& line : lines) take(line);
    flush();
    return std::move(log_);
  }

 private:
  void take(const CleanLine& line) {
    if (!line.readable) {
      flush();
      return keep(log_.unknown, line.number, line.text);
    }
    std::vector<Message> messages = messages_of(line, hosts_);
    if (messages.empty()) return take_plain(line);
    for (Message& message : messages) {
      flush();
      pending_ = std::move(message);
    }
  }

  /// A line without NCCL's mark: the rest of the one before, the version, or somebody else's.
  void take_plain(const CleanLine& line) {
    if (line.text.find_first_not_of(' ') == std::string::npos) return flush();
    if (pending_ && rests_.size() < kMostRests && is_continued_by(with_rests(), line.text)) return rests_.push_back(line);
    flush();
    const Origin origin{line.number, std::nullopt, std::nullopt, line.text};
    if (!read_version(log_, origin) && !read_hint(log_, origin)) keep(log_.foreign, line.number, line.text);
  }

  std::string with_rests() const {
    std::string text = pending_->text;
    for (const CleanLine& rest : rests_) text.append(rest.text.front() == '/' ? "" : " ").append(rest.text);
    return text;
  }

  void flush() {
    if (!pending_) return;
    std::string whole = with_rests();
    Message message = std::move(*pending_);
    pending_.reset();
    if (!is_incomplete(whole)) {
      message.text = std::move(whole);
      rests_.clear();
    }
    read_message(message);
    for (const CleanLine& rest : std::exchange(rests_, {})) keep(log_.foreign, rest.number, rest.text);
  }

  void read_message(const Message& message) {
    const Origin origin{message.line, process_of(message), message.cuda_dev, message.text};
    if (message.torn) return keep(log_.unknown, message.line, message.text);
    if (message.warn) return warn(message, origin);
    for (Reader read : kReaders)
      if (read(log_, origin)) return;
    if (!message.text.empty()) keep(log_.unknown, message.line, message.text);
  }

  void warn(const Message& message, const Origin& origin) {
    log_.warnings.push_back({origin, message.file, message.file_line, message.function});
    read_hint(log_, origin);
    for (Reader read : kTroubleReaders)
      if (read(log_, origin)) return;
  }

  std::optional<std::size_t> process_of(const Message& message) {
    if (message.host.empty()) return std::nullopt;
    const auto [found, is_new] = processes_.try_emplace({message.host, message.pid}, log_.processes.size());
    if (is_new) log_.processes.push_back({message.host, message.pid});
    return found->second;
  }

  NcclLog log_;
  Hosts hosts_;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> processes_;
  std::optional<Message> pending_;            ///< not read before it is known whether the next line belongs to it
  std::vector<CleanLine> rests_;              ///< plain lines that may belong to it
};

}  // namespace

NcclLog parse_nccl_log(std::string_view text) { return Parser().parse(text); }

}  // namespace railgauge::cuda
