#include "device_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../dmabuf.h"

namespace railgauge::simverbs {

namespace {

constexpr std::uint64_t kPage = 4096;

/// Bytes of a GPU's memory file.
struct Stretch {
  int fd = -1;
  std::uint64_t offset = 0;
};

/// The mapping that holds a device address: its file by inode, and the address's offset in it.
struct DeviceMapping {
  bool found = false;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes_left = 0;
};

DeviceMapping device_mapping(std::uint64_t address) {
  DeviceMapping result;
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return result;
  char line[4400];
  while (!result.found && std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long file_offset = 0;
    unsigned long inode = 0;
    int path_at = 0;
    if (std::sscanf(line, "%lx-%lx ---s %lx %*s %lu %n", &begin, &end, &file_offset, &inode, &path_at) < 4) continue;
    if (address < begin || address >= end || std::strncmp(line + path_at, "/memfd:", 7) != 0) continue;
    if (std::strncmp(line + path_at + 7, sim::kDeviceMemoryName, std::strlen(sim::kDeviceMemoryName)) != 0) continue;
    result = {true, inode, file_offset + (address - begin), end - address};
  }
  std::fclose(file);
  return result;
}

/// The process's own descriptor of the file, −1: there is none.
int descriptor_of(std::uint64_t inode) {
  int found = -1;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return -1;
  while (const dirent* entry = readdir(folder)) {
    struct stat status {};
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fstat(fd, &status) != 0 || status.st_ino != inode) continue;
    char link[64] = "";
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, link, sizeof link - 1) > 0 && std::strncmp(link, "/memfd:", 7) == 0) found = fd;
  }
  closedir(folder);
  return found;
}

/// What the rules of ibv_reg_dmabuf_mr say (verbs-facts.md 5.3); 0: `stretch` is where the bytes are.
int find_dmabuf(const RegistrationRequest& r, Stretch& stretch) {
  constexpr unsigned kAllowed = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING;
  sim::DmabufHeader header{};
  const bool ours = pread(r.dmabuf_fd, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) &&
                    std::memcmp(header.magic, sim::kDmabufMagic, sizeof header.magic) == 0;
  if (!ours) return EBADF;
  const auto offset = reinterpret_cast<std::uint64_t>(r.address);
  if ((r.access & ~kAllowed) != 0 || offset % kPage != r.iova % kPage) return EINVAL;
  if (r.length == 0 || offset > header.bytes || r.length > header.bytes - offset) return EINVAL;
  stretch = {header.memory_fd, header.offset + offset};
  return 0;
}

int find_peermem(const RegistrationRequest& r, Stretch& stretch) {
  const DeviceMapping mapping = device_mapping(reinterpret_cast<std::uint64_t>(r.address));
  if (!mapping.found || r.length > mapping.bytes_left) return EFAULT;
  stretch = {descriptor_of(mapping.inode), mapping.offset};
  return stretch.fd < 0 ? EFAULT : 0;
}

}  // namespace

bool is_device_memory(const void* address) { return device_mapping(reinterpret_cast<std::uint64_t>(address)).found; }

int map_device_region(const RegistrationRequest& r, MrShared& fresh, SimMr& mr) {
  Stretch stretch;
  if (const int bad = r.by_dmabuf ? find_dmabuf(r, stretch) : find_peermem(r, stretch); bad != 0) return bad;
  const std::uint64_t lead = stretch.offset % kPage;
  const std::uint64_t bytes = (lead + r.length + kPage - 1) / kPage * kPage;
  const int own = fcntl(stretch.fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return errno;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, static_cast<off_t>(stretch.offset - lead));
  if (at == MAP_FAILED) {
    close(own);
    return ENOMEM;
  }
  mr.own_file = own;
  mr.own_mapping = at;
  mr.own_mapping_bytes = bytes;
  fresh.own_file = own;
  fresh.file_offset = stretch.offset;
  fresh.address = reinterpret_cast<std::uint64_t>(at) + lead;
  fresh.reach_lo = fresh.address;
  fresh.reach_hi = fresh.address + r.length;
  return 0;
}

void unmap_device_region(SimMr& mr) {
  if (mr.own_file < 0) return;
  // The addresses stay taken: a peer's mapping of this region must never be taken for one of another.
  mmap(mr.own_mapping, mr.own_mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  close(mr.own_file);
  mr.own_file = -1;
}

}  // namespace railgauge::simverbs
