#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "host/facts.h"

namespace railgauge::host {

/// The place below which host facts are read: the running host, or a tree of files of the same shape (`--sysroot`).
/// Symbolic links inside such a tree must be relative, as those of sysfs are. Copies are cheap; reads from any thread.
class Root {
 public:
  /// "" and "/" mean the running host.
  explicit Root(std::string prefix = {});
  /// True for the running host: only there are devices opened and the kernel asked (getifaddrs, ethtool).
  bool live() const noexcept { return prefix_.empty(); }
  /// Where `absolute` ("/sys/…") really lies.
  std::string path(std::string_view absolute) const;
  /// The file as read, trailing newlines and NULs removed; never throws.
  FileText read(std::string_view absolute) const;
  /// At most `limit` bytes, nothing removed: binary files, and long ones of which the beginning is enough.
  FileText read_bytes(std::string_view absolute, std::size_t limit) const;
  /// The file's trimmed text; missing with the reason of `reason_of`, or "empty".
  Fact<std::string> text(std::string_view absolute) const;
  /// The file as a whole number (decimal, or hexadecimal after 0x); missing also when it is none, quoting what was found.
  Fact<std::int64_t> integer(std::string_view absolute) const;
  /// Names in a directory, sorted, without dot files; empty when it cannot be listed.
  std::vector<std::string> list(std::string_view absolute) const;
  bool exists(std::string_view absolute) const;
  /// The path after all symbolic links, still seen from the root ("/sys/devices/pci0000:40/…"); nothing when a link is
  /// broken or leads out of the root.
  std::optional<std::string> resolve(std::string_view absolute) const;
  /// Last component of `resolve`: what a link such as `driver` names.
  Fact<std::string> link_name(std::string_view absolute) const;

 private:
  std::string prefix_;       ///< "" or without trailing slash
  std::string real_prefix_;  ///< prefix_ after symbolic links
};

/// Why a read failed, for Fact::reason: "absent", "EACCES (run as root)", "EINVAL (Invalid argument)".
std::string reason_of(int errno_value);

}  // namespace railgauge::host
