#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/tsc.h"
#include "base/units.h"
#include "bench/engine.h"
#include "bench/rdma/group.h"
#include "bench/rdma/measure.h"
#include "bench/rdma/path.h"
#include "bench/rdma/place.h"
#include "bench/rdma/report.h"
#include "control/heartbeat.h"
#include "host/facts.h"
#include "verbs/cm.h"
#include "verbs/event_watcher.h"

namespace railgauge::bench {
namespace {

using plan::Metric;
using plan::Operation;
using plan::Plan;

const TickClock& tick_clock() {
  static const TickClock clock = TickClock::calibrate();  // once per process: it costs 20 ms
  return clock;
}

std::uint64_t default_working_set(const Plan& plan, const host::Snapshot& snapshot) {
  std::uint64_t bytes = kMostWorkingSet;
  if (snapshot.last_level_cache_bytes) bytes = std::min(bytes, 4 * *snapshot.last_level_cache_bytes);
  if (snapshot.memory_bytes) bytes = std::min(bytes, *snapshot.memory_bytes / 8);
  bytes /= static_cast<std::uint64_t>(plan.threads);
  return std::max(bytes, plan.message_bytes);
}

std::uint32_t inline_wish(const Plan& plan) {
  if (is_read_or_atomic(plan.operation)) return 0;
  if (plan.rdma.inline_bytes) return static_cast<std::uint32_t>(*plan.rdma.inline_bytes);
  // Latency: as perftest does for writes (220). Streams: a cache line fits beside the request in one doorbell write.
  std::uint64_t most = plan.metric == Metric::latency ? 220 : 64;
  return plan.message_bytes <= most ? static_cast<std::uint32_t>(plan.message_bytes) : 0;
}

class RdmaEngine final : public Engine {
 public:
  explicit RdmaEngine(const Standpoint& at)
      : plan_(at.plan),
        side_(at.side),
        facts_(at.local),
        local_address_(at.local_address),
        place_({.plan = &plan_,
                .side = side_,
                .facts = &facts_,
                .local_address = at.local_address,
                .peer_address = at.peer_address,
                .same_host = one_host(at),
                .common = common_ground_of(at)}),
        device_(verbs::Device::open(place_.device())),
        domain_(device_) {
    place_.check(device_);
    place_.choose_cpus();
    watcher_.emplace(device_.context(), place_.port());
    create_groups();
  }

  transport::Offer offer(const transport::Offer* peer) override {
    transport::Offer o;
    verbs::PortFacts port = device_.port_facts(place_.port());
    o.device = device_.name();
    o.port = place_.port();
    o.link_layer = name_of(port.link_layer);
    o.transport = device_.iwarp() ? "iWARP" : "InfiniBand";
    o.lid = port.lid;
    if (!port.active_mtu_bytes)
      throw Error(ErrorKind::verbs, fmt::format("port {} of {}: no path MTU is known: {}; is its driver younger than rdma-core?", place_.port(),
                                                device_.name(), port.active_mtu_bytes.reason));
    o.active_mtu_bytes = *port.active_mtu_bytes;
    o.max_responder_reads = std::clamp(device_.limits().max_qp_rd_atom, 0, 255);
    o.simulated = device_.simulated();
    o.software = device_.software();
    place_.choose_gid(device_, peer, o);
    if (uses_cm()) offer_cm(o);
    for (auto& group : groups_) {
      auto infos = group->qp_infos(random_psns(group->layout().lanes));
      o.qps.insert(o.qps.end(), infos.begin(), infos.end());
    }
    offer_ = o;
    return o;
  }

  void connect(const transport::Offer& peer, Deadline deadline) override {
    agreement_ = agree(plan_, offer_, peer, device_);
    std::size_t first = 0;
    std::vector<verbs::QpPointer> qps;
    for (auto& group : groups_) {
      std::uint32_t lanes = group->layout().lanes;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        qps.push_back(group->queue().qp(lane));
        verbs::reset_to_init(qps.back(), init_settings(*group));
      }
      group->prepare(std::span(peer.qps).subspan(first, lanes));
      first += lanes;
    }
    if (uses_cm()) connect_by_cm(qps, peer, deadline);
    else connect_by_hand(qps, peer);
    data_in_order_ = ask_data_in_order();
  }

