/// Memory regions in the stand-in GPU's memory (../cuda): by dma-buf, or by the plain device address (peermem).
#pragma once
#include "memory.h"

namespace railgauge::simverbs {

/// Whether an address lies in a stand-in GPU's memory. The program may not touch it; a NIC with peermem may.
bool is_device_memory(const void* address);

/// Maps the region's bytes at an address of their own, which no later region gets, so that nothing a peer has mapped goes stale;
/// says in `fresh` where. 0, or the errno of ibv_reg_mr or ibv_reg_dmabuf_mr.
int map_device_region(const RegistrationRequest& request, MrShared& fresh, SimMr& mr);

/// Undoes it.
void unmap_device_region(SimMr& mr);

}  // namespace railgauge::simverbs
