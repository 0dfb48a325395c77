#pragma once
namespace CLI {
class App;
}

namespace railgauge::bench {

/// Adds `railgauge check`: the main job.
void add_check_command(CLI::App& app, int& exit_code);

}  // namespace railgauge::bench
