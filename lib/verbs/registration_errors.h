#pragma once
#include <string>

#include "memory/buffer_source.h"

namespace railgauge::verbs {

/// What an errno of ibv_reg_mr or ibv_reg_dmabuf_mr means for device memory, and what mends it; the system's word where nothing
/// more is known. Any errno, also 524 (ENOTSUPP), which strerror does not know.
std::string registration_meaning(memory::Way way, int code);

/// Whether it says that kernel, driver or device lack the ability, rather than that something went wrong.
bool means_unsupported(memory::Way way, int code) noexcept;

}  // namespace railgauge::verbs
