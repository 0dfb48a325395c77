#pragma once
#include <cstdint>
#include <string>

namespace railgauge::verbs {

/// "WR_FLUSH_ERR" for 5; "status 99" for what verbs.h does not know.
std::string status_name(std::uint32_t status);

/// What carried the request.
struct Carrier {
  bool software = false;                ///< rxe, siw
  bool infiniband = false;              ///< InfiniBand links, no Ethernet
};

/// The usual cause of a failed completion and where to look, in one sentence; empty for success. Of software what rxe means by
/// it, which differs (verbs-facts 4.4, seen on kernels 6.1 and 6.12).
std::string status_hint(std::uint32_t status, Carrier carrier);

}  // namespace railgauge::verbs
