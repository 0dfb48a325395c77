#include "verbs/status.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>

namespace railgauge::verbs {
namespace {

struct Entry {
  ibv_wc_status status;
  const char* name;
  const char* hint;
};

constexpr const char* kNoAnswer =
    "no acknowledgement from the peer: its QP is gone, the link is down, UDP port 4791 is filtered, or GID index, RoCE version or MTU do not fit";
constexpr const char* kNoAnswerInfiniband =
    "no acknowledgement from the peer: its QP is gone, the link is down, or there is no InfiniBand path between these ports: compare partitions "
    "(P_Keys), subnet manager, routes and MTU";

// Causes: man ibv_poll_cq and verbs.h of rdma-core 44.
constexpr Entry kEntries[] = {
    {IBV_WC_SUCCESS, "SUCCESS", ""},
    {IBV_WC_LOC_LEN_ERR, "LOC_LEN_ERR", "a message was longer than the receive posted for it, or than the port's largest message, or the two ends have different path MTUs"},
    {IBV_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR", "the local QP was in no state for this request, or the request was malformed"},
    {IBV_WC_LOC_EEC_OP_ERR, "LOC_EEC_OP_ERR", "RD transport only"},
    {IBV_WC_LOC_PROT_ERR, "LOC_PROT_ERR", "local memory outside its region, or a GPU's behind an IOMMU or ACS that blocks peer-to-peer"},
    {IBV_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR", "the QP was already in error: look for the first other failure or an asynchronous event"},
    {IBV_WC_MW_BIND_ERR, "MW_BIND_ERR", "a memory window could not be bound"},
    {IBV_WC_BAD_RESP_ERR, "BAD_RESP_ERR", "the peer answered with an opcode that was not expected"},
    {IBV_WC_LOC_ACCESS_ERR, "LOC_ACCESS_ERR", "local memory is not registered for writing"},
    {IBV_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR",
     "the peer's QP does not allow this operation, its receive was too small, or too many reads were outstanding"},
    {IBV_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR", "the peer's rkey was wrong, the address outside its region, or the region lacks the right"},
    {IBV_WC_REM_OP_ERR, "REM_OP_ERR", "the peer could not finish the operation: look at its own failure and its kernel log"},
    {IBV_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR", kNoAnswer},
    {IBV_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR", "the peer had no receive posted for too long"},
    {IBV_WC_LOC_RDD_VIOL_ERR, "LOC_RDD_VIOL_ERR", "RD transport only"},
    {IBV_WC_REM_INV_RD_REQ_ERR, "REM_INV_RD_REQ_ERR", "RD transport only"},
    {IBV_WC_REM_ABORT_ERR, "REM_ABORT_ERR", "the peer aborted the operation"},
    {IBV_WC_INV_EECN_ERR, "INV_EECN_ERR", "RD transport only"},
    {IBV_WC_INV_EEC_STATE_ERR, "INV_EEC_STATE_ERR", "RD transport only"},
    {IBV_WC_FATAL_ERR, "FATAL_ERR", "the device failed: look at the kernel log"},
    {IBV_WC_RESP_TIMEOUT_ERR, "RESP_TIMEOUT_ERR", "the peer did not respond in time"},
    {IBV_WC_GENERAL_ERR, "GENERAL_ERR", "the device gives no reason: look up its vendor error"},
};

const Entry* find(std::uint32_t status) {
  for (const Entry& entry : kEntries)
    if (static_cast<std::uint32_t>(entry.status) == status) return &entry;
  return nullptr;
}

}  // namespace

std::string status_name(std::uint32_t status) {
  const Entry* entry = find(status);
  return entry != nullptr ? entry->name : fmt::format("status {}", status);
}

std::string status_hint(std::uint32_t status, Carrier carrier) {
  const Entry* entry = find(status);
  if (entry == nullptr) return "a status that this version does not know";
  if (status == IBV_WC_RETRY_EXC_ERR && carrier.infiniband) return kNoAnswerInfiniband;
  std::string hint = entry->hint;
  if (!carrier.software) return hint;
  if (status == IBV_WC_LOC_QP_OP_ERR) hint += "; soft-RoCE also says so for a wrong lkey and when the link goes down";
  if (status == IBV_WC_WR_FLUSH_ERR) hint += "; soft-RoCE since 6.12 also says so for a wrong lkey and when the link goes down";
  if (status == IBV_WC_REM_OP_ERR) hint += "; soft-RoCE also says so for a send larger than the peer's receive";
  return hint;
}

}  // namespace railgauge::verbs
