#pragma once
#include <array>
#include <cstdint>

namespace railgauge {

/// Lane speeds by the names sysfs and ibstat print.
enum class LaneSpeed { sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };

/// One line of the lane table.
struct LaneFacts {
  LaneSpeed speed;
  std::uint32_t verbs_code;     ///< ibv_port_attr.active_speed, and active_speed_ex from XDR on (ibv_query_port(3))
  const char* name;             ///< "NDR"
  double signalling_gbit_per_s; ///< on the wire
  double data_gbit_per_s;       ///< after the line code: what packets get
  double nominal_gbit_per_s;    ///< what sysfs multiplies by the width; not the data rate for SDR, DDR, QDR, FDR
  const char* coding;           ///< "8b/10b"
};

/// The lane table, in the order of the enumeration: signalling rates and codes of the InfiniBand Architecture (link layer chapter)
/// as in libibverbs verbs.h, drivers/infiniband/core/verbs.c and the ConnectX-5/-6 manuals. From EDR on the nominal rate is the
/// data rate (EDR 25.78125 · 64/66; HDR and later carry RS-FEC inside the signalling rate).
inline constexpr std::array<LaneFacts, 9> kLaneSpeeds = {{
    {LaneSpeed::sdr, 1, "SDR", 2.5, 2.0, 2.5, "8b/10b"},
    {LaneSpeed::ddr, 2, "DDR", 5.0, 4.0, 5.0, "8b/10b"},
    {LaneSpeed::qdr, 4, "QDR", 10.0, 8.0, 10.0, "8b/10b"},
    {LaneSpeed::fdr10, 8, "FDR10", 10.3125, 10.0, 10.0, "64b/66b"},
    {LaneSpeed::fdr, 16, "FDR", 14.0625, 14.0625 * 64 / 66, 14.0, "64b/66b"},
    {LaneSpeed::edr, 32, "EDR", 25.78125, 25.0, 25.0, "64b/66b"},
    {LaneSpeed::hdr, 64, "HDR", 53.125, 50.0, 50.0, "RS-FEC"},
    {LaneSpeed::ndr, 128, "NDR", 106.25, 100.0, 100.0, "RS-FEC"},
    {LaneSpeed::xdr, 256, "XDR", 212.5, 200.0, 200.0, "RS-FEC"},
}};

}  // namespace railgauge
