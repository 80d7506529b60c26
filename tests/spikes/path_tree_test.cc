// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/path_tree.h"

#include <gtest/gtest.h>

#include <set>

namespace flowback {
namespace {

uint32_t CallIn(PathTree& tree, uint32_t parent, uint32_t function, uint64_t site) {
  InstancePath path;
  path.parent = parent;
  path.kind = PathKind::kCall;
  path.function = function;
  path.site = site;
  return tree.Find(path);
}

TEST(PathTree, TellsPathsApartBySiteAndFunction) {
  PathTree tree;
  std::set<uint32_t> nodes;
  nodes.insert(CallIn(tree, PathTree::kRoot, 1, 0x10));
  nodes.insert(CallIn(tree, PathTree::kRoot, 1, 0x20));
  nodes.insert(CallIn(tree, PathTree::kRoot, 2, 0x10));
  EXPECT_EQ(nodes.size(), 3);
  EXPECT_EQ(CallIn(tree, PathTree::kRoot, 1, 0x10), *nodes.begin());
}

TEST(PathTree, FoldsRecursions) {
  PathTree tree;
  const uint32_t outer = CallIn(tree, PathTree::kRoot, 1, 0x10);
  const uint32_t inner = CallIn(tree, outer, 1, 0x20);
  EXPECT_NE(inner, outer);
  uint32_t at = inner;
  for (int i = 0; i < 100'000; ++i) at = CallIn(tree, at, 1, 0x20);
  EXPECT_EQ(at, inner);
  const uint32_t other = CallIn(tree, inner, 2, 0x30);  // two functions that call each other
  EXPECT_EQ(CallIn(tree, other, 1, 0x20), inner);
  EXPECT_EQ(tree.nodes().size(), 4);
}

TEST(PathTree, IsNoDeeperThanItsLimit) {
  PathTree tree;
  uint32_t at = PathTree::kRoot;
  for (uint32_t i = 1; i <= 2 * PathTree::kDeepest; ++i) at = CallIn(tree, at, i, 0x10);
  EXPECT_EQ(tree.nodes()[at].depth, PathTree::kDeepest);
  EXPECT_EQ(tree.nodes().size(), PathTree::kDeepest + 1);
}

TEST(PathTree, HasALimit) {
  PathTree tree;
  for (uint64_t i = 1; i <= PathTree::kMostNodes + 10; ++i) CallIn(tree, PathTree::kRoot, 1, i);
  EXPECT_LE(tree.nodes().size(), PathTree::kMostNodes + 1);
  EXPECT_EQ(tree.nodes().back().kind, PathKind::kCut);
}

TEST(PathCosts, AreForgottenWhenCleared) {
  PathCosts costs;
  costs.Of(5).instructions = 7;
  costs.Of(2).entries = 1;
  costs.Of(5).instructions += 1;
  EXPECT_EQ(costs.touched(), (std::vector<uint32_t>{5, 2}));
  costs.Clear();
  EXPECT_TRUE(costs.touched().empty());
  EXPECT_EQ(costs.Of(5).instructions, 0);
}

}  // namespace
}  // namespace flowback
