#pragma once
#include <string>

#include "host/root.h"
#include "host/snapshot.h"

namespace railgauge::host {

/// One of the fixture trees that tests/sysroots/make.py writes.
inline Root tree(const std::string& name) { return Root(std::string(RAILGAUGE_SYSROOTS_DIR) + "/" + name); }
inline Snapshot snapshot_of(const std::string& name) { return read_snapshot(tree(name)); }

}  // namespace railgauge::host
