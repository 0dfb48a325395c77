#include "memory/buffer.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"

namespace railgauge::memory {
namespace {

std::uint64_t normal_page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

/// "Hugepagesize:    2048 kB" of /proc/meminfo; 2 MiB when it cannot be read (x86-64's and aarch64's usual default).
std::uint64_t huge_page_bytes() {
  constexpr std::uint64_t kUsual = 2ULL << 20;
  auto meminfo = read_text_file("/proc/meminfo").text;
  if (!meminfo) return kUsual;
  auto at = meminfo->find("Hugepagesize:");
  if (at == std::string::npos) return kUsual;
  std::uint64_t kib = std::strtoull(meminfo->c_str() + at + std::strlen("Hugepagesize:"), nullptr, 10);
  return kib > 0 ? kib * 1024 : kUsual;
}

/// mbind(2) without libnuma: one call does not justify a library that every node must have.
void bind_to_node(void* data, std::uint64_t bytes, int node) {
  constexpr int kMaxNode = 1023;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  if (node < 0 || node > kMaxNode) throw Error(ErrorKind::usage, fmt::format("NUMA node {} is out of range: use 0 to {}", node, kMaxNode));
  std::array<unsigned long, (kMaxNode + 1) / kBits> mask{};
  mask[static_cast<std::size_t>(node) / kBits] = 1UL << (static_cast<std::size_t>(node) % kBits);
  // The kernel reads maxnode−1 bits (mbind(2), "maxnode").
  if (syscall(SYS_mbind, data, bytes, MPOL_BIND, mask.data(), kMaxNode + 2, 0) == 0) return;
  int error = errno;
  // EINVAL: the node does not exist or has no memory this process may use; ENOSYS, EPERM: no NUMA here, or a container forbids it.
  throw Error(ErrorKind::system, fmt::format("mbind of {} to NUMA node {}: {}: leave the node out, or use one that has memory",
                                             format_size(bytes), node, errno_text(error)), error);
}

void* map_pages(std::uint64_t bytes, bool huge, std::uint64_t page) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (data != MAP_FAILED) return data;
  int error = errno;
  if (!huge) throw system_error(fmt::format("mmap of {}", format_size(bytes)), error);
  std::uint64_t pages = bytes / page;
  throw Error(ErrorKind::system,
              fmt::format("mmap of {} in huge pages of {}: {}: reserve them (echo {} > /proc/sys/vm/nr_hugepages as root) or leave --hugepages out",
                          format_size(bytes), format_size(page), errno_text(error), pages + 8), error);
}

}  // namespace

Buffer::Buffer(const BufferRequest& request) {
  if (request.bytes == 0) throw Error(ErrorKind::usage, "a buffer of 0 bytes cannot be mapped: use 1 or more");
  std::uint64_t page = request.huge_pages ? huge_page_bytes() : normal_page_bytes();
  if (request.bytes > ~0ULL - page) throw Error(ErrorKind::usage, fmt::format("a buffer of {} bytes is more than an address space", request.bytes));
  bytes_ = request.bytes;
  mapped_bytes_ = (request.bytes + page - 1) / page * page;
  data_ = static_cast<std::byte*>(map_pages(mapped_bytes_, request.huge_pages, page));
  try {
    if (request.numa_node) bind_to_node(data_, mapped_bytes_, *request.numa_node);
    // A full disk of memory must end here and not with SIGBUS in the loop: populate, which reports what touching cannot.
    if (madvise(data_, mapped_bytes_, MADV_POPULATE_WRITE) != 0) {
      if (errno != EINVAL) throw system_error(fmt::format("touching {}", format_size(mapped_bytes_)), errno);
      for (std::uint64_t at = 0; at < mapped_bytes_; at += page) data_[at] = std::byte{0};  // kernels before 5.14
    }
  } catch (...) {
    release();
    throw;
  }
  placement_ = fmt::format("{} pages, {}", format_size(page),
                           request.numa_node ? fmt::format("bound to NUMA node {}", *request.numa_node) : std::string("placed by first touch"));
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      placement_(std::move(other.placement_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
  placement_ = std::move(other.placement_);
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::release() noexcept {
  if (data_ == nullptr) return;
  if (munmap(data_, mapped_bytes_) != 0) log_warning("munmap of {} bytes: {}", mapped_bytes_, errno_text(errno));
  data_ = nullptr;
}

}  // namespace railgauge::memory
