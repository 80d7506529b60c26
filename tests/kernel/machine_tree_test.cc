// SPDX-License-Identifier: MIT
#include "capture/kernel/machine_tree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "capture/kernel/linux_kernel.h"
#include "capture/kernel/pmu.h"
#include "tests/support/kernel/trees.h"

namespace flowback::kernel {
namespace {

TEST(MachineTree, SavedAgainIsTheSame) {
  for (const std::string& name : test::TreeNames()) {
    const TreeKernel machine(test::Tree(name));
    const std::string saved = MachineTree::Of(machine).Text();
    const auto again = MachineTree::Parse(saved);
    ASSERT_TRUE(again) << name;
    EXPECT_EQ(again->Text(), saved) << name;
    // Nothing that recording asks for is left out.
    EXPECT_EQ(ReadPmus(TreeKernel(*again)).size(), ReadPmus(machine).size()) << name;
  }
}

TEST(MachineTree, OfThisMachineNamesNobody) {
  const std::string saved = MachineTree::Of(LinuxKernel()).Text();
  EXPECT_TRUE(saved.contains("/sys/bus/event_source/devices/software/type: 1"));
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  // A short name is part of other words: "vm".
  for (const std::string line :
       {"Name:", "Pid:", "Uid:", "bogomips", "Serial", "/proc/self/environ"})
    EXPECT_FALSE(saved.contains(line)) << line;
  for (const char* word : {" ", "\t"})
    EXPECT_FALSE(saved.contains(word + std::string(host) + "\n"));
}

TEST(MachineTree, FilesAndFolders) {
  const auto tree = MachineTree::Parse("# a comment\n\n/a/b/c: 1\n/a/b/c: 2\n/a/d:\n/ab/x: y: z\n");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->ReadFile("/a/b/c"), "1\n2\n");
  EXPECT_EQ(tree->ReadFile("/a/d"), "\n");
  EXPECT_EQ(tree->ReadFile("/ab/x"), "y: z\n");
  EXPECT_FALSE(tree->ReadFile("/a/b"));
  EXPECT_EQ(tree->List("/a"), (std::vector<std::string>{"b", "d"}));
  EXPECT_TRUE(tree->List("/nowhere").empty());
}

TEST(MachineTree, WhatIsNoneSaysWhichLine) {
  for (const char* text : {"/a: 1\nnonsense\n", "/a: 1\n/b\n", "#\na/b: c\n"}) {
    const auto tree = MachineTree::Parse(text);
    ASSERT_FALSE(tree) << text;
    EXPECT_TRUE(tree.error().message().contains("line 2")) << tree.error().message();
  }
}

}  // namespace
}  // namespace flowback::kernel
