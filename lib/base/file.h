#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace railgauge {

/// A small text file as read: its content without trailing newlines and NULs, or the errno that reading gave.
struct FileText {
  std::optional<std::string> text;
  int error = 0;  ///< errno of the failed open or read; 0 when `text` is set
};

/// A plain file opened for reading, without ever waiting for a FIFO or a device. Empty with errno set, and the reason in
/// `obstacle`, where it cannot be opened or is something else: EISDIR for a directory, EINVAL for the rest. errno and the
/// descriptor are the calling thread's.
UniqueFd open_plain_file(const std::string& path, std::string& obstacle);

/// Reads at most 1 MiB of a plain file. Never throws for a file that cannot be read: sysfs answers EINVAL, EACCES, EOPNOTSUPP … as facts.
FileText read_text_file(const std::string& path);

/// Makes a temporary file beside `path`, gives it another name the way write_file_atomically does without `replace`, and
/// removes it: throws the Error{system} that this would end in (no permission, read-only file system, name too long), but
/// for a full disk. To be asked before an hour of measuring.
void check_can_create(const std::string& path);

/// Writes `content` to a new temporary file beside `path`, syncs it and renames it into place, so that a reader or a
/// kill never sees half a file. Throws Error{system} naming the path and the reason (full disk, no permission); the
/// temporary file is removed on failure. With `replace` false an existing file at `path` is an Error{usage}, also one that
/// appears meanwhile; on a file system that can neither rename without replacing nor link (some FUSE), a kill between two
/// calls can leave an empty file at `path`.
void write_file_atomically(const std::string& path, std::string_view content, bool replace);

}  // namespace railgauge
