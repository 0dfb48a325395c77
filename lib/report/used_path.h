#pragma once
#include "host/facts.h"
#include "results/record.h"

namespace railgauge::report {

/// The RDMA device that a side used, as its host describes it; null: none, or not known there. All pointers live as long as `node`.
const host::RdmaDevice* device_of(const results::Node& node, const results::SideResult& side);

/// The interface that a side's traffic passed: of RoCE that of the GID in use, else the device's first; of TCP the one that was placed.
/// Null: not known.
const host::Netdev* netdev_of(const results::Node& node, const results::SideResult& side);

}  // namespace railgauge::report
