#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace railgauge::report {

/// Why a figure is what it is: one sentence, and what to do.
struct Cause {
  std::string sentence;
  std::vector<std::string> remedies;
  bool of_the_measuring = false;  ///< what measured held the figure back (its CPU, its TCP buffers): it says nothing of the link
};

/// Why a measurement that was to be verified was not, although it ran to its end; nothing: it was, or it has nothing to compare.
std::optional<std::string> unverified_text(const results::Measurement& measurement);

/// The first byte that differed: "hostB: 4096 of 1048576 bytes differ, first at offset 8192: expected 0x5a, found 0x00".
/// Or what was lost or cut short, as far as that left no wrong byte behind. Nothing when all data checked was right.
std::optional<std::string> mismatch_text(const results::Measurement& measurement);

/// How clean the link stayed during the measurement, from counters that moved.
enum class Cleanliness { clean, suspicious, dirty };
struct LinkState {
  Cleanliness cleanliness = Cleanliness::clean;
  Cause cause{};  ///< the events, or the counter, by how much and what it means, on which host; and what mends that
};
/// dirty: the port flapped (by its events, which come first), the link went down, retrained, or damaged packets; suspicious: loss that a lossless fabric would not have (RDMA).
LinkState link_state(const results::Measurement& measurement);

/// A whole interval below half of the mean, with its time, where there are ten at least: what "min" is for. Empty else. Where a thread
/// waited for a CPU for as long as the interval misses, that is the cause, of the measuring.
Cause cause_of_dropout(const results::Measurement& measurement);

/// "out_of_sequence +5 on node-07"; of a counter whose delta is known.
std::string moved_text(const results::SideResult& side, const results::CounterDelta& counter);

/// A measuring thread that was ready to run and had no CPU.
struct CpuWait {
  const results::SideResult* side = nullptr;  ///< of the measurement that was asked about
  double share = 0;                           ///< of the thread's time, 0…1
  std::chrono::nanoseconds waited{};          ///< in all
};
/// The longest of both sides; nothing where none is more than 5 %.
std::optional<CpuWait> longest_wait(const results::Measurement& measurement);
/// A thread that waits moves nothing meanwhile: what is missing is its wait if the two are about as large, in whatever unit. A small
/// wait beside a large gap comes on top of something else.
bool explains(double wait, double missing);
/// What says so, with its host. Of the measuring.
Cause cause_of(const CpuWait& waits);
/// The same of longest_wait; empty where there is none.
Cause cpu_contention(const results::Measurement& measurement);

/// An event of SideResult::events that tells that the port in use went down, came up or changed its speed.
bool is_port_event(std::string_view event);

/// Where the user said what the link carries: a port that by its host's facts cannot. Nothing else needs explaining then. Empty else.
Cause cause_in_port_rate(const results::Measurement& measurement, const results::Record& record);

/// RoCE addressed by a RoCE v1 or link-local GID on either host: not routed, another switch or subnet drops it (field case
/// F28), and the index that the port has instead. Empty else.
Cause cause_in_gids(const results::Measurement& measurement, const results::Record& record);

/// Nobody answered while it ran: RETRY_EXC_ERR, or a timeout.
bool is_unanswered(const results::ErrorInfo& error);
/// Fits one packet of every path MTU, of which InfiniBand's smallest is 256.
inline constexpr std::uint64_t kOnePacket = 256;

/// Why the peer did not acknowledge a single RDMA request: where none was acknowledged in the whole record, no P_Key in common or ports
/// in different networks, else, with no sentence, the ports that were not tried; where others were, a smaller MTU on the way. Empty for
/// any other failure, and where the run broke off in its midst.
Cause cause_of_no_answer(const results::Measurement& measurement, const results::Record& record);

/// Why bandwidth is lower than expected: cause_in_port_rate, else a thread without a CPU where its wait is about what is missing, else
/// one slave of a bond, a TCP limiter of the hosts, the heaviest of what moved (pauses, congestion, loss; pressure.h), the network, or a depth too small for the record's round trip.
/// `expected_gbit_per_s`: nothing: the measurement's expectation.
Cause cause_of_low_bandwidth(const results::Measurement& measurement, const results::Record& record, std::optional<double> expected_gbit_per_s = {});

/// Several flows at about the rate of one slave of a bond that either side uses: all leave through one port (field case F69). Empty else.
Cause cause_in_bond(const results::Measurement& measurement, const results::Record& record);
/// More than one port carries through a device that is a bond by its name, where its host's facts know no slaves. Empty else.
Cause cause_in_bond_name(const results::Measurement& measurement, const results::Record& record);

/// What limits the expectation itself when that is not the port at its best: lost lanes, a port slower than the other end's or than
/// another of its model, the PCIe link, the path MTU. Empty else.
Cause cause_of_low_expectation(const results::Measurement& measurement, const results::Record& record);

}  // namespace railgauge::report
