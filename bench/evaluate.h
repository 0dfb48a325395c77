#pragma once
#include "bench/client_session.h"
#include "bench/connection_options.h"

namespace railgauge::bench {

/// Gives a measurement what the link should carry and the verdict, from both hosts' facts and the path it used.
void evaluate(results::Measurement& measurement, const results::Record& record, const ClientSession& session,
              const ClientOptions& options);

/// Lines for what differs between the two hosts on the paths that were used.
void note_differences(results::Record& record, const ClientSession& session);

/// Labels (simulated, software), overall verdict and exit code.
void conclude_record(results::Record& record);

}  // namespace railgauge::bench
