#include "fabric.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "proc.h"

namespace railgauge::simverbs {

namespace {

std::string fabric_path() {
  const char* name = std::getenv("RAILGAUGE_SIM_FABRIC");
  std::string path = "/dev/shm/railgauge-sim-" + std::to_string(getuid()) + "-";
  for (const char* c = name != nullptr && *name != '\0' ? name : "default"; *c != '\0'; ++c) {
    path += *c == '/' ? '_' : *c;
  }
  return path + ".v2";
}

Fabric* map_fabric() noexcept {
  const int fd = open(fabric_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  flock(fd, LOCK_EX);
  struct stat status {};
  fstat(fd, &status);
  if (status.st_size < static_cast<off_t>(sizeof(Fabric)) && ftruncate(fd, sizeof(Fabric)) != 0) {
    close(fd);
    return nullptr;
  }
  void* at = mmap(nullptr, sizeof(Fabric), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  auto* made = at == MAP_FAILED ? nullptr : static_cast<Fabric*>(at);
  if (made != nullptr && made->magic.load() != kFabricMagic) {
    std::memset(at, 0, sizeof(Fabric));
    made->magic.store(kFabricMagic);
  }
  flock(fd, LOCK_UN);  // the mapping keeps the open file, and with it the lock, alive
  close(fd);
  return made;
}

std::atomic<SimQp*>* local_table() noexcept {
  static std::atomic<SimQp*> table[kQpSlots];
  return table;
}

/// A slot whose owner has died without giving it back.
bool abandoned(const QpSlot& slot) noexcept {
  return slot.qpn.load() != 0 && process_start_time(slot.pid) != slot.start_time;
}

}  // namespace

Fabric* fabric() noexcept {
  static Fabric* mapped = map_fabric();
  return mapped;
}

std::uint32_t take_qp_number(const Peer& self, std::uint64_t offset) noexcept {
  Fabric* f = fabric();
  Guard guard(f->lock);
  for (std::uint32_t tries = 0; tries < kQpSlots; ++tries) {
    const std::uint32_t index = ++f->next_slot % kQpSlots;
    QpSlot& slot = f->qps[index];
    if (slot.qpn.load() != 0 && !abandoned(slot)) continue;
    slot.qpn.store(0);
    slot.generation = slot.generation % 255 + 1;
    slot.pid = self.pid;
    slot.start_time = self.start_time;
    slot.context_fd = self.context_fd;
    slot.offset = offset;
    const std::uint32_t qpn = slot.generation << 16 | index;
    slot.qpn.store(qpn);
    return qpn;
  }
  errno = ENOMEM;
  return 0;
}

void give_back_qp_number(std::uint32_t qpn) noexcept {
  Fabric* f = fabric();
  Guard guard(f->lock);
  f->qps[qpn % kQpSlots].qpn.store(0);
}

SimQp* local_qp(std::uint32_t qpn) noexcept {
  SimQp* qp = local_table()[qpn % kQpSlots].load(std::memory_order_acquire);
  return qp != nullptr && qp->verbs.qp_base.qp_num == qpn ? qp : nullptr;
}

void set_local_qp(std::uint32_t qpn, SimQp* qp) noexcept {
  local_table()[qpn % kQpSlots].store(qp, std::memory_order_release);
}

std::uint64_t allocate_block(SimContext& context, std::uint64_t size) {
  size = (size + 4095) & ~4095ull;
  std::uint64_t offset = 0;
  auto& reusable = context.free_blocks[size];
  if (!reusable.empty()) {
    offset = reusable.back();
    reusable.pop_back();
    std::memset(context.self->base + offset, 0, size);
    return offset;
  }
  offset = context.header->bump.load();
  if (offset + size > kContextBytes) return 0;
  context.header->bump.store(offset + size);
  return offset;
}

void free_block(SimContext& context, std::uint64_t offset, std::uint64_t size) {
  context.free_blocks[(size + 4095) & ~4095ull].push_back(offset);
}

}  // namespace railgauge::simverbs
