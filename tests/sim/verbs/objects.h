/// The objects of one process: what verbs handles point at.
#pragma once
#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device.h"
#include "layout.h"
#include "lock.h"

namespace railgauge::simverbs {

/// How a try to carry out a request ended.
enum class Verdict : std::uint8_t {
  done,         ///< completes with a status
  unreachable,  ///< nobody answers: retry until RETRY_EXC
  not_ready,    ///< no receive posted: retry until RNR_RETRY_EXC
};

struct FaultPlan;
struct Helper;
/// Deletes either where its type is known.
struct Deleter {
  void operator()(FaultPlan* plan) const noexcept;
  void operator()(Helper* helper) const noexcept;
};

/// The piece of a peer's memory used last.
struct Window {
  std::uint64_t lo = 1;  ///< owner address; an empty window has lo > hi
  std::uint64_t hi = 0;
  char* base = nullptr;  ///< where lo is mapped here
};

/// Another context seen from this process (or one of our own).
struct Peer {
  std::uint32_t pid = 0;
  int context_fd = -1;  ///< number in the owner
  std::uint64_t start_time = 0;
  bool own_process = false;
  char* base = nullptr;  ///< its context memory, mapped here
  ContextHeader* header = nullptr;
  int memory_fd = -1;  ///< its memory file, opened here
  int pid_fd = -1;
  std::atomic<std::uint64_t> checked_at{0};  ///< ticks
  std::atomic<bool> dead{false};
  std::mutex mutex;
  std::unordered_map<std::uint64_t, char*> windows;  ///< mapped gigabytes of its memory, by address >> 30
  std::unordered_map<std::uint64_t, Window> own_files;  ///< mapped regions with a file of their own, by address
  std::unordered_set<std::uint32_t> prepared;        ///< keys of regions whose pages are mapped here
  std::unordered_map<int, int> pipes;                ///< its pipes opened here, by its number

  template <class Record>
  Record* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<Record*>(base + offset);
  }
};

/// What a port has moved.
struct PortTotals {
  std::uint64_t tx_bytes = 0, rx_bytes = 0, tx_packets = 0, rx_packets = 0, downed = 0;
};

struct SimDevice {
  ibv_device verbs{};  ///< first: verbs handles are cast
  DeviceDescription description;
  std::uint32_t index = 0;
  std::mutex mutex;
  std::vector<const ContextHeader*> open;           ///< contexts whose counters still move
  PortTotals finished[kMaxPorts + 1];  ///< of closed contexts
};

struct SimPd {
  ibv_pd verbs{};
  std::atomic<int> users{0};
  std::uint32_t id = 0;  ///< unique in the context's process
};

struct SimMr {
  ibv_mr verbs{};
  std::uint64_t remapped_lo = 0, remapped_hi = 0;
  int own_file = -1;              ///< of a region in device memory; −1: none
  void* own_mapping = nullptr;
  std::uint64_t own_mapping_bytes = 0;
};

struct SimAh {
  ibv_ah verbs{};
  ibv_ah_attr attr{};
};

struct SimContext;

struct SimCq {
  ibv_cq verbs{};
  SimContext* context = nullptr;
  CqShared* shared = nullptr;
  Cqe* ring = nullptr;
  std::uint64_t offset = 0;
  Spinlock poll_lock;
  std::uint32_t events_given = 0;        ///< completion events handed out; context mutex
  std::uint32_t async_events_given = 0;  ///< context mutex
  std::atomic<int> users{0};
};

/// What the fault script does to the data of a request that completes with success all the same.
struct Tamper {
  enum class Kind : std::uint8_t {
    none,
    flip,      ///< byte `byte` (modulo the length) arrives inverted
    drop,      ///< nothing arrives
    torn,      ///< only the first `byte` bytes arrive
    shorter,   ///< all arrives, but the receive says one byte less
    unseen,    ///< all arrives, but the receive never completes
  };
  Kind kind = Kind::none;
  std::uint64_t byte = 0;
};

/// A work request that could not be carried out when it was posted.
struct Deferred {
  ibv_send_wr wr{};
  std::vector<ibv_sge> sges;
  std::vector<char> inline_data;
  std::uint32_t sq_index = 0;
  std::uint64_t deadline_ns = 0;  ///< when the retries are used up; 0: not yet tried
  std::uint64_t not_before_ns = 0;
  Verdict waiting_for = Verdict::done;
  bool stuck = false;
  Tamper tamper;                  ///< at each attempt
};

/// The connected queue pair, looked up once.
struct Target {
  Peer* peer = nullptr;
  QpShared* qp = nullptr;
  std::uint32_t qpn = 0;
  std::uint32_t prepared_key = 0;  ///< the region used last, its pages mapped here
  Window window;
};

