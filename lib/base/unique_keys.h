#pragma once
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace railgauge {

/// Finds the key that an object of a JSON text holds twice. Parsers keep one of the two in silence (RFC 8259, section 4:
/// "unpredictable"), so that two readers may see two different documents. Fed by a parser's events, keys unescaped. One thread.
class UniqueKeys {
 public:
  void open_object() { objects_.emplace_back(); }
  void close_object() { objects_.pop_back(); }
  /// False if the innermost open object has had this key before.
  bool add(std::string key) { return objects_.back().insert(std::move(key)).second; }

 private:
  std::vector<std::unordered_set<std::string>> objects_;
};

}  // namespace railgauge
