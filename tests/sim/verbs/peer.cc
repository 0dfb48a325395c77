/// Peers: contexts of other processes (and our own), attached through /proc/PID/fd.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <tuple>

#include "clock.h"
#include "fabric.h"
#include "proc.h"

namespace railgauge::simverbs {

namespace {

using PeerKey = std::tuple<std::uint32_t, std::uint64_t, int>;
struct Entry {
  Peer* peer = nullptr;
  int users = 0;
};
struct Directory {
  std::mutex mutex;
  std::map<PeerKey, Entry> peers;
};

/// What belongs to this process and not to the one it was forked from. Never destroyed: threads of the program may
/// still be in a verbs call while it exits.
struct ProcessState {
  Directory* directory = new Directory;
  int memory_fd = -1;
};

ProcessState& process_state();

/// A forked child starts afresh: what it inherits names the parent's memory. Contexts opened before are the parent's.
void forget_parent() {
  own_pid_cell().store(static_cast<std::uint32_t>(getpid()));
  process_state() = ProcessState{};
}

ProcessState& process_state() {
  static ProcessState* made = [] {
    pthread_atfork(nullptr, nullptr, forget_parent);
    return new ProcessState;
  }();
  return *made;
}

Directory& directory() { return *process_state().directory; }

PeerKey key_of(const Peer& p) { return {p.pid, p.start_time, p.context_fd}; }

int open_fd_of(std::uint32_t pid, int number, int flags) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%d", pid, number);
  return open(path, flags | O_CLOEXEC);
}

int memory_fd(const char* name, std::uint64_t size) noexcept {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

char* map_context(int fd) noexcept {
  void* at = mmap(nullptr, kContextBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

void forget(Peer* peer) noexcept {
  for (const auto& [address, at] : peer->windows) munmap(at, 1ull << 30);
  for (const auto& [address, window] : peer->own_files) {
    const auto at = reinterpret_cast<std::uint64_t>(window.base);
    munmap(reinterpret_cast<void*>(at / 4096 * 4096), at % 4096 + (window.hi - window.lo));
  }
  for (const auto& [number, fd] : peer->pipes) close(fd);
  if (peer->base != nullptr) munmap(peer->base, kContextBytes);
  if (peer->memory_fd >= 0 && !peer->own_process) close(peer->memory_fd);
  if (peer->pid_fd >= 0) close(peer->pid_fd);
  if (peer->own_process) close(peer->context_fd);
  delete peer;
}

Peer* attach(const QpSlot& slot) {
  if (process_start_time(slot.pid) != slot.start_time) return nullptr;
  const int fd = open_fd_of(slot.pid, slot.context_fd, O_RDWR);
  if (fd < 0) return nullptr;
  auto* peer = new Peer;
  peer->pid = slot.pid;
  peer->start_time = slot.start_time;
  peer->context_fd = slot.context_fd;
  peer->base = map_context(fd);
  close(fd);
  peer->header = reinterpret_cast<ContextHeader*>(peer->base);
  peer->pid_fd = static_cast<int>(syscall(SYS_pidfd_open, slot.pid, 0));
  if (peer->base == nullptr || peer->header->magic != kFabricMagic) {
    forget(peer);
    return nullptr;
  }
  return peer;
}

}  // namespace

int memory_file() noexcept {
  int& fd = process_state().memory_fd;
  const std::lock_guard guard(directory().mutex);
  if (fd < 0) fd = memory_fd("railgauge-sim-memory", kMemoryBytes);
  return fd;
}

Peer* create_own_peer() noexcept {
  const int fd = memory_fd("railgauge-sim-context", kContextBytes);
  if (fd < 0) return nullptr;
  auto* peer = new Peer;
  peer->pid = own_pid();
  peer->start_time = process_start_time(peer->pid);
  peer->context_fd = fd;
  peer->own_process = true;
  peer->base = map_context(fd);
  if (peer->base == nullptr) {
    forget(peer);
    return nullptr;
  }
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // for memory that can only be reached by process_vm_writev
  peer->header = reinterpret_cast<ContextHeader*>(peer->base);  // a fresh file is all zero
  peer->header->magic = kFabricMagic;
  peer->header->pid = peer->pid;
  peer->header->start_time = peer->start_time;
  peer->header->memory_fd = memory_file();
  peer->header->bump.store((sizeof(ContextHeader) + 4095) & ~4095ull);
  peer->header->alive.store(1);
  auto& d = directory();
  const std::lock_guard guard(d.mutex);
  d.peers[key_of(*peer)] = {peer, 1};
  return peer;
}

void destroy_own_peer(Peer* peer) noexcept {
  peer->header->alive.store(0);
  release_peer(peer);
}

Peer* acquire_peer(const QpSlot& slot) noexcept {
  auto& d = directory();
  const std::lock_guard guard(d.mutex);
  auto& entry = d.peers[{slot.pid, slot.start_time, slot.context_fd}];
  if (entry.peer == nullptr) entry.peer = attach(slot);
  if (entry.peer == nullptr) {
    d.peers.erase({slot.pid, slot.start_time, slot.context_fd});
    return nullptr;
  }
  ++entry.users;
  return entry.peer;
}

void release_peer(Peer* peer) noexcept {
  auto& d = directory();
  const std::lock_guard guard(d.mutex);
  const auto at = d.peers.find(key_of(*peer));
  if (at == d.peers.end() || --at->second.users > 0) return;
  d.peers.erase(at);
  forget(peer);
}

bool peer_alive(Peer& peer) noexcept {
  if (peer.dead.load(std::memory_order_relaxed)) return false;
  const std::uint64_t now = ticks();
  const auto interval = static_cast<std::uint64_t>(1e6 * ticks_per_ns());
  if (now - peer.checked_at.load(std::memory_order_relaxed) < interval) return true;
  peer.checked_at.store(now, std::memory_order_relaxed);
  bool alive = peer.header->alive.load() != 0;
  if (alive && !peer.own_process) {
    pollfd ended{peer.pid_fd, POLLIN, 0};  // readable as soon as the process has ended, reaped or not
    alive = peer.pid_fd >= 0 ? poll(&ended, 1, 0) == 0 : process_start_time(peer.pid) == peer.start_time;
  }
  if (!alive) peer.dead.store(true);
  return alive;
}

int peer_pipe(Peer& peer, int number) noexcept {
  if (number < 0) return -1;
  if (peer.own_process) return number;
  const std::lock_guard guard(peer.mutex);
  const auto known = peer.pipes.find(number);
  if (known != peer.pipes.end()) return known->second;
  const int fd = open_fd_of(peer.pid, number, O_WRONLY | O_NONBLOCK);
  if (fd >= 0) peer.pipes.emplace(number, fd);
  return fd;
}

namespace {

/// The whole of a region that has a file of its own. The peer's lock is held.
bool map_own_file(Peer& peer, const MrShared& mr, Window& window) noexcept {
  const auto known = peer.own_files.find(mr.address);
  if (known != peer.own_files.end()) return window = known->second, true;
  const int fd = open_fd_of(peer.pid, mr.own_file, O_RDWR);
  if (fd < 0) return false;
  const std::uint64_t lead = mr.file_offset % 4096;
  void* at = mmap(nullptr, lead + mr.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(mr.file_offset - lead));
  close(fd);
  if (at == MAP_FAILED) return false;
  window = {mr.address, mr.address + mr.length, static_cast<char*>(at) + lead};
  peer.own_files.emplace(mr.address, window);
  return true;
}

}  // namespace

bool map_window(Peer& peer, const MrShared& mr, std::uint64_t address, Window& window) noexcept {
  constexpr std::uint64_t kSize = 1ull << 30;
  const std::uint64_t index = address / kSize;
  const std::lock_guard guard(peer.mutex);
  if (mr.own_file >= 0) return map_own_file(peer, mr, window);
  char*& at = peer.windows[index];
  if (at == nullptr) {
    if (peer.memory_fd < 0) peer.memory_fd = open_fd_of(peer.pid, peer.header->memory_fd, O_RDWR);
    void* mapped = peer.memory_fd < 0 ? MAP_FAILED
                                      : mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                                             peer.memory_fd, static_cast<off_t>(index * kSize));
    if (mapped == MAP_FAILED) {
      peer.windows.erase(index);
      return false;
    }
    at = static_cast<char*>(mapped);
  }
  window = {index * kSize, (index + 1) * kSize, at};
  return true;
}

}  // namespace railgauge::simverbs
