#pragma once
#include <fmt/format.h>

#include <cerrno>
#include <string>

#include "base/error.h"

namespace railgauge::verbs {

/// The three conventions of libibverbs and librdmacm, one check each. No other file compares a return code of theirs.
/// `what` names call and object: "ibv_create_cq of 256 entries on mlx5_0". Throws Error{verbs} with the errno.

/// A pointer, null with errno: ibv_create_*, ibv_reg_mr, ibv_open_device, ibv_alloc_pd.
template <typename T>
T* check_pointer(T* pointer, const std::string& what) {
  if (pointer != nullptr) return pointer;
  int error = errno;
  throw Error(ErrorKind::verbs, fmt::format("{}: {}", what, errno_text(error)), error);
}

/// The return value is the errno: ibv_modify_qp, ibv_query_*, ibv_destroy_*, ibv_req_notify_cq.
inline void check_value(int error, const std::string& what) {
  if (error == 0) return;
  // Some providers answer −errno and some −1 where the manual says errno.
  int code = error == -1 ? errno : error < 0 ? -error : error;
  throw Error(ErrorKind::verbs, fmt::format("{}: {}", what, errno_text(code)), code);
}

/// Negative with errno: ibv_query_gid*, ibv_get_cq_event, ibv_get_async_event, rdma_*. Returns what is not negative.
template <typename T>
T check_negative(T result, const std::string& what) {
  if (result >= 0) return result;
  int error = result == -1 ? errno : static_cast<int>(-result);
  throw Error(ErrorKind::verbs, fmt::format("{}: {}", what, errno_text(error)), error);
}

/// The same convention, where there is another way round a refusal.
template <typename T>
bool is_refused(T result) noexcept {
  return result < 0;
}

/// A returned errno, likewise.
inline bool is_refused_value(int error) noexcept { return error != 0; }

}  // namespace railgauge::verbs