  void cancel_connect() noexcept override { cancelled_.set(); }

  results::SideResult run(RunControl& control) noexcept override {
    results::SideResult result;
    try {
      begin_result(result);
      measure_groups({.plan = plan_, .side = side_, .place = place_, .device = device_, .groups = groups_, .watcher = *watcher_, .agreement = agreement_,
                      .clock = tick_clock()},
                     control, result);
    } catch (const std::exception& thrown) {
      const Error error = error_from(thrown);
      result.error = run_error(error.kind(), error.code(), error.what());
      if (!control.active_done.load()) control.completed.clear();  // nobody reads it before
      control.active_done.store(true);
    }
    return result;
  }

 private:
  /// iWARP has no other way.
  bool uses_cm() const { return device_.iwarp() || plan_.rdma.connect == plan::ConnectBy::rdma_cm; }

  /// The connection manager finds the device by the address, so it must be one of the RDMA interface: the GID's where it has one.
  void offer_cm(transport::Offer& o) {
    o.rdma_cm_address = local_address_;
    if (o.gid_index && o.link_layer == "Ethernet" && !device_.iwarp()) o.rdma_cm_address = host::ip_of_gid(o.gid).value_or(local_address_);
    if (side_ == Side::client) return;
    cm_.emplace(verbs::CmConnections::listen(o.rdma_cm_address));
    o.rdma_cm_port = cm_->port();
    o.data_nonce = cm_->nonce();
  }

  void connect_by_cm(const std::vector<verbs::QpPointer>& qps, const transport::Offer& peer, Deadline deadline) {
    verbs::CmSettings settings{.traffic_class = static_cast<std::uint8_t>(plan_.rdma.traffic_class),
                               .retry_count = agreement_.retry_count,
                               .rnr_retry = 7,
                               .initiator_reads = agreement_.initiator_reads,
                               .responder_reads = agreement_.responder_reads,
                               .timeout_code = agreement_.timeout_code,
                               .mtu_bytes = agreement_.mtu_bytes};
    if (side_ == Side::server) cm_->accept(settings, qps, {deadline, cancelled_.fd()});
    else cm_.emplace(verbs::CmConnections::connect(settings, qps, {peer.rdma_cm_address, peer.rdma_cm_port, peer.data_nonce}, {deadline, cancelled_.fd()}));
  }

  void connect_by_hand(const std::vector<verbs::QpPointer>& qps, const transport::Offer& peer) const {
    for (std::size_t i = 0; i < qps.size(); ++i) {
      verbs::init_to_rtr(qps[i], path_settings(peer, peer.qps[i]));
      verbs::rtr_to_rts(qps[i], send_settings(offer_.qps[i].psn));
    }
  }

  /// Memory first: a default working set may be halved until it can be had. Whatever else is refused, is refused.
  void create_groups() {
    const bool chosen = plan_.working_set_bytes.has_value();
    std::uint64_t working_set = chosen ? *plan_.working_set_bytes : default_working_set(plan_, facts_);
    for (;;) {
      try {
        take_memory(working_set);
        break;
      } catch (const Error& error) {
        groups_.clear();
        if (chosen || error.code() != ENOMEM || working_set / 2 < plan_.message_bytes || working_set <= (64ULL << 10)) throw;
        place_.note(fmt::format("working set of {} per thread could not be registered, trying half", format_size(working_set)));
      }
      working_set /= 2;
    }
    for (auto& group : groups_) group->create_queue(device_, domain_, group->layout().load ? 0 : inline_wish(plan_));
  }

  void take_memory(std::uint64_t working_set) {
    memory::HostSource source({.bytes = 0, .huge_pages = plan_.paging == plan::Paging::huge, .numa_node = place_.placement().numa_node});
    std::uint32_t index = 0;
    for (const Group& layout : lay_out(plan_, working_set, most_requests()))
      groups_.push_back(std::make_unique<RdmaGroup>(
          RdmaGroup::Request{.plan = &plan_, .side = side_, .domain = &domain_, .source = &source, .layout = layout, .index = index++}));
  }

