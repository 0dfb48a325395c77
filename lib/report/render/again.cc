#include "report/render/again.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace railgauge::report {
namespace {

using plan::Metric;
using plan::Plan;
using plan::Transport;

/// Collects options, those that say something.
class Options {
 public:
  void flag(const char* option, bool given) {
    if (given) text_ += fmt::format(" {}", option);
  }
  template <typename T>
  void always(const char* option, const T& value) {
    text_ += fmt::format(" {} {}", option, shell_word(fmt::format("{}", value)));
  }
  template <typename T>
  void given(const char* option, const std::optional<T>& value) {
    if (value) always(option, *value);
  }
  /// Left out where it is what the command takes by itself.
  template <typename T>
  void unless(const char* option, const T& value, const T& usual) {
    if (value != usual) always(option, value);
  }
  void time(const char* option, plan::nanoseconds value) {
    using namespace std::chrono;
    std::string text = fmt::format("{}ns", value.count());
    if (value % microseconds(1) == nanoseconds::zero()) text = fmt::format("{}us", duration_cast<microseconds>(value).count());
    if (value % milliseconds(1) == nanoseconds::zero()) text = fmt::format("{}ms", duration_cast<milliseconds>(value).count());
    if (value % seconds(1) == nanoseconds::zero()) text = fmt::format("{}s", duration_cast<seconds>(value).count());
    always(option, text);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_measured(Options& out, const Plan& plan) {
  const Plan usual;
  const bool bulk = plan.metric != Metric::latency;
  if (plan.transport == Transport::rdma) out.always("--op", plan::name_of(plan.operation));
  out.always("--metric", plan::name_of(plan.metric));
  out.always("--size", plan.message_bytes);
  out.always("--direction", plan::name_of(plan.direction));
  if (plan.iterations) out.always("--iterations", *plan.iterations);
  else out.time("--duration", plan.duration);
  if (plan.iterations || plan.warm_up != usual.warm_up) out.time("--warm-up", plan.warm_up);
  if ((bulk || plan.under_load) && (plan.iterations || plan.interval != std::min(usual.interval, plan.duration))) out.time("--interval", plan.interval);
  out.flag("--verify", plan.verify && (plan.transport == Transport::tcp || !bulk || plan.verify_each));
  out.flag("--under-load", plan.under_load);
  if (plan.load_rate_per_s && !(plan.under_load && plan.load_rate_per_s == plan::kLoadedRate)) out.always("--load-rate", *plan.load_rate_per_s);
  out.given("--working-set", plan.transport == Transport::rdma ? plan.working_set_bytes : std::nullopt);
  out.flag("--hugepages", plan.paging == plan::Paging::huge);
}

void add_rdma(Options& out, const Plan& plan) {
  const plan::RdmaSettings& rdma = plan.rdma;
  const plan::RdmaSettings usual;
  out.unless("--qps", rdma.qps, usual.qps);
  out.unless("--threads", plan.threads, 1);
  out.always("--depth", rdma.depth);  // the usual ones of this and of --signal-every depend on much
  out.unless("--post-batch", rdma.post_batch, usual.post_batch);
  out.always("--signal-every", rdma.signal_every);
  out.given("--inline", rdma.inline_bytes);
  out.given("--max-reads", rdma.max_reads);
  out.flag("--events", rdma.events);
  if (rdma.rate_limit_gbit_per_s) out.always("--rate-limit", *rdma.rate_limit_gbit_per_s);
  out.given("--mtu", rdma.mtu_bytes);
  out.unless("--sl", rdma.service_level, usual.service_level);
  out.unless("--traffic-class", rdma.traffic_class, usual.traffic_class);
  out.unless("--retry-count", rdma.retry_count, usual.retry_count);
  out.unless("--timeout-code", rdma.timeout_code, usual.timeout_code);
  if (rdma.connect != usual.connect) out.always("--connect", plan::name_of(rdma.connect));
  out.flag("--no-relaxed-ordering", !rdma.relaxed_ordering);
}

void add_tcp(Options& out, const Plan& plan) {
  out.unless("--streams", plan.streams, 1);
  out.unless("--threads", plan.threads, plan.streams);
  out.always("--wait", plan::name_of(plan.tcp.wait));
  out.flag("--zerocopy", plan.tcp.zerocopy);
  out.given("--congestion", plan.tcp.congestion);
  out.given("--mss", plan.tcp.mss_bytes);
  out.given("--window", plan.tcp.window_bytes);
  if (plan.tcp.pacing_gbit_per_s) out.always("--pacing", *plan.tcp.pacing_gbit_per_s);
}

void add_placement(Options& out, const plan::Placement& place, const std::string& peer) {
  auto option = [&](const char* name) { return "--" + peer + name; };
  out.given(option("device").c_str(), place.device);
  out.given(option("device-port").c_str(), place.port);
  out.given(option("gid-index").c_str(), place.gid_index);
  out.given(option("interface").c_str(), place.interface);
  if (!place.cpus.empty()) out.always(option("cpu").c_str(), fmt::format("{}", fmt::join(place.cpus, ",")));
  out.given(option("numa").c_str(), place.numa_node);
}

/// What was typed beside the plan and holds for this measurement too, as "--option value" or "--option=value".
void add_typed(Options& out, const std::vector<std::string>& words, bool latency) {
  constexpr std::array<std::string_view, 7> kKept = {"--port", "--token-file", "--sysroot", "--link-gbps", "--require-rate", "--require-p50", "--require-p99"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto equals = words[i].find('=');
    std::string name = words[i].substr(0, equals);
    if (std::find(kKept.begin(), kKept.end(), name) == kKept.end()) continue;
    bool of_latency = name == "--require-p50" || name == "--require-p99";
    bool of_rate = name == "--require-rate" || name == "--link-gbps";
    if ((of_latency && !latency) || (of_rate && latency)) continue;
    if (equals != std::string::npos) out.always(name.c_str(), words[i].substr(equals + 1));
    else if (i + 1 < words.size()) out.always(name.c_str(), words[i + 1]);
  }
}

bool is_removed(const std::string& word) { return word == "[removed]" || word.find("=[removed]") != std::string::npos; }

/// The token of a command that had one typed.
const char* token_prefix(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), is_removed) ? "RAILGAUGE_TOKEN=… " : "";
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+[]";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string typed_command(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    bool pair = i + 1 < words.size() && words[i + 1] == "[removed]";
    if (!pair && !is_removed(words[i])) out += (out.empty() ? "" : " ") + shell_word(words[i]);
  }
  return token_prefix(words) + out;
}

std::string rerun_command(const plan::Plan& plan, const results::Record& record) {
  const std::vector<std::string> typed = record.nodes.empty() ? std::vector<std::string>{} : record.nodes.front().command_line;
  Options options;
  add_measured(options, plan);
  if (plan.transport == Transport::rdma) add_rdma(options, plan);
  else add_tcp(options, plan);
  add_placement(options, plan.client, "");
  add_placement(options, plan.server, "peer-");
  add_typed(options, typed, plan.metric == Metric::latency);
  return fmt::format("{}railgauge {} {}{}", token_prefix(typed), plan::name_of(plan.transport), shell_word(record.peer), options.take());
}

}  // namespace railgauge::report
