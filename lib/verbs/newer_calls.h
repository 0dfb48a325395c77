#pragma once
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace railgauge::verbs {

/// Calls that came to libibverbs after the classic ones; null where the library in use has none. They are looked up at run
/// time, so that this program starts beside an older library or a stand-in, and never hands a stand-in's objects to the
/// system's library.
struct NewerCalls {
  ssize_t (*query_gid_table)(ibv_context*, ibv_gid_entry*, std::size_t, std::uint32_t, std::size_t) = nullptr;  ///< version node 1.11
  int (*query_gid_ex)(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t, std::size_t) = nullptr;        ///< 1.11
  ibv_mr* (*reg_mr_iova2)(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) = nullptr;                      ///< 1.8
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) = nullptr;             ///< 1.12
  int (*query_qp_data_in_order)(ibv_qp*, ibv_wr_opcode, std::uint32_t) = nullptr;                               ///< 1.14
};

/// Those of the library that gives ibv_open_device. Any thread.
const NewerCalls& newer_calls() noexcept;

}  // namespace railgauge::verbs