  /// Per lane and direction; what the device does not tell is not taken for a limit.
  std::uint32_t most_requests() const {
    constexpr std::uint64_t kUnlimited = 1U << 20;
    const auto per_qp = verbs::told_limit(device_.limits().max_qp_wr).value_or(kUnlimited);
    const auto per_cq = verbs::told_limit(device_.limits().max_cqe).value_or(kUnlimited) / static_cast<std::uint64_t>(std::max(1, plan_.rdma.qps));
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min(per_qp, per_cq)));
  }

  verbs::InitSettings init_settings(const RdmaGroup& group) const {
    Operation op = group.layout().operation;
    return {.port = place_.port(),
            .pkey_index = 0,
            .remote_write = op == Operation::write || op == Operation::write_imm,
            .remote_read = op == Operation::read,
            .remote_atomic = is_atomic(op)};
  }

  verbs::PathSettings path_settings(const transport::Offer& peer, const transport::QpInfo& qp) const {
    return {.port = place_.port(),
            .dlid = peer.lid,
            .global = offer_.gid_index.has_value(),
            .gid_index = offer_.gid_index.value_or(0),
            .gid = peer.gid,
            .local_gid = offer_.gid,
            .mtu_bytes = agreement_.mtu_bytes,
            .qp_number = qp.qp_number,
            .psn = qp.psn,
            .service_level = static_cast<std::uint8_t>(plan_.rdma.service_level),
            .traffic_class = static_cast<std::uint8_t>(plan_.rdma.traffic_class),
            .responder_reads = agreement_.responder_reads};
  }

  verbs::SendSettings send_settings(std::uint32_t psn) const {
    return {.psn = psn,
            .timeout_code = agreement_.timeout_code,
            .retry_count = agreement_.retry_count,
            .rnr_retry = 7,
            .initiator_reads = agreement_.initiator_reads};
  }

  /// Whether the device promises that the last byte of a write lands last; it says so of a connected QP only. Nothing where
  /// that byte is not waited for.
  std::optional<bool> ask_data_in_order() const {
    if (groups_.front()->layout().task != GroupTask::ping_pong_memory) return std::nullopt;
    return verbs::writes_land_in_order(groups_.front()->queue().qp(0));
  }

  void begin_result(results::SideResult& result) const {
    result.role = side_ == Side::client ? "client" : "server";
    result.host = facts_.hostname;
    result.placement = place_.placement();
    result.choices = place_.choices();
    result.warnings = place_.warnings();
    if (data_in_order_ == false)
      result.warnings.push_back(fmt::format("write latency waits for the last byte in memory, and {} does not promise that it lands last "
                                            "(ibv_query_qp_data_in_order): the figure is unverified; --op write_imm waits for a completion instead",
                                            device_.name()));
    result.simulated = device_.simulated();
    result.software_device = device_.software();
    result.path_mtu_bytes = agreement_.mtu_bytes;
    const SettingsSource source{.plan = plan_, .device = device_, .group = *groups_.front(), .agreement = agreement_, .offer = offer_,
                                .clock = tick_clock(), .data_in_order = data_in_order_, .same_host = place_.same_host()};
    result.settings = settings_in_effect(source);
    for (std::string& unmet : unmet_wishes(source)) result.warnings.push_back(std::move(unmet));
  }

  const Plan plan_;
  const Side side_;
  const host::Snapshot facts_;
  const std::string local_address_;
  RdmaPlace place_;
  const verbs::Device device_;
  const verbs::ProtectionDomain domain_;
  std::vector<std::unique_ptr<RdmaGroup>> groups_;
  control::WakeEvent cancelled_;
  std::optional<verbs::CmConnections> cm_;
  std::optional<verbs::EventWatcher> watcher_;  // ends first, having acknowledged all it took: QPs end only then
  transport::Offer offer_;
  Agreement agreement_;
  std::optional<bool> data_in_order_;
};

}  // namespace

std::unique_ptr<Engine> make_rdma_engine(const Standpoint& at) { return std::make_unique<RdmaEngine>(at); }

}  // namespace railgauge::bench
