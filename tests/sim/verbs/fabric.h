/// The meeting place of processes: who has which queue pair, and how to reach another process's memory and pipes.
#pragma once
#include <cstdint>

#include "objects.h"

namespace railgauge::simverbs {

/// The fabric's shared records, mapped by the first call. Null (errno set) when the shared file cannot be made.
Fabric* fabric() noexcept;

/// Makes the memory of a new context. Null with errno on failure.
Peer* create_own_peer() noexcept;
/// Gives the memory of a context back.
void destroy_own_peer(Peer* peer) noexcept;

/// Attaches to the context a queue pair slot names; null when its process is gone or cannot be reached.
/// Each success is paired with one release_peer().
Peer* acquire_peer(const QpSlot& slot) noexcept;
void release_peer(Peer* peer) noexcept;

/// False once the peer's process has ended or its context was closed. Asks the system at most every millisecond.
bool peer_alive(Peer& peer) noexcept;

/// A descriptor for the write end `number` of a pipe in the peer, −1 when it cannot be opened. Owned by the peer object.
int peer_pipe(Peer& peer, int number) noexcept;

/// Maps the piece of the peer's memory that holds `address`, which is within the region's reach; false when that is not possible.
bool map_window(Peer& peer, const MrShared& mr, std::uint64_t address, Window& window) noexcept;

/// Takes a queue pair number for an object at `offset` of our context's memory; 0 with errno when none is left.
std::uint32_t take_qp_number(const Peer& self, std::uint64_t offset) noexcept;
void give_back_qp_number(std::uint32_t qpn) noexcept;

/// The queue pair of this process with that number, or null. Lock free.
SimQp* local_qp(std::uint32_t qpn) noexcept;
void set_local_qp(std::uint32_t qpn, SimQp* qp) noexcept;

/// Zeroed memory of the context for an object; 0 when it is used up.
std::uint64_t allocate_block(SimContext& context, std::uint64_t size);
void free_block(SimContext& context, std::uint64_t offset, std::uint64_t size);

/// The memory file of this process (made on the first call), −1 with errno on failure.
int memory_file() noexcept;

}  // namespace railgauge::simverbs
