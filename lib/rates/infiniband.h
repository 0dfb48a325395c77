#pragma once
#include <array>
#include <optional>
#include <string_view>

namespace railgauge::rates {

/// Lane speeds by the names sysfs and ibstat print.
enum class LaneSpeed { sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };

/// One line of the lane table.
struct LaneFacts {
  LaneSpeed speed;
  const char* name;             ///< "NDR"
  double signalling_gbit_per_s; ///< on the wire
  double data_gbit_per_s;       ///< after the line code: what packets get
  double nominal_gbit_per_s;    ///< what sysfs multiplies by the width; not the data rate for SDR, DDR, QDR, FDR
  const char* coding;           ///< "8b/10b"
};

/// The lane table: signalling rates and codes of the InfiniBand Architecture (link layer chapter) as in libibverbs
/// verbs.h, drivers/infiniband/core/verbs.c and the ConnectX-5/-6 manuals. From EDR on the nominal rate is the data rate
/// (EDR 25.78125 · 64/66; HDR and later carry RS-FEC inside the signalling rate).
inline constexpr std::array<LaneFacts, 9> kLanes = {{
    {LaneSpeed::sdr, "SDR", 2.5, 2.0, 2.5, "8b/10b"},
    {LaneSpeed::ddr, "DDR", 5.0, 4.0, 5.0, "8b/10b"},
    {LaneSpeed::qdr, "QDR", 10.0, 8.0, 10.0, "8b/10b"},
    {LaneSpeed::fdr10, "FDR10", 10.3125, 10.0, 10.0, "64b/66b"},
    {LaneSpeed::fdr, "FDR", 14.0625, 14.0625 * 64 / 66, 14.0, "64b/66b"},
    {LaneSpeed::edr, "EDR", 25.78125, 25.0, 25.0, "64b/66b"},
    {LaneSpeed::hdr, "HDR", 53.125, 50.0, 50.0, "RS-FEC"},
    {LaneSpeed::ndr, "NDR", 106.25, 100.0, 100.0, "RS-FEC"},
    {LaneSpeed::xdr, "XDR", 212.5, 200.0, 200.0, "RS-FEC"},
}};

/// Widths a port can have.
inline constexpr std::array<int, 5> kWidths = {1, 2, 4, 8, 12};

const LaneFacts& lane_facts(LaneSpeed speed) noexcept;

/// The lane speed called `name`, in either case ("NDR", "ndr"); empty for any other word.
std::optional<LaneSpeed> lane_speed_from(std::string_view name);

/// True for 1, 2, 4, 8, 12.
bool is_width(int width) noexcept;

/// Data rate of an InfiniBand port: what packets, headers included, can use. Not for Ethernet ports, which reuse the
/// names with another meaning (40G Ethernet reads "4X QDR" and carries 40, not 32).
double infiniband_data_gbit_per_s(LaneSpeed speed, int width) noexcept;

}  // namespace railgauge::rates
