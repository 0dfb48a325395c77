/// What processes on one fabric share: the records that live in shared memory. Every field here is read or written by
/// other processes, so each is either written before the object is published or is an atomic.
#pragma once
#include <atomic>
#include <cstdint>

#include "lock.h"

namespace railgauge::simverbs {

constexpr std::uint64_t kFabricMagic = 0x52474d5645524233;  ///< changes whenever a record below changes
constexpr std::uint32_t kQpSlots = 1u << 16;                ///< the low 16 bits of a QP number name its slot
constexpr std::uint32_t kMaxMr = 1u << 16;                  ///< upper 24 bits of a key index this table
constexpr std::uint32_t kMaxGids = 64;                      ///< GID table entries of a port
constexpr std::uint32_t kMaxPorts = 4;                      ///< ports of a device
constexpr std::uint32_t kPortClocks = 256;                  ///< paced ports of a fabric
constexpr std::uint64_t kContextBytes = 1ull << 30;         ///< sparse: pages appear when touched
constexpr std::uint64_t kMemoryBytes = 1ull << 47;          ///< a process's user addresses, used as file offsets

/// Where a queue pair lives. `qpn` 0 means free; written last when taken, first when given back.
struct QpSlot {
  std::atomic<std::uint32_t> qpn;
  std::uint32_t pid;
  std::uint64_t start_time;  ///< of the process (clock ticks since boot), so that a reused pid is told apart
  std::int32_t context_fd;   ///< number of the context's memory file in that process
  std::uint32_t generation;
  std::uint64_t offset;  ///< of its QpShared in the context's memory
};

/// When a paced port's wire is free again. One clock a direction.
struct PortClock {
  std::atomic<std::uint64_t> key;  ///< hash of host, device, port and direction; 0 means free
  SharedLock lock;
  std::uint64_t free_at_ns;  ///< CLOCK_MONOTONIC
};

struct Fabric {
  std::atomic<std::uint64_t> magic;
  SharedLock lock;
  std::uint32_t next_slot;
  QpSlot qps[kQpSlots];
  PortClock clocks[kPortClocks];
};

struct GidRecord {
  std::uint8_t raw[16];
  std::uint32_t type;   ///< ibv_gid_type
  std::uint32_t valid;
};

struct PortRecord {
  std::atomic<std::uint32_t> up;
  std::uint32_t lid;
  std::uint32_t gid_count;
  std::uint32_t is_ethernet;
  std::uint32_t egress_clock;
  std::uint32_t ingress_clock;
  std::uint64_t bits_per_s;
  std::atomic<std::uint64_t> tx_bytes, rx_bytes, tx_packets, rx_packets;
  std::atomic<std::uint64_t> downed;  ///< times the port went down
  GidRecord gids[kMaxGids];
};

/// A registered region. `key` 0 means free; written last when registered, first when deregistered.
struct MrShared {
  std::atomic<std::uint32_t> key;
  std::uint32_t access;
  std::uint32_t pd;
  std::int32_t own_file;   ///< number in the owner of the file that holds the region (device memory); −1: the memory file
  std::uint64_t iova;      ///< address the peer uses
  std::uint64_t address;   ///< address in the owner
  std::uint64_t length;
  std::uint64_t file_offset;  ///< of `address` in own_file
  std::uint64_t reach_lo;  ///< owner addresses [lo, hi) lie in its memory file, or own_file, and can be mapped by a peer
  std::uint64_t reach_hi;
};

/// A completion. `sequence` is the entry's number + 1 and is written last; one cache line.
struct alignas(64) Cqe {
  std::atomic<std::uint32_t> sequence;
  std::uint32_t qp_num;
  std::uint64_t wr_id;
  std::uint64_t due_ns;    ///< not to be seen before this instant (CLOCK_MONOTONIC); 0 is at once
  std::uint32_t sq_index;  ///< send side: queue entries up to this count are free once polled
  std::uint32_t byte_len;
  std::uint32_t imm_data;
  std::uint32_t src_qp;
  std::uint32_t wc_flags;
  std::uint16_t vendor_err;
  std::uint8_t status;
  std::uint8_t opcode;
  std::uint8_t is_recv;
  std::uint8_t dead;       ///< its queue pair was reset or destroyed
  std::uint8_t solicited;
};

enum : std::uint32_t { kNotArmed = 0, kArmedSolicited = 1, kArmedAny = 2 };

struct CqShared {
  alignas(64) std::atomic<std::uint32_t> tail;  ///< next entry a producer takes
  alignas(64) std::atomic<std::uint32_t> head;  ///< next entry the owner reads
  std::uint32_t mask;
  std::uint32_t capacity;
  std::int32_t channel_fd;  ///< write end in the owner, −1 without a channel
  std::uint64_t cookie;     ///< the owner's pointer, sent through the channel
  std::uint64_t ring;       ///< offset of the entries
  std::uint32_t paced;
  std::atomic<std::uint32_t> overrun;
  alignas(64) std::atomic<std::uint32_t> armed;
};

struct RecvSge {
  std::uint64_t address;
  std::uint32_t length;
  std::uint32_t lkey;
};

struct RecvWqe {
  std::uint64_t wr_id;
  std::uint32_t num_sge;
  std::uint32_t reserved;
  RecvSge sge[1];  ///< as many as the queue pair was created with
};

/// A queue pair as its peer sees it.
struct QpShared {
  std::atomic<std::uint32_t> receivable;  ///< its own number while it may receive (RTR, RTS, SQD, SQE), else 0
  std::atomic<std::uint32_t> state;       ///< ibv_qp_state
  std::atomic<std::uint32_t> access;      ///< qp_access_flags
  std::uint32_t qpn;
  std::uint32_t type;
  std::uint32_t pd;
  std::uint32_t dest_qpn;
  std::uint32_t qkey;
  std::uint32_t path_mtu_bytes;
  std::uint32_t port;
  std::uint32_t max_dest_rd_atomic;
  std::uint32_t min_rnr_timer;
  std::uint64_t recv_cq;  ///< offset of its CqShared
  std::uint64_t rq;       ///< offset of its receive entries
  std::uint32_t rq_mask;
  std::uint32_t rq_stride;
  alignas(64) SharedLock receive_lock;  ///< taken by whoever consumes a receive or changes the state
  std::atomic<std::uint32_t> rq_head;
  alignas(64) std::atomic<std::uint32_t> rq_tail;
};

/// First page of a context's memory.
struct ContextHeader {
  std::uint64_t magic;
  std::uint32_t pid;
  std::int32_t memory_fd;  ///< the owner's memory file
  std::int32_t async_fd;   ///< write end of its asynchronous event pipe
  std::uint32_t port_count;
  std::atomic<std::uint32_t> alive;
  std::atomic<std::uint32_t> ports_down;  ///< bit n: port n is down
  std::uint64_t start_time;
  std::atomic<std::uint64_t> bump;  ///< first unused byte
  PortRecord ports[kMaxPorts + 1];  ///< index 0 unused
  MrShared mrs[kMaxMr];
};

/// What is written into an asynchronous event pipe.
struct AsyncRecord {
  std::uint32_t event;  ///< ibv_event_type
  std::uint32_t qpn;    ///< for queue pair events
  std::uint64_t cookie; ///< CQ pointer, or port number
};

}  // namespace railgauge::simverbs
