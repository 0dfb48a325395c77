#pragma once
#include "host/facts.h"
#include "host/root.h"

namespace railgauge::host {

/// CPU model, microcode, hypervisor flag, online and allowed CPUs, last-level cache, governor, clock source, load, NUMA nodes.
void read_cpu(const Root& root, Snapshot& snapshot);

/// Memory size, huge pages, transparent huge pages, NUMA balancing, the memlock limit of this process.
void read_memory(const Root& root, Snapshot& snapshot);

/// Host name, distribution, kernel, command line, DMI, modules of interest, the sysctls that shape a TCP measurement.
void read_software(const Root& root, Snapshot& snapshot);

}  // namespace railgauge::host
