#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "results/io.h"
#include "results/path.h"

namespace railgauge::results {
namespace {

using nlohmann::ordered_json;

class Writer final : public Io {
 public:
  explicit Writer(ordered_json& root) : places_{&root} {}

  void boolean(bool& value) override { here() = value; }
  void integer(std::int64_t& value, std::int64_t, std::int64_t) override { here() = value; }
  void natural(std::uint64_t& value, std::uint64_t, std::uint64_t) override { here() = value; }
  void number(double& value, double, double) override {
    if (!std::isfinite(value)) fail("a finite number to write");
    here() = value;
  }
  void text(std::string& value) override { here() = value; }
  bool null(bool absent) override {
    if (absent) here() = nullptr;
    return absent;
  }
  void open_object() override { here() = ordered_json::object(); }
  std::size_t open_array(std::size_t size) override {
    here() = ordered_json::array();
    // Places below stay valid while elements are added.
    here().get_ref<ordered_json::array_t&>().resize(size);
    return size;
  }
  std::vector<std::string> keys() override { return {}; }
  bool has(const std::string&) const override { return true; }
  void enter(const std::string& key) override {
    path_.push(key);
    places_.push_back(&here()[key]);
  }
  void enter(std::size_t index) override {
    path_.push(index);
    places_.push_back(&here()[index]);
  }
  void leave() override {
    places_.pop_back();
    path_.pop();
  }
  bool reading() const noexcept override { return false; }
  [[noreturn]] void fail(const std::string& wanted) const override {
    throw Error(ErrorKind::data, fmt::format("{}: expected {}", path_.text(), wanted));
  }

 private:
  ordered_json& here() { return *places_.back(); }
  std::vector<ordered_json*> places_;
  Path path_;
};

std::string scalar_text(const ordered_json& value) { return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace); }

/// Two spaces of indent; an object or array that holds only scalars and fits stands on one line.
class PrettyPrinter {
 public:
  std::string print(const ordered_json& root) {
    value(root, 0);
    out_ += '\n';
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kColumns = 140;

  static std::string one_line(const ordered_json& node) {
    std::string line(1, node.is_object() ? '{' : '[');
    for (auto item = node.begin(); item != node.end(); ++item) {
      if (item != node.begin()) line += ", ";
      if (node.is_object()) line += scalar_text(item.key()) + ": ";
      line += scalar_text(*item);
    }
    return line + (node.is_object() ? '}' : ']');
  }
  static bool only_scalars(const ordered_json& node) {
    for (const auto& child : node)
      if (child.is_structured() && !child.empty()) return false;
    return true;
  }
  void new_line(int level) { out_.append("\n").append(static_cast<std::size_t>(level) * 2, ' '); }

  void value(const ordered_json& node, int level) {
    if (!node.is_structured()) {
      out_ += scalar_text(node);
      return;
    }
    if (only_scalars(node)) {
      std::string line = one_line(node);
      if (line.size() + static_cast<std::size_t>(level) * 2 <= kColumns) {
        out_ += line;
        return;
      }
    }
    out_ += node.is_object() ? '{' : '[';
    children(node, level + 1);
    new_line(level);
    out_ += node.is_object() ? '}' : ']';
  }

  void children(const ordered_json& node, int level) {
    for (auto item = node.begin(); item != node.end(); ++item) {
      if (item != node.begin()) out_ += ',';
      new_line(level);
      if (node.is_object()) out_ += scalar_text(item.key()) + ": ";
      value(*item, level);
    }
  }

  std::string out_;
};

}  // namespace

std::string write_document(const std::function<void(Io&)>& body, Layout layout) {
  ordered_json root = ordered_json::object();
  Writer writer(root);
  body(writer);
  return layout == Layout::pretty ? PrettyPrinter().print(root) : scalar_text(root);
}

}  // namespace railgauge::results
