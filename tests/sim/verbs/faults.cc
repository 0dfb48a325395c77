#include "faults.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "clock.h"
#include "cq.h"
#include "device_state.h"
#include "helper.h"

namespace railgauge::simverbs {

struct TimedFault {
  std::uint64_t due_ns = 0;
  std::string verb;      ///< event or port
  std::string argument;  ///< PORT_ERR …; up or down
  int port = 1;
  bool done = false;
};

struct NumberedFault {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  MessageFault fault;
};

struct FaultPlan {
  std::atomic<std::uint64_t> posted{0};
  std::vector<NumberedFault> numbered;
  std::vector<TimedFault> timed;
  std::map<std::string, int> refused;
  double slow = 1;  ///< share of the described speed
};

namespace {

std::string script_text() {
  const char* value = std::getenv("RAILGAUGE_SIM_FAULTS");
  if (value == nullptr) return {};
  std::error_code none;  // a FIFO of that name would hold the program up
  std::ifstream file(std::filesystem::is_regular_file(value, none) ? value : "");
  std::string text = value;
  if (file) {
    std::stringstream all;
    all << file.rdbuf();
    text = all.str();
  }
  for (char& c : text) {
    if (c == ';') c = '\n';
  }
  return text;
}

bool parse_seconds(std::string text, std::uint64_t& ns) {
  double unit = 1e9;
  if (text.size() > 2 && text.compare(text.size() - 2, 2, "ms") == 0) {
    unit = 1e6;
    text.resize(text.size() - 2);
  } else if (!text.empty() && text.back() == 's') {
    text.pop_back();
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  ns = static_cast<std::uint64_t>(value * unit);
  return !text.empty() && *end == '\0' && value >= 0;
}

/// "N", "N..M" or "N..".
bool parse_numbers(const std::string& text, NumberedFault& n) {
  char* end = nullptr;
  n.first = n.last = std::strtoull(text.c_str(), &end, 10);
  if (std::strncmp(end, "..", 2) == 0) {
    const char* last = end + 2;
    n.last = *last == '\0' ? ~0ULL : std::strtoull(last, &end, 10);
    if (*last == '\0') end += 2;
  }
  return std::isdigit(static_cast<unsigned char>(text.front())) != 0 && *end == '\0' && n.first > 0 && n.last >= n.first;
}

/// "drop" | "short" | "unseen" | "flip byte B" | "torn at byte B"
bool parse_tamper(const std::string& what, std::istringstream& words, Tamper& tamper) {
  using Kind = Tamper::Kind;
  const std::map<std::string, Kind> plain = {{"drop", Kind::drop}, {"short", Kind::shorter}, {"unseen", Kind::unseen}};
  if (const auto at = plain.find(what); at != plain.end()) {
    tamper.kind = at->second;
    return true;
  }
  std::string word;
  tamper.kind = what == "flip" ? Kind::flip : Kind::torn;
  if (what != "flip" && !(what == "torn" && words >> word && word == "at")) return false;
  std::int64_t byte = -1;
  if (!(words >> word >> byte) || word != "byte" || byte < 0) return false;
  tamper.byte = static_cast<std::uint64_t>(byte);
  return true;
}

/// "message N[..[M]] status S", "… stuck" or what parse_tamper takes.
bool parse_message(std::istringstream& words, FaultPlan& plan) {
  NumberedFault n;
  std::string numbers;
  std::string what;
  if (!(words >> numbers >> what) || !parse_numbers(numbers, n)) return false;
  if (what == "stuck") {
    n.fault.stuck = true;
  } else if (what == "status") {
    int status = 0;
    if (!(words >> status) || status < 0 || status > IBV_WC_TM_RNDV_INCOMPLETE) return false;
    n.fault.status_given = true;
    n.fault.status = static_cast<std::uint8_t>(status);
  } else if (!parse_tamper(what, words, n.fault.tamper)) {
    return false;
  }
  plan.numbered.push_back(n);
  return true;
}

int event_code(const std::string& name) {
  constexpr const char* kNames[] = {"CQ_ERR",      "QP_FATAL",     "QP_REQ_ERR",  "QP_ACCESS_ERR", "COMM_EST",
                                    "SQ_DRAINED",  "PATH_MIG",     "PATH_MIG_ERR", "DEVICE_FATAL", "PORT_ACTIVE",
                                    "PORT_ERR", "LID_CHANGE",   "PKEY_CHANGE", "SM_CHANGE",     "SRQ_ERR",
                                    "SRQ_LIMIT",   "LAST_WQE",     "CLIENT_REREGISTER", "GID_CHANGE", "WQ_FATAL"};
  for (int code = 0; code < 20; ++code) {
    if (name == kNames[code]) return code;
  }
  return -1;
}

/// Only events that belong to a port or the device can be scripted: the others need an object.
bool scriptable(int code) {
  return code == IBV_EVENT_DEVICE_FATAL || code == IBV_EVENT_PORT_ACTIVE || code == IBV_EVENT_PORT_ERR ||
         (code >= IBV_EVENT_LID_CHANGE && code <= IBV_EVENT_SM_CHANGE) || code == IBV_EVENT_CLIENT_REREGISTER ||
         code == IBV_EVENT_GID_CHANGE;
}

/// "after T event NAME [port P]" | "after T port up|down [P]"
bool parse_after(std::istringstream& words, FaultPlan& plan) {
  TimedFault t;
  std::string delay;
  if (!(words >> delay >> t.verb >> t.argument) || !parse_seconds(delay, t.due_ns)) return false;
  const bool known = t.verb == "event" ? scriptable(event_code(t.argument))
                                       : t.verb == "port" && (t.argument == "up" || t.argument == "down");
  std::string word;
  if (t.verb == "event" && words >> word && word != "port") return false;
  words >> t.port;
  plan.timed.push_back(t);
  return known;
}

bool parse_line(const std::string& line, FaultPlan& plan) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "message") return parse_message(words, plan);
  if (verb == "after") return parse_after(words, plan);
  if (verb == "slow") return (words >> plan.slow) && plan.slow > 0 && plan.slow <= 1;
  std::string call;
  std::string word;
  int number = 0;
  if (verb != "fail" || !(words >> call >> word >> number) || word != "errno" || number <= 0) return false;
  plan.refused[call] = number;
  return true;
}

std::unique_ptr<FaultPlan, Deleter> read_plan() {
  std::unique_ptr<FaultPlan, Deleter> plan(new FaultPlan);
  std::istringstream lines(script_text());
  std::string line;
  bool any = false;
  while (std::getline(lines, line)) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    any = true;
    if (parse_line(line, *plan)) continue;
    std::fprintf(stderr, "railgauge-sim: RAILGAUGE_SIM_FAULTS: cannot understand \"%s\"\n", line.c_str());
    std::_Exit(2);
  }
  return any ? std::move(plan) : nullptr;
}

