#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "plan/plan.h"

namespace railgauge::plan {
namespace {

template <typename Enum>
struct Name {
  Enum value;
  const char* text;
};

constexpr std::array<Name<Transport>, 2> kTransports{{{Transport::rdma, "rdma"}, {Transport::tcp, "tcp"}}};
constexpr std::array<Name<Operation>, 8> kOperations{{{Operation::write, "write"},
                                                      {Operation::write_imm, "write_imm"},
                                                      {Operation::read, "read"},
                                                      {Operation::send, "send"},
                                                      {Operation::fetch_add, "fetch_add"},
                                                      {Operation::compare_swap, "compare_swap"},
                                                      {Operation::stream, "stream"},
                                                      {Operation::round_trip, "round_trip"}}};
constexpr std::array<Name<Metric>, 3> kMetrics{
    {{Metric::bandwidth, "bandwidth"}, {Metric::latency, "latency"}, {Metric::rate, "rate"}}};
constexpr std::array<Name<Direction>, 3> kDirections{
    {{Direction::to, "to"}, {Direction::from, "from"}, {Direction::both, "both"}}};
constexpr std::array<Name<ConnectBy>, 2> kConnectBys{{{ConnectBy::socket, "socket"}, {ConnectBy::rdma_cm, "rdma_cm"}}};
constexpr std::array<Name<Wait>, 2> kWaits{{{Wait::spin, "spin"}, {Wait::block, "block"}}};
constexpr std::array<Name<Paging>, 2> kPagings{{{Paging::normal, "normal"}, {Paging::huge, "huge"}}};

template <typename Enum, std::size_t N>
const char* find_name(const std::array<Name<Enum>, N>& names, Enum value) noexcept {
  for (const auto& name : names)
    if (name.value == value) return name.text;
  return "unknown";
}

template <typename Enum, std::size_t N>
Enum find_value(const std::array<Name<Enum>, N>& names, std::string_view what, const std::string& text) {
  std::string wanted;
  for (std::size_t i = 0; i < N; ++i) {
    if (text == names[i].text) return names[i].value;
    wanted += i == 0 ? "" : i + 1 == N ? " or " : ", ";
    wanted += names[i].text;
  }
  throw Error(ErrorKind::usage, fmt::format("{} \"{}\" is unknown: use {}", what, printable(text), wanted));
}

}  // namespace

const char* name_of(Transport value) noexcept { return find_name(kTransports, value); }
const char* name_of(Operation value) noexcept { return find_name(kOperations, value); }
const char* name_of(Metric value) noexcept { return find_name(kMetrics, value); }
const char* name_of(Direction value) noexcept { return find_name(kDirections, value); }
const char* name_of(ConnectBy value) noexcept { return find_name(kConnectBys, value); }
const char* name_of(Wait value) noexcept { return find_name(kWaits, value); }
const char* name_of(Paging value) noexcept { return find_name(kPagings, value); }

Transport transport_from(const std::string& text) { return find_value(kTransports, "transport", text); }
Operation operation_from(const std::string& text) { return find_value(kOperations, "--op", text); }
Metric metric_from(const std::string& text) { return find_value(kMetrics, "--metric", text); }
Direction direction_from(const std::string& text) { return find_value(kDirections, "--direction", text); }
ConnectBy connect_by_from(const std::string& text) { return find_value(kConnectBys, "--connect", text); }
Wait wait_from(const std::string& text) { return find_value(kWaits, "--wait", text); }
Paging paging_from(const std::string& text) { return find_value(kPagings, "paging", text); }

}  // namespace railgauge::plan
