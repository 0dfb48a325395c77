#pragma once
#include <cstddef>
#include <string>

#include "base/clock.h"

namespace railgauge::bench {

/// What the user sees while measurements run: on a terminal one line that lives, when piped one plain line per
/// finished measurement, always on stderr. One thread.
class Progress {
 public:
  /// `total` measurements are planned. `quiet` writes nothing.
  Progress(std::size_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The next measurement begins.
  void begin(const std::string& label);
  /// Something to show beside it ("46.2 Gbit/s"); rewritten at most ten times a second.
  void update(const std::string& live);
  /// It has ended: `result` is its figure or the reason it has none.
  void end(const std::string& result);

 private:
  void draw(const std::string& live);
  void clear();

  std::size_t total_;
  std::size_t number_ = 0;
  bool quiet_;
  bool terminal_;
  std::string label_;
  Clock::time_point drawn_{};
};

}  // namespace railgauge::bench