void carry_out(SimContext& c, const TimedFault& t) noexcept {
  if (t.verb == "port") return set_port_up(c, static_cast<std::uint32_t>(t.port), t.argument == "up");
  raise_event(*c.self, {static_cast<std::uint32_t>(event_code(t.argument)), 0, static_cast<std::uint64_t>(t.port)});
}

}  // namespace

void Deleter::operator()(FaultPlan* plan) const noexcept { delete plan; }

void start_faults(SimContext& c) {
  c.faults = read_plan();
  if (!c.faults) return;
  const std::uint64_t now = now_ns();
  for (auto& t : c.faults->timed) t.due_ns += now;
  c.slow_factor = c.faults->slow;
  c.faulty = true;
  if (!c.faults->timed.empty()) wake_helper(c);
}

MessageFault next_message(SimContext& c) noexcept {
  FaultPlan& plan = *c.faults;
  if (plan.slow < 1 && !c.paced) {
    // an unpaced device has no rate to take a share of: a message costs what one doorbell costs, divided by the share
    spend_ticks(static_cast<std::uint64_t>(static_cast<double>(c.doorbell_ticks) * (1 / plan.slow - 1)));
  }
  const std::uint64_t number = ++plan.posted;
  for (const auto& n : plan.numbered) {
    if (n.first <= number && number <= n.last) return n.fault;
  }
  return {};
}

int forced_errno(SimContext& c, const char* call) noexcept {
  const auto at = c.faults->refused.find(call);
  return at == c.faults->refused.end() ? 0 : at->second;
}

int forced_errno_without_context(const char* call) noexcept {
  const auto plan = read_plan();
  if (!plan) return 0;
  const auto at = plan->refused.find(call);
  return at == plan->refused.end() ? 0 : at->second;
}

std::uint64_t run_timed_faults(SimContext& c) noexcept {
  if (!c.faults) return 0;
  std::uint64_t next = 0;
  for (auto& t : c.faults->timed) {
    if (t.done) continue;
    const std::uint64_t now = now_ns();
    if (now >= t.due_ns) {
      carry_out(c, t);
      t.done = true;
    } else if (next == 0 || t.due_ns - now < next) {
      next = t.due_ns - now;
    }
  }
  return next;
}

}  // namespace railgauge::simverbs
