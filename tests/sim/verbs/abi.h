/// What every file with exported calls begins with: the calls get visibility, and the header's macros of the same
/// names go away.
#pragma once
#include <infiniband/verbs.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define RAILGAUGE_SIM_EXPORT extern "C" __attribute__((visibility("default")))
