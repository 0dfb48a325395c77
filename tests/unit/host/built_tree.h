#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/pci.h"
#include "host/root.h"

namespace railgauge::host {

/// A tree of the shape of sysfs in a temporary folder, made by one test and removed with it. Paths are absolute as seen from it.
class BuiltTree {
 public:
  BuiltTree() {
    std::string name = ::testing::TempDir() + "railgauge_tree_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    top_ = name;
  }
  ~BuiltTree() {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }
  BuiltTree(const BuiltTree&) = delete;
  BuiltTree& operator=(const BuiltTree&) = delete;

  Root root() const { return Root(top_.string()); }

  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(at(path).parent_path());
    std::ofstream(at(path)) << text << '\n';
  }
  void link(const std::string& path, const std::string& to) {
    std::filesystem::create_directories(at(path).parent_path());
    std::filesystem::create_symlink(at(to).lexically_relative(at(path).parent_path()), at(path));
  }

  /// A PCI function: `chain` from the host bridge ("pci0000:39") down to it. Returns its directory.
  std::string function(const std::vector<std::string>& chain, int numa_node = 0) {
    std::string directory = "/sys/devices";
    for (const std::string& step : chain) {
      directory += "/" + step;
      std::filesystem::create_directories(at(directory));
      const std::string bus = "/sys/bus/pci/devices/" + step;
      if (&step != &chain.front() && !std::filesystem::is_symlink(at(bus))) link(bus, directory);
    }
    file(directory + "/numa_node", std::to_string(numa_node));
    return directory;
  }

  /// An RDMA device without ports on the function `directory`.
  void rdma(const std::string& name, const std::string& directory) {
    file(directory + "/infiniband/" + name + "/node_type", "1: CA");
    link(directory + "/infiniband/" + name + "/device", directory);
    link("/sys/class/infiniband/" + name, directory + "/infiniband/" + name);
  }

 private:
  std::filesystem::path at(const std::string& path) const { return top_ / path.substr(1); }
  std::filesystem::path top_;
};

}  // namespace railgauge::host
