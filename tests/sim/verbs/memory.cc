#include "memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "device_memory.h"
#include "fabric.h"
#include "faults.h"
#include "proc.h"

namespace railgauge::simverbs {

namespace {

constexpr std::uint64_t kPage = 4096;

/// One line of /proc/self/maps that overlaps what was asked for.
struct Mapping {
  std::uint64_t lo = 0, hi = 0;
  bool readable = false, writable = false, is_private = false, plain = false, ours = false;
};

std::uint64_t memory_file_inode() noexcept {
  struct stat status {};
  fstat(memory_file(), &status);
  return status.st_ino;
}

/// The mappings over [lo, hi). `plain`: its pages can be replaced (private, not the stack; huge pages where whole ones are asked for).
std::vector<Mapping> mappings_over(std::uint64_t lo, std::uint64_t hi) {
  std::vector<Mapping> found;
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return found;
  const std::uint64_t own_inode = memory_file_inode();
  char line[4400];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long inode = 0;
    char flags[5] = "";
    int path_at = 0;
    if (std::sscanf(line, "%lx-%lx %4s %*x %*s %lu %n", &begin, &end, flags, &inode, &path_at) < 4) continue;
    if (end <= lo || begin >= hi) continue;
    const char* path = line + path_at;
    Mapping m{begin, end};
    m.readable = flags[0] == 'r';
    m.writable = flags[1] == 'w';
    m.is_private = flags[3] == 'p';
    m.ours = inode == own_inode && std::strncmp(path, "/memfd:railgauge-sim-memory", 27) == 0;
    m.plain = m.is_private && m.writable && std::strncmp(path, "[stack", 6) != 0 && std::strncmp(path, "[v", 2) != 0;
    found.push_back(m);
  }
  std::fclose(file);
  return found;
}

bool fully_mapped(const std::vector<Mapping>& maps, std::uint64_t lo, std::uint64_t hi, bool writable) {
  std::uint64_t at = lo;
  for (const auto& m : maps) {
    if (m.lo > at || !m.readable || (writable && !m.writable)) return false;
    at = m.hi;
  }
  return at >= hi;
}

/// The calling thread's own stack must stay: we are running on it.
bool touches_own_stack(std::uint64_t lo, std::uint64_t hi) noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
  void* base = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  const auto stack = reinterpret_cast<std::uint64_t>(base);
  return lo < stack + size && hi > stack;
}

// Whole pages hold more than the region, red zones of a sanitizer too: the raw system calls, which no sanitizer checks.

/// Copies the pages into the memory file and maps them from there, in place. No allocation between the two.
bool remap(std::uint64_t lo, std::uint64_t hi) noexcept {
  const int fd = memory_file();
  for (std::uint64_t at = lo; at < hi;) {
    const std::uint64_t piece = hi - at < (1ull << 28) ? hi - at : 1ull << 28;
    const long put = syscall(SYS_pwrite64, fd, at, piece, at);
    if (put <= 0 || static_cast<std::uint64_t>(put) % kPage != 0) return false;
    at += static_cast<std::uint64_t>(put);
  }
  return mmap(reinterpret_cast<void*>(lo), hi - lo, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
              static_cast<off_t>(lo)) != MAP_FAILED;
}

/// Makes [lo, hi) reachable where its mappings allow it; returns the longest reachable run from the first one on.
void make_reachable(const std::vector<Mapping>& maps, MrShared& mr, std::uint64_t lo, std::uint64_t hi) {
  std::uint64_t run_lo = 0;
  std::uint64_t run_hi = 0;
  for (const auto& m : maps) {
    const std::uint64_t from = m.lo > lo ? m.lo : lo;
    const std::uint64_t to = m.hi < hi ? m.hi : hi;
    if (from >= to) continue;
    const bool reachable = m.ours || (m.plain && !touches_own_stack(from, to) && remap(from, to));
    if (!reachable) {
      run_lo = run_hi = 0;
      continue;
    }
    if (run_hi != from) run_lo = from;
    run_hi = to;
    if (run_hi - run_lo > mr.reach_hi - mr.reach_lo) {
      mr.reach_lo = run_lo;
      mr.reach_hi = run_hi;
    }
  }
}

