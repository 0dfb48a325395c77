#include "plan/label.h"

#include <fmt/format.h>

#include "base/units.h"

namespace railgauge::plan {
namespace {

/// "8 QPs" of all threads together, "1 stream".
std::string flows_of(const Plan& plan) {
  const bool rdma = plan.transport == Transport::rdma;
  const int flows = rdma ? plan.rdma.qps * plan.threads : plan.streams;
  return fmt::format("{} {}{}", flows, rdma ? "QP" : "stream", flows == 1 ? "" : "s");
}

const char* words_of(Direction direction) {
  switch (direction) {
    case Direction::to: return "A to B";
    case Direction::from: return "B to A";
    case Direction::both: return "both ways";
  }
  return "";
}

}  // namespace

const char* arrow_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::to: return "A→B";
    case Direction::from: return "B→A";
    case Direction::both: return "A↔B";
  }
  return "";
}

std::string label_of(const Plan& plan) {
  const bool tcp = plan.transport == Transport::tcp;
  std::string how;
  if (plan.metric == Metric::latency)
    how = plan.under_load ? "latency under load" : "latency";
  else
    how = (tcp ? "" : plan.metric == Metric::rate ? "rate " : "bandwidth ") + flows_of(plan);
  return fmt::format("{} {} {} {}", tcp ? "TCP" : name_of(plan.operation), how, format_size(plan.message_bytes), words_of(plan.direction));
}

std::string short_label_of(const Plan& plan) {
  const bool latency = plan.metric == Metric::latency;
  const bool rdma = plan.transport == Transport::rdma;
  std::string out = plan.operation == Operation::round_trip ? "round trip" : name_of(plan.operation);
  if (rdma && (!latency || plan.under_load)) out += " " + flows_of(plan);
  if (!rdma && !latency) out = flows_of(plan);
  return fmt::format("{} {} {}{}", out, format_size(plan.message_bytes), arrow_of(plan.direction), plan.under_load ? " loaded" : "");
}

}  // namespace railgauge::plan
