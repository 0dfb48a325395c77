#include <fnmatch.h>

#include <string>

#include "host/counters.h"

namespace railgauge::host {
namespace {

using enum CounterSeverity;

struct Row {
  const char* pattern;  ///< fnmatch(3); the first that fits counts
  CounterSeverity severity;
  const char* sentence;
  const char* remedy = "";
};

constexpr const char* kCable = "clean or replace the cable or optics, see what the switch's port says, then measure again";
constexpr const char* kReseat = "reseat the card (and its riser), or try another slot, then measure again";
constexpr const char* kDrain = "find what keeps this host from draining: NUMA placement, PCIe MaxReadReq, ACS, IOMMU, GPU path";
constexpr const char* kLoss = "look at drops on the switch ports, and at PFC, ECN and MTU on both ends";
constexpr const char* kPriority = "make DSCP, trust and PFC priority the same on both ends and the switch";
constexpr const char* kCredits = "the cable is not at fault: compare buffers, VLs and firmware of this port and the one it is cabled to";
constexpr const char* kElsewhere = "measure another path, and look at the switches' ports on this one";
constexpr const char* kRoutes = "check the subnet manager's routes, and the MTU along the path";
constexpr const char* kCongestion = "look for other traffic on the path, and for a port of it that was down";
constexpr const char* kPkeys = "compare the P_Keys of both ports with the subnet manager's partitions";
constexpr const char* kCorruption = "measure over other switches, then with another card: one of them changes packets after their CRC was checked";
constexpr const char* kDead = "check the GID, the route and the switch ports of the path";

// Source: InfiniBand PortCounters, the kernel's mlx5 counter documentation and the sysfs ABI, gathered in host-facts, section 3.2.
constexpr Row kRows[] = {
    // the link itself
    {"link_downed", hard_fail, "the link went down: cable, optics or the far port", kCable},
    {"link_down_events_phy", hard_fail, "the link went down: cable, optics or the far port", kCable},
    {"carrier_changes", hard_fail, "the interface lost or gained its carrier: cable, optics or the far port", kCable},
    {"link_error_recovery", hard_fail, "the link retrained and came back: cable; the bandwidth figure is not valid", kCable},
    {"symbol_error", soft_fail, "errors on the lanes: cable or optics (with PAM4 and FEC look at the effective BER too)", kCable},
    {"port_rcv_errors", hard_fail, "packets arrived damaged (CRC or physical error): cable or optics", kCable},
    {"local_link_integrity_errors", hard_fail, "the link layer exceeded its error limit: cable or optics", kCable},
    {"excessive_buffer_overrun_errors", hard_fail, "flow control broke and buffers overran", kCredits},
    {"port_rcv_remote_physical_errors", warn, "packets were marked bad upstream: the fault lies elsewhere on the path", kElsewhere},
    {"port_rcv_switch_relay_errors", warn, "a relay had no route or another MTU: subnet manager routing or MTU", kRoutes},
    {"port_xmit_discards", soft_fail, "packets were dropped at egress: port down or congestion time-out; a lossless fabric has none", kCongestion},
    {"port_xmit_wait", info, "data waited for credits: congestion or a slow receiver"},
    {"port_*_constraint_errors", soft_fail, "a partition or raw filter dropped packets: P_Key configuration", kPkeys},
    {"VL15_dropped", info, "management packets were dropped"},
    {"rx_crc_errors_phy", hard_fail, "frames arrived with a bad CRC: cable or optics", kCable},
    {"rx_symbol_err_phy", soft_fail, "symbol errors on the Ethernet link: cable or optics", kCable},
    {"rx_pcs_symbol_err_phy", hard_fail, "errors that FEC did not correct: cable or optics", kCable},
    // Counted before FEC (mlx5 counters.rst), of which PAM4 always has some; what FEC could not mend is in rx_pcs_symbol_err_phy.
    {"rx_err_lane_[0-9]_phy", info, "raw errors on one lane before FEC: gives the raw BER"},
    {"rx_corrected_bits_phy", info, "bits corrected by FEC: gives the raw BER"},
    {"rx_icrc_encapsulated", hard_fail, "packets arrived with a bad ICRC: something on the path corrupts data", kCorruption},
    {"module_*", warn, "the cable module reports a fault: replace or cool it", kCable},
    // drops and pauses on Ethernet
    {"rx_discards_phy", soft_fail, "the NIC had no buffer for arriving frames: host or PCIe too slow, or PFC not in force", kDrain},
    {"tx_discards_phy", warn, "frames were dropped at egress: pause from the switch, or link down"},
    {"rx_out_of_range_len_phy", warn, "the peer sends longer frames: the MTUs differ"},
    {"rx_oversize_pkts_phy", warn, "the peer sends longer frames: the MTUs differ"},
    {"rx_prio[0-7]_pause*", warn, "the network or the peer told the host to stop: congestion at the switch or a slow peer"},
    {"tx_prio[0-7]_pause*", warn, "the host told the network to stop: it drains slowly, as PCIe or memory cannot keep up (MRRS, ACS, NUMA, GPU path)", kDrain},
    {"?x_global_pause*", warn, "global pause is in use: PFC is not set up if per-priority pause was meant"},
    {"?x_pause_ctrl_phy", warn, "global pause is in use: PFC is not set up if per-priority pause was meant"},
    {"tx_pause_storm_*", hard_fail, "the host paused the network for long", kDrain},
    {"rx_prio[0-7]_discards", soft_fail, "frames of this priority were dropped: traffic on a wrong or lossy priority", kPriority},
    {"rx_prio[0-7]_*_discard", soft_fail, "frames of this priority were dropped: traffic on a wrong or lossy priority", kPriority},
    // transport
    {"out_of_sequence", warn, "the responder saw a gap: lost or reordered packets", kLoss},
    {"packet_seq_err", soft_fail, "the requester was told of a gap: lost or reordered packets", kLoss},
    // rxe's own names for the same (Linux 6.1, drivers/infiniband/sw/rxe/rxe_hw_counters.c)
    {"rcvd_seq_err", soft_fail, "soft-RoCE was told of a gap: lost or reordered packets", kLoss},
    {"out_of_seq_request", soft_fail, "soft-RoCE saw a gap: lost or reordered packets", kLoss},
    {"retry_exceeded_err", soft_fail, "soft-RoCE gave up repeating: acknowledgements never came", kDead},
    {"implied_nak_seq_err", soft_fail, "a read or atomic response was lost", kLoss},
    {"local_ack_timeout_err", soft_fail, "acknowledgements never came: severe loss, dead path, wrong GID or time-out too small", kDead},
    {"roce_adp_retrans*", warn, "adaptive retransmission hides loss", kLoss},
    {"roce_slow_restart*", warn, "adaptive retransmission hides loss", kLoss},
    {"duplicate_request", warn, "the peer sent again what had arrived: see its local_ack_timeout_err"},
    {"rnr_nak_retry_err", warn, "the receiver posts too few receives: software, not the link"},
    {"out_of_buffer", warn, "the receiver posts too few receives: software, not the link"},
    {"rx_out_of_buffer", warn, "the interface had no receive buffer: interrupts or rings too few"},
    {"np_ecn_marked_roce_packets", info, "the switch marked congestion: ECN works"},
    {"np_cnp_sent", info, "congestion notifications sent: DCQCN slows the peer down"},
    {"rp_cnp_handled", info, "congestion notifications obeyed: DCQCN slowed the host down"},
    {"rp_cnp_ignored", warn, "congestion notifications ignored: the reaction point is disabled"},
    {"*_cqe_flush_error", info, "work flushed at teardown: normal"},
    {"req_cqe_error", info, "operations completed with an error (those of teardown included: subtract the flush errors)"},
    {"resp_cqe_error", info, "operations completed with an error (those of teardown included: subtract the flush errors)"},
    {"req_transport_retries_exceeded", soft_fail, "operations failed after all retries", kDead},
    {"req_remote_access_errors", soft_fail, "the peer refused access: wrong rkey or range"},
    {"resp_remote_access_errors", soft_fail, "access by the peer was refused: wrong rkey or range"},
    {"resp_local_length_error", soft_fail, "a message was longer than the receive posted"},
    {"rx_write_requests", info, "writes this port answered: proof that the run used it"},
    {"rx_read_requests", info, "reads this port answered: proof that the run used it"},
    {"rx_atomic_requests", info, "atomics this port answered: proof that the run used it"},
    // PCIe
    {"?x_pci_signal_integrity", soft_fail, "PCIe signal errors: reseat the card", kReseat},
    {"outbound_pci_stalled_*", warn, "the NIC waited for PCIe credits: the host is the bottleneck"},
    {"outbound_pci_buffer_overflow", warn, "the NIC waited for PCIe: the host is the bottleneck"},
    {"TOTAL_ERR_COR", warn, "correctable PCIe errors: reseat the card or riser", kReseat},
    // interface statistics
    {"rx_crc_errors", hard_fail, "frames arrived with a bad CRC: cable or optics", kCable},
    {"rx_missed_errors", warn, "the interface dropped frames: rings or interrupts too slow"},
    {"rx_fifo_errors", warn, "the interface dropped frames: rings or interrupts too slow"},
    {"tx_carrier_errors", soft_fail, "carrier lost while sending: cable or optics", kCable},
};

}  // namespace

std::optional<CounterMeaning> meaning_of(std::string_view name) {
  std::string text(name);
  for (const Row& row : kRows)
    if (::fnmatch(row.pattern, text.c_str(), 0) == 0) return CounterMeaning{row.severity, row.sentence, row.remedy};
  return std::nullopt;
}

const char* name_of(CounterSeverity severity) noexcept {
  switch (severity) {
    case info: return "info";
    case warn: return "warn";
    case soft_fail: return "soft_fail";
    case hard_fail: break;
  }
  return "hard_fail";
}

}  // namespace railgauge::host