/// Pages shared with other data may be moved only while nobody else can write to them meanwhile.
void choose_pages(const RegistrationRequest& r, std::uint64_t& lo, std::uint64_t& hi) {
  const auto begin = reinterpret_cast<std::uint64_t>(r.address);
  const std::uint64_t end = begin + r.length;
  if (thread_count() == 1) {
    lo = begin & ~(kPage - 1);
    hi = (end + kPage - 1) & ~(kPage - 1);
  } else {
    lo = (begin + kPage - 1) & ~(kPage - 1);
    hi = end & ~(kPage - 1);
  }
}

int check_request(const RegistrationRequest& r, const DeviceDescription& d) {
  constexpr unsigned kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                              IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB;
  constexpr unsigned kRemoteChange = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if ((r.access & ~(kKnown | IBV_ACCESS_OPTIONAL_RANGE)) != 0) return EINVAL;
  if ((r.access & kRemoteChange) != 0 && (r.access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
  if (r.length > d.max_mr_bytes) return EINVAL;
  rlimit limit{};
  if (d.enforce_memlock && getuid() != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && r.length > limit.rlim_cur) {
    return ENOMEM;
  }
  return 0;
}

/// The content of [from, to) out of the memory file.
bool read_back(void* copy, std::uint64_t from, std::uint64_t to) noexcept {
  for (std::uint64_t at = from; at < to;) {
    const long got = syscall(SYS_pread64, memory_file(), reinterpret_cast<std::uint64_t>(copy) + (at - from), to - at, at);
    if (got <= 0) return false;
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

/// The pages again as private memory with the same content. Other regions, or a program that has unmapped them, win.
void restore_private(std::uint64_t lo, std::uint64_t hi) {
  for (const auto& m : mappings_over(lo, hi)) {
    const std::uint64_t from = m.lo > lo ? m.lo : lo;
    const std::uint64_t to = m.hi < hi ? m.hi : hi;
    if (!m.ours || from >= to) continue;
    void* copy = mmap(nullptr, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) continue;
    if (!read_back(copy, from, to)) {
      munmap(copy, to - from);
      continue;
    }
    mremap(copy, to - from, to - from, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(from));
  }
  fallocate(memory_file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(lo), static_cast<off_t>(hi - lo));
}

std::mutex& remap_mutex() {
  static auto* made = new std::mutex;  // one for the process: pages belong to it, not to a context
  return *made;
}

using Range = std::pair<std::uint64_t, std::uint64_t>;

/// One entry for each region that holds pages; regions may overlap.
std::vector<Range>& remapped_ranges() {
  static auto* made = new std::vector<Range>;
  return *made;
}

/// Takes one region's entry out and restores the pages no other region holds.
void give_pages_back(const Range& own) {
  auto& ranges = remapped_ranges();
  if (const auto at = std::find(ranges.begin(), ranges.end(), own); at != ranges.end()) ranges.erase(at);
  std::vector<Range> held = ranges;
  std::sort(held.begin(), held.end());
  std::uint64_t from = own.first;
  for (const auto& [lo, hi] : held) {
    if (hi <= from || lo >= own.second) continue;
    if (lo > from) restore_private(from, lo);
    from = hi;
  }
  if (from < own.second) restore_private(from, own.second);
}

std::uint32_t take_mr_index(SimContext& c) {
  if (!c.free_mrs.empty()) {
    const std::uint32_t index = c.free_mrs.back();
    c.free_mrs.pop_back();
    return index;
  }
  c.mrs.push_back(nullptr);
  c.mr_generation.push_back(0);
  return static_cast<std::uint32_t>(c.mrs.size() - 1);
}

/// Makes what peers may reach of the region reachable, and says in `fresh` which part that is. 0, or the errno of ibv_reg_mr.
int map_region(const RegistrationRequest& r, MrShared& fresh, SimMr& mr) {
  if (r.by_dmabuf || (sim(r.pd->verbs.context).device->description.peermem && is_device_memory(r.address))) return map_device_region(r, fresh, mr);
  if (r.length == 0) return 0;
  const auto begin = reinterpret_cast<std::uint64_t>(r.address);
  const bool writable = (r.access & IBV_ACCESS_LOCAL_WRITE) != 0;
  fresh.address = begin;
  if (begin + r.length < begin) return EFAULT;
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  choose_pages(r, lo, hi);
  remapped_ranges().reserve(remapped_ranges().size() + 1);
  const auto maps = mappings_over(begin, begin + r.length);
  if (!fully_mapped(maps, begin, begin + r.length, writable)) return EFAULT;
  // memory a peer may only read is moved as well; what nobody but the local device reads stays where it is
  if (hi > lo && r.access != 0) make_reachable(maps, fresh, lo, hi);
  return 0;
}

}  // namespace

SimMr* register_memory(const RegistrationRequest& r) {
  SimContext& c = sim(r.pd->verbs.context);
  if (c.faulty) {
    if (const int forced = forced_errno(c, r.by_dmabuf ? "reg_dmabuf_mr" : "reg_mr"); forced != 0) return errno = forced, nullptr;
  }
  if (const int bad = check_request(r, c.device->description); bad != 0) return errno = bad, nullptr;
  MrShared fresh{};
  fresh.own_file = -1;
  auto mr = std::make_unique<SimMr>();
  const std::scoped_lock guard(remap_mutex(), c.mutex);
  if (c.mr_count >= c.device->description.max_mr) return errno = ENOMEM, nullptr;
  if (const int bad = map_region(r, fresh, *mr); bad != 0) return errno = bad, nullptr;
  const std::uint32_t index = take_mr_index(c);
  c.mr_generation[index] = static_cast<std::uint8_t>(c.mr_generation[index] % 255 + 1);
  const std::uint32_t key = index << 8 | c.mr_generation[index];
  MrShared& shared = c.header->mrs[index];
  shared.access = r.access;
  shared.pd = r.pd->id;
  shared.iova = r.iova;
  shared.own_file = fresh.own_file;
  shared.file_offset = fresh.file_offset;
  shared.address = fresh.address;
  shared.length = r.length;
  shared.reach_lo = fresh.reach_lo;
  shared.reach_hi = fresh.reach_hi;
  shared.key.store(key, std::memory_order_release);
  if (mr->own_file < 0 && fresh.reach_hi > fresh.reach_lo) {
    remapped_ranges().emplace_back(fresh.reach_lo, fresh.reach_hi);
    mr->remapped_lo = fresh.reach_lo;
    mr->remapped_hi = fresh.reach_hi;
  }
  mr->verbs = {&c.base(), &r.pd->verbs, r.address, r.length, index, key, key};
  c.mrs[index] = mr.get();
  ++c.mr_count;
  ++r.pd->users;
  return mr.release();
}

int deregister_memory(SimMr* mr) {
  SimContext& c = sim(mr->verbs.context);
  const std::scoped_lock guard(remap_mutex(), c.mutex);
  const std::uint32_t index = mr->verbs.handle;
  c.header->mrs[index].key.store(0, std::memory_order_release);
  if (mr->remapped_hi > mr->remapped_lo) give_pages_back({mr->remapped_lo, mr->remapped_hi});
  unmap_device_region(*mr);
  c.mrs[index] = nullptr;
  c.free_mrs.push_back(index);
  --c.mr_count;
  --sim(mr->verbs.pd).users;
  delete mr;
  return 0;
}

}  // namespace railgauge::simverbs
