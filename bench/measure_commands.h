#pragma once
namespace CLI {
class App;
}

namespace railgauge::bench {

/// Adds `railgauge rdma` and `railgauge tcp`: one measurement (or one per size) with the user's own settings.
void add_rdma_command(CLI::App& app, int& exit_code);
void add_tcp_command(CLI::App& app, int& exit_code);

}  // namespace railgauge::bench
