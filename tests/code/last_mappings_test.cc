// SPDX-License-Identifier: MIT
#include "decode/code/core/last_mappings.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace flowback {
namespace {

using Part = std::tuple<uint64_t, uint64_t, size_t>;  // address, size, record

std::vector<Part> PartsOf(const LastMappings& last, uint64_t address, uint64_t size) {
  std::vector<Part> parts;
  last.ForEach(address, size, [&](uint64_t at, uint64_t part, LastMappings::Owner owner) {
    parts.emplace_back(at, part, owner.record);
  });
  return parts;
}

constexpr size_t kBefore = LastMappings::kBefore;

TEST(LastMappings, WhatIsMappedOverSplitsWhatWasThere) {
  LastMappings last;
  last.Map(0x1000, 0x5000, 1);
  last.Map(0x2000, 0x1000, 2);
  last.Map(0x5000, 0x3000, 3);
  EXPECT_EQ(PartsOf(last, 0, 0x9000), (std::vector<Part>{{0, 0x1000, kBefore},
                                                         {0x1000, 0x1000, 1},
                                                         {0x2000, 0x1000, 2},
                                                         {0x3000, 0x2000, 1},
                                                         {0x5000, 0x3000, 3},
                                                         {0x8000, 0x1000, kBefore}}));
  last.Map(0, 0x9000, 4);
  EXPECT_EQ(PartsOf(last, 0x1000, 0x7000), (std::vector<Part>{{0x1000, 0x7000, 4}}));
}

TEST(LastMappings, EndOfAllAddresses) {
  LastMappings last;
  last.Map(~uint64_t{0} - 0xfff, 0x1000, 1);
  last.Map(~uint64_t{0} - 0xff, 0x1000, 2);  // goes past it
  last.Map(5, 0, 3);
  EXPECT_EQ(last.OwnerOf(~uint64_t{0}).record, 2u);
  EXPECT_EQ(last.OwnerOf(~uint64_t{0} - 0x100).record, 1u);
  EXPECT_EQ(last.OwnerOf(0).record, kBefore);
  EXPECT_EQ(last.OwnerOf(5).record, kBefore);
}

TEST(LastMappings, ForkKeepsTheRecordsExecForgetsThem) {
  LastMappings parent;
  parent.Map(0x1000, 0x1000, 1);
  LastMappings child;
  child.Map(0x9000, 0x1000, 2);  // an older process of that number
  child.Fork(3, parent);
  child.Map(0x2000, 0x1000, 4);
  EXPECT_EQ(child.OwnerOf(0x1000).record, 1u);
  EXPECT_EQ(child.OwnerOf(0x1000).since, 3u);
  EXPECT_EQ(child.OwnerOf(0x2000).since, 4u);
  EXPECT_EQ(child.OwnerOf(0x9000).record, kBefore);
  EXPECT_EQ(parent.OwnerOf(0x2000).record, kBefore);
  child.Exec(5);
  EXPECT_EQ(child.OwnerOf(0x1000).record, kBefore);
  EXPECT_EQ(child.OwnerOf(0x1000).since, 5u);
}

}  // namespace
}  // namespace flowback
