// SPDX-License-Identifier: MIT
// Regions added up, and tables of them that are none.
#include "capture/record/watch/region_log.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/descriptor.h"
#include "capture/record/watch/region_table.h"
#include "capture/self/region_counts.h"

namespace flowback::record {
namespace {

TEST(RegionLog, AddsUpByName) {
  RegionLog log;
  log.End(7, 5);  // of a region that nobody began
  log.Begin(1, "b", 100);
  log.Begin(2, "a", 110);
  log.End(1, 130);
  log.Begin(1, "b", 200);
  log.End(1, 205);
  log.Begin(1, "b", 300);
  const auto regions = log.Regions();
  ASSERT_EQ(regions.size(), 2);
  EXPECT_EQ(regions[0].name, "a");
  EXPECT_EQ(regions[0].ended, 0);
  EXPECT_EQ(regions[1].begun, 3);
  EXPECT_EQ(regions[1].ended, 2);
  EXPECT_EQ(regions[1].total_ns, 35);
  EXPECT_EQ(regions[1].longest_ns, 30);
}

TEST(RegionLog, NamesWithoutEndAreBounded) {
  RegionLog log;
  for (int i = 0; i < 10'000; ++i) log.Begin(1, std::to_string(i), 0);
  const auto regions = log.Regions();
  EXPECT_EQ(regions.size(), 4097);
  EXPECT_EQ(regions[0].name, "(others)");
  EXPECT_EQ(regions[0].begun, 10'000 - 4096);
}

TEST(RegionTable, IsReadAsItWasWritten) {
  self::RegionCounts counts = self::RegionCounts::Create();
  const std::string longest(1000, 'x');
  self::RegionCounts::End(*counts.Begin("one"), 10);
  self::RegionCounts::End(*counts.Begin("one"), 30);
  counts.Begin(longest.c_str());
  auto regions = ReadRegionTable(counts.file());
  ASSERT_TRUE(regions);
  ASSERT_EQ(regions->size(), 2);
  EXPECT_EQ((*regions)[0].name, "one");
  EXPECT_EQ((*regions)[0].total_ns, 40);
  EXPECT_EQ((*regions)[0].longest_ns, 30);
  EXPECT_EQ((*regions)[1].name, longest.substr(0, RegionEntry::kNameBytes - 1));
  counts.Clear();
  EXPECT_TRUE(ReadRegionTable(counts.file())->empty());
  for (int i = 0; i < 1000; ++i) counts.Begin(std::to_string(i).c_str());
  regions = ReadRegionTable(counts.file());
  uint64_t begun = 0;
  for (const NamedRegion& region : *regions) begun += region.begun;
  EXPECT_EQ(begun, 1000);
  EXPECT_EQ(regions->back().name, "(others)");
}

TEST(RegionTable, WhatIsNoneIsRefused) {
  const Descriptor file(memfd_create("none", MFD_CLOEXEC));
  const auto refused = [&] {
    const auto read = ReadRegionTable(*file);
    return read ? std::string() : read.error().message();
  };
  EXPECT_EQ(ReadRegionTable(-1).error().code(), ErrorCode::kUnreadable);
  EXPECT_EQ(refused(), "no table of regions: the file is too short");
  ASSERT_EQ(ftruncate(*file, sizeof(RegionTable)), 0);
  EXPECT_EQ(refused(), "no table of regions: it does not begin as one");
  const uint64_t magic = kRegionTableMagic;
  ASSERT_EQ(pwrite(*file, &magic, sizeof magic, 0), 8);
  EXPECT_EQ(refused(), "no table of regions: it is another version's");
  const uint32_t head[] = {kRegionTableVersion, RegionTable::kEntries};
  ASSERT_EQ(pwrite(*file, head, sizeof head, 8), 8);
  EXPECT_EQ(refused(), "");
  // Names that have no end in their place.
  const std::string entry = std::string("\2\0\0\0", 4) + std::string(252, 'y');
  ASSERT_EQ(pwrite(*file, entry.data(), entry.size(), offsetof(RegionTable, entries)), 256);
  ASSERT_EQ(ReadRegionTable(*file)->size(), 1);
  EXPECT_EQ((*ReadRegionTable(*file))[0].name.size(), RegionEntry::kNameBytes);
  ASSERT_EQ(ftruncate(*file, sizeof(RegionTable) - 1), 0);
  EXPECT_EQ(refused(), "no table of regions: it is cut");
}

}  // namespace
}  // namespace flowback::record