/// A list being built through the ibv_wr_* calls.
struct WrBuilder {
  std::vector<ibv_send_wr> wrs;
  std::vector<ibv_sge> sges;
  std::vector<char> inline_data;
  std::uint32_t count = 0;
  int error = 0;
};

struct SimQp {
  ibv_qp_ex verbs{};  ///< its first member is the ibv_qp
  SimContext* context = nullptr;
  QpShared* shared = nullptr;
  std::uint64_t offset = 0;
  SimCq* send_cq = nullptr;
  SimCq* recv_cq = nullptr;
  ibv_qp_cap cap{};
  ibv_qp_attr attr{};
  bool signal_all = false;
  bool extended = false;

  Spinlock sq_lock;
  std::uint32_t sq_posted = 0;
  std::atomic<std::uint32_t> sq_freed{0};
  std::uint64_t posted_at = 0;      ///< ticks of the last doorbell
  std::uint32_t max_message = 0;    ///< bytes
  bool plain_device = false;        ///< no pace, no latency, real payload
  std::uint32_t reads_in_burst = 0;
  Tamper tamper;                    ///< of the request being carried out; sq_lock
  Target target;
  std::deque<Deferred> deferred;
  bool listed = false;  ///< in the context's list of queue pairs with deferred work
  std::unordered_map<std::uint32_t, std::unique_ptr<Target>> datagram_targets;
  WrBuilder builder;

  Spinlock rq_lock;
  std::atomic<std::uint32_t> rq_freed{0};
  std::uint32_t events_given = 0;

  std::uint64_t tx_bytes = 0, tx_packets = 0, rx_bytes = 0, rx_packets = 0;  ///< not yet published; sq_lock

  ibv_qp& base() noexcept { return verbs.qp_base; }
  ibv_qp_type base_type() const noexcept { return verbs.qp_base.qp_type; }
};

struct SimChannel {
  ibv_comp_channel verbs{};
  int write_fd = -1;
};

struct SimContext {
  verbs_context verbs{};  ///< its last member is the ibv_context
  SimDevice* device = nullptr;
  Peer* self = nullptr;  ///< our own memory, as peers see it
  ContextHeader* header = nullptr;
  int async_read_fd = -1;   ///< of the event pipe, also where the context shows none
  int async_write_fd = -1;
  std::uint64_t doorbell_ticks = 0;
  std::int64_t alive_ticks = 0;  ///< how long a peer found alive is taken to be so
  bool paced = false;
  bool copy_payload = true;
  bool counted = false;  ///< somebody may be reading the counters: each post call publishes them
  std::uint64_t latency_ns = 0;
  double slow_factor = 1;

  std::mutex mutex;  ///< control path: tables below
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> free_blocks;  ///< by size
  std::vector<SimMr*> mrs{1};
  std::vector<std::uint32_t> free_mrs;
  std::vector<std::uint8_t> mr_generation{0};
  std::unordered_set<SimCq*> cqs;
  int qp_count = 0, cq_count = 0, pd_count = 0, mr_count = 0, channel_count = 0;

  std::atomic<std::uint32_t> deferred_count{0};  ///< queue pairs with deferred work
  std::mutex deferred_mutex;
  std::vector<SimQp*> deferred_qps;
  std::atomic<bool> faulty{false};  ///< a fault script is in force
  std::unique_ptr<FaultPlan, Deleter> faults;
  std::unique_ptr<Helper, Deleter> helper;

  ibv_context& base() noexcept { return verbs.context; }
  bool has_wire_model() const noexcept { return paced || latency_ns != 0; }
};

inline SimContext& sim(ibv_context* c) noexcept {
  return *reinterpret_cast<SimContext*>(reinterpret_cast<char*>(c) - offsetof(verbs_context, context));
}
inline SimDevice& sim(ibv_device* d) noexcept { return *reinterpret_cast<SimDevice*>(d); }
inline SimPd& sim(ibv_pd* p) noexcept { return *reinterpret_cast<SimPd*>(p); }
inline SimMr& sim(ibv_mr* m) noexcept { return *reinterpret_cast<SimMr*>(m); }
inline SimCq& sim(ibv_cq* c) noexcept { return *reinterpret_cast<SimCq*>(c); }
inline SimQp& sim(ibv_qp* q) noexcept { return *reinterpret_cast<SimQp*>(q); }
inline SimQp& sim(ibv_qp_ex* q) noexcept { return *reinterpret_cast<SimQp*>(q); }
inline SimAh& sim(ibv_ah* a) noexcept { return *reinterpret_cast<SimAh*>(a); }
inline SimChannel& sim(ibv_comp_channel* c) noexcept { return *reinterpret_cast<SimChannel*>(c); }

}  // namespace railgauge::simverbs
