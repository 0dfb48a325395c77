#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace railgauge::rates {

/// What a term bounds: a network link with its port, a PCIe link of a host, or the plan itself, by a limit it asked for.
enum class TermKind { link, pcie, asked };

/// One upper bound on what a path can carry, in payload bits. `name` is for people: what decides is in the other members.
struct Term {
  std::string name;         ///< "port 400 Gb/s (4X NDR) of mlx5_0 on A", "PCIe 16 GT/s x16 at 0000:41:00.0 on B"
  double gbit_per_s = 0;    ///< payload, after the headers named in `formula`
  std::string formula;      ///< the arithmetic with its numbers
  std::string source;       ///< where the figures come from
  bool informational = false;   ///< never the limit: what would be possible ("path MTU 4096 instead of 1024")
  TermKind kind = TermKind::link;
  std::string host{};           ///< whose port or slot, by hostname; empty: of both ends, or of a link described by hand
  std::string address{};        ///< there: the RDMA device or interface of a link, the PCI address of a PCIe link; else empty
  bool given_by_user = false;   ///< the rate is the user's word, not the port's
  /// What is possible where `gbit_per_s` is what is safe to expect: few flows over a bond may share one slave, or not.
  std::optional<double> at_most_gbit_per_s{};
  bool operator==(const Term&) const = default;
};

/// What a measurement should reach: the smallest term, by name.
struct Expectation {
  std::vector<Term> terms;
  std::optional<std::size_t> limiting;  ///< index of the smallest term; absent when there is none
  std::string reason;                   ///< why there is no expectation ("software device", "link rate unknown"); else empty
  bool wire_limit_only = false;         ///< message rate, not bandwidth, is likely to bind (rate metric, small messages): an upper bound, no criterion
  std::vector<std::string> notes;       ///< what had to be assumed or could not be read, one sentence each
  /// The smallest term; null when there is none.
  const Term* limit() const { return limiting && *limiting < terms.size() ? &terms[*limiting] : nullptr; }
  std::optional<double> gbit_per_s() const { return limit() ? std::optional(limit()->gbit_per_s) : std::nullopt; }
  /// The smallest term about a network link: what the path would carry were it not for its slots. Null when there is none.
  const Term* slowest_link() const;
  /// The limit that the plan asked for is smaller than what the path can carry.
  bool is_as_asked() const { return limit() && limit()->kind == TermKind::asked; }
  /// What no run can exceed: the smallest of the terms at their best. Absent when there is no expectation.
  std::optional<double> at_most_gbit_per_s() const;
  bool operator==(const Expectation&) const = default;
};

}  // namespace railgauge::rates
