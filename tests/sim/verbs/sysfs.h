/// The devices as /sys/class/infiniband shows them.
#pragma once
#include <string>
#include <vector>

#include "objects.h"

namespace railgauge::simverbs {

/// Writes the tree below RAILGAUGE_SIM_SYSFS, or below a private temporary folder that is removed when the process
/// exits, and fills dev_path and ibdev_path of the devices. The folder given plays the part of /sys: the devices are in
/// <folder>/class/infiniband/<name>. A folder that cannot be written is reported on stderr; the devices work without.
void write_sysfs(std::vector<SimDevice*>& devices);

}  // namespace railgauge::simverbs
