/// Carrying out one work request against the peer's memory and queues.
#pragma once
#include "objects.h"

namespace railgauge::simverbs {

struct Outcome {
  Verdict verdict = Verdict::done;
  std::uint8_t status = IBV_WC_SUCCESS;
  std::uint16_t vendor_err = 0;
  std::uint32_t byte_len = 0;
  std::uint64_t due_ns = 0;
  bool responder_failed = false;  ///< the peer's queue pair has already been moved to ERR
};

/// Carries out `wr` (sq_lock held). Inline data must still be where its SGEs say.
Outcome execute(SimQp& qp, const ibv_send_wr& wr) noexcept;

/// Where an SGE's bytes are for the stand-in, which may be another address than the program's (device memory); null: no such region.
char* local_bytes(const SimQp& qp, const ibv_send_wr& wr, const ibv_sge& s) noexcept;

/// Vendor codes of the stand-in: which check failed.
enum : std::uint16_t {
  kVendorLocalKey = 0x51,
  kVendorLength = 0x52,
  kVendorRemoteKey = 0x88,
  kVendorRemoteRange = 0x89,
  kVendorRemoteRight = 0x8a,
  kVendorRemoteProtection = 0x8b,
  kVendorRemoteOperation = 0x8c,
  kVendorRetry = 0x81,
  kVendorNotReady = 0x82,
  kVendorMemory = 0x90,
  kVendorScript = 0xf5,
  kVendorFlushed = 0xf9,
};

}  // namespace railgauge::simverbs
