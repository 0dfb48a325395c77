#pragma once
#include <atomic>

namespace railgauge::bench {

/// SIGINT, SIGTERM and SIGHUP (unless ignored, as by nohup) set a flag and wake whoever polls; a second one ends the process at once. SIGPIPE is ignored.
/// Installed by main before any thread starts; the measuring threads never see the signals.
void install_signal_handlers();

/// True once the user asked to stop.
bool stop_requested() noexcept;

/// Readable once the user asked to stop: for poll(2). Valid for the life of the process.
int stop_fd() noexcept;

}  // namespace railgauge::bench
