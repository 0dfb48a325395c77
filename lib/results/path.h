#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace railgauge::results {

/// The place of an Io in its document, for errors. One thread.
class Path {
 public:
  void push(const std::string& key) { steps_.push_back(key); }
  void push(std::size_t index);
  void pop() { steps_.pop_back(); }
  /// "sides[0].threads[1].cpu" from the steps on the way; "document" at the top. Safe to print.
  std::string text() const;

 private:
  std::vector<std::string> steps_;
};

}  // namespace railgauge::results
