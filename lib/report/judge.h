#pragma once
#include <optional>

#include "base/error.h"
#include "results/record.h"

namespace railgauge::report {

/// What separates the words. Fractions are of the expectation; sources: acceptance-methods.md 3.3 (0.95 and 0.90 lie inside
/// the public range of 0.875 to 0.96 of line), link-rates.md "weak spots" (above 100 % is to be explained; 2 % for the
/// uncertain header bytes of the model).
struct Thresholds {
  double met_fraction = 0.95;     ///< at least: met
  double below_fraction = 0.90;   ///< less: below; between the two: marginal
  double above_fraction = 1.02;   ///< of the most that is possible; more: inconclusive, since a link cannot carry it
  /// The user's word beats the computed expectation; criterion "user".
  std::optional<double> required_gbit_per_s;
  std::optional<double> allowed_p50_us;
  std::optional<double> allowed_p99_us;
};

/// The verdict of one measurement: pure, from the measurement and what `record` says of the two hosts (nodes, same_host);
/// `record` need not be complete. Never throws.
///
/// failed: data differed, no figure came out, or error counters of the link moved ("fast but dirty"). below, marginal, met:
/// bandwidth against its expectation. inconclusive: stopped on the way, not steady, more than the link can carry, or a measuring
/// thread without a CPU. no_criterion: latency and rates without a user's limit, one QP or one TCP stream, TCP that its host's CPU or
/// buffers held back (such figures are no fault of the link),
/// software devices, loopback, unknown link rate. A simulated device is judged for rehearsal: criterion "simulated".
results::Verdict judge(const results::Measurement& measurement, const results::Record& record, const Thresholds& thresholds = {});

/// The worst of the record's verdicts, with its cause: wrong data, then a faulty link, then what could not be measured, then what is
/// below. An interrupted run is inconclusive; verdicts with criterion "simulated" count only where data differed or no figure came
/// out. TCP that a host did not keep up with is no criterion beside RDMA; a check that judged TCP only is inconclusive by it.
results::Verdict overall(const results::Record& record);

/// What the process ends with, by the same worst: 0 met, marginal or nothing to judge; 1 below, data differed, dirty link; 3 not measured,
/// interrupted, inconclusive, or a check between two real hosts in which nothing had a criterion; 77 everything skipped; 2 a usage error ended the run.
ExitCode exit_code(const results::Record& record);

}  // namespace railgauge::report
