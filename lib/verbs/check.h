#pragma once
#include <fmt/format.h>

#include <cerrno>
#include <string>

#include "base/error.h"

namespace railgauge::verbs {

/// The three conventions of libibverbs and librdmacm, one check each, and also the errno behind
/// each, for callers that may not throw or have another way round. No other file compares a return code of theirs.
/// `what` names call and object: "ibv_create_cq of 256 entries on mlx5_0". Throws Error{verbs} with the errno.

/// A pointer, null with errno: ibv_create_*, ibv_reg_mr, ibv_open_device, ibv_alloc_pd.
template <typename T>
T* check_pointer(T* pointer, const std::string& what) {
  if (pointer != nullptr) return pointer;
  int error = errno;
  throw Error(ErrorKind::verbs, fmt::format("{}: {}", what, errno_text(error)), error);
}

/// The errno of a null pointer, 0 of any other. Never 0 for a failure, as below.
inline int errno_of_pointer(const void* pointer) noexcept { return pointer != nullptr ? 0 : errno > 0 ? errno : EIO; }

/// The errno of a negative result, 0 of any other. −1 leaves it in errno; some calls of librdmacm answer −errno. Never 0 for a
/// failure: a provider that left errno alone gave no reason, which is EIO.
template <typename T>
int errno_of_negative(T result) noexcept {
  if (result >= 0) return 0;
  const int error = result == -1 ? errno : static_cast<int>(-result);
  return error > 0 ? error : EIO;
}

/// The errno of a returned one; 0: success. Some providers answer −errno and some −1 where the manual says errno.
inline int errno_of_value(int result) noexcept { return result > 0 ? result : errno_of_negative(result); }

/// The return value is the errno: ibv_modify_qp, ibv_post_*, ibv_query_*, ibv_destroy_*, ibv_req_notify_cq.
inline void check_value(int result, const std::string& what) {
  if (const int error = errno_of_value(result); error != 0) throw Error(ErrorKind::verbs, fmt::format("{}: {}", what, errno_text(error)), error);
}

/// Negative with errno: ibv_query_gid*, ibv_poll_cq, ibv_get_cq_event, ibv_get_async_event, rdma_*. Returns what is not negative.
template <typename T>
T check_negative(T result, const std::string& what) {
  if (const int error = errno_of_negative(result); error != 0) throw Error(ErrorKind::verbs, fmt::format("{}: {}", what, errno_text(error)), error);
  return result;
}

}  // namespace railgauge::verbs
