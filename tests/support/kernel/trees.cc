// SPDX-License-Identifier: MIT
#include "tests/support/kernel/trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace flowback::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".tree";

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void WriteBelow(const kernel::MachineTree& tree, const std::string& path, const fs::path& to) {
  if (const auto text = tree.ReadFile(path)) {
    fs::create_directories(to.parent_path());
    std::ofstream(to) << *text;
    return;
  }
  for (const std::string& name : tree.List(path)) WriteBelow(tree, path + "/" + name, to / name);
}

}  // namespace

std::vector<std::string> TreeNames() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(FLOWBACK_TREES))
    if (entry.path().extension() == kEnding) names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

std::string TreeFile(const std::string& name) {
  return std::string(FLOWBACK_TREES) + "/" + name + kEnding;
}

kernel::MachineTree Tree(const std::string& name) {
  auto tree = kernel::MachineTree::Parse(Content(TreeFile(name)));
  EXPECT_TRUE(tree) << name;
  return tree ? *std::move(tree) : kernel::MachineTree();
}

void WriteTree(const kernel::MachineTree& tree, const std::string& folder) {
  for (const char* top : {"/proc", "/sys"}) WriteBelow(tree, top, folder + top);
}

}  // namespace flowback::test
