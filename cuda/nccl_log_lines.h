#pragma once
#include "cuda/nccl_log.h"

/// The line forms, one reader each: adds what `origin.text` says to the log and returns true, or leaves the log alone. A line
/// that is cut or has a number where none can be is refused, so that it is kept as unknown.
namespace railgauge::cuda {

// nccl_log_channels.cc
bool read_channel(NcclLog& log, const Origin& origin);
bool read_trees(NcclLog& log, const Origin& origin);
bool read_connected(NcclLog& log, const Origin& origin);

// nccl_log_comms.cc
bool read_comm(NcclLog& log, const Origin& origin);
bool read_init_timings(NcclLog& log, const Origin& origin);
bool read_channel_counts(NcclLog& log, const Origin& origin);
bool read_graph(NcclLog& log, const Origin& origin);
bool read_algorithm(NcclLog& log, const Origin& origin);
bool read_nvls(NcclLog& log, const Origin& origin);

// nccl_log_network.cc
bool read_version(NcclLog& log, const Origin& origin);
bool read_driver_version(NcclLog& log, const Origin& origin);
bool read_environment(NcclLog& log, const Origin& origin);
bool read_network_name(NcclLog& log, const Origin& origin);
bool read_interfaces(NcclLog& log, const Origin& origin);
bool read_nic_list(NcclLog& log, const Origin& origin);
bool read_nic_detail(NcclLog& log, const Origin& origin);
bool read_virtual_nic(NcclLog& log, const Origin& origin);
bool read_gdr(NcclLog& log, const Origin& origin);
bool read_dmabuf(NcclLog& log, const Origin& origin);
bool read_plugin(NcclLog& log, const Origin& origin);

// nccl_log_trouble.cc
bool read_completion(NcclLog& log, const Origin& origin);
bool read_async_event(NcclLog& log, const Origin& origin);
bool read_failed_call(NcclLog& log, const Origin& origin);
bool read_trace(NcclLog& log, const Origin& origin);
bool read_hint(NcclLog& log, const Origin& origin);

/// Whether an editor or another process broke `text` and `next` is its rest: a completion without its vendor error, a channel
/// whose suffix stands alone.
bool is_continued_by(const std::string& text, const std::string& next);
/// Whether `text` is known to lack something even so.
inline bool is_incomplete(const std::string& text) { return is_continued_by(text, {}); }

}  // namespace railgauge::cuda
