// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

using Section = std::shared_ptr<const CodeSection>;

Section MakeSection(const std::string& name, size_t size, uint8_t first = 0) {
  const auto bytes = std::make_shared<std::vector<uint8_t>>(size);
  for (size_t i = 0; i < size; ++i) (*bytes)[i] = static_cast<uint8_t>(first + i);
  return std::make_shared<CodeSection>(name, 0, *bytes, bytes, Verification::kGiven);
}

// Reads one byte; -1 where nothing is mapped.
int At(const AddressSpace& space, uint64_t address) {
  uint8_t byte = 0;
  return space.Read(address, &byte, 1) == 1 ? byte : -1;
}

TEST(AddressSpace, FindsWhatWasMapped) {
  AddressSpace space;
  EXPECT_TRUE(space.empty());
  EXPECT_EQ(space.Find(0), nullptr);
  space.Map({.address = 0x1000, .size = 16, .section_offset = 4, .section = MakeSection("a", 64)});
  EXPECT_EQ(space.Find(0xfff), nullptr);
  ASSERT_NE(space.Find(0x1000), nullptr);
  EXPECT_EQ(space.Find(0x100f)->section->name(), "a");
  EXPECT_EQ(space.Find(0x1010), nullptr);
  EXPECT_EQ(At(space, 0x1003), 7);
  EXPECT_EQ(space.Find(0x1000)->FileBase(), 0x1000u - 4);
}

TEST(AddressSpace, NewMappingSplitsTheOldOne) {
  AddressSpace space;
  space.Map({.address = 0x1000, .size = 0x30, .section = MakeSection("old", 0x30)});
  space.Map({.address = 0x1010, .size = 0x10, .section = MakeSection("new", 0x10, 0x80)});
  const std::vector<CodeMapping> mappings = space.mappings();
  ASSERT_EQ(mappings.size(), 3u);
  EXPECT_EQ(mappings[0].size, 0x10u);
  EXPECT_EQ(mappings[1].section->name(), "new");
  EXPECT_EQ(mappings[2].address, 0x1020u);
  EXPECT_EQ(mappings[2].section_offset, 0x20u);
  EXPECT_EQ(At(space, 0x100f), 0x0f);
  EXPECT_EQ(At(space, 0x1010), 0x80);
  EXPECT_EQ(At(space, 0x1020), 0x20);
}

TEST(AddressSpace, WhatTheSectionLacksBecomesAHole) {
  AddressSpace space;
  space.Map({.address = 0x1000, .size = 0x100, .section = MakeSection("old", 0x100)});
  space.Map({.address = 0x1000, .size = 0x100, .section = MakeSection("short", 0x10)});
  EXPECT_EQ(At(space, 0x100f), 0x0f);
  EXPECT_EQ(At(space, 0x1010), -1) << "the kernel maps zeros there, not the old file";
  space.Map({.address = 0x1000,
             .size = 0x100,
             .section_offset = 0x10,
             .section = MakeSection("short", 0x10)});
  EXPECT_TRUE(space.empty()) << "an offset at the section's end leaves no bytes";
}

TEST(AddressSpace, ReadsAcrossAdjacentMappingsAndStopsAtAGap) {
  AddressSpace space;
  space.Map({.address = 0x1000, .size = 4, .section = MakeSection("a", 4)});
  space.Map({.address = 0x1004, .size = 4, .section = MakeSection("b", 4, 0x10)});
  space.Map({.address = 0x1010, .size = 4, .section = MakeSection("c", 4, 0x20)});
  uint8_t buffer[32] = {};
  ASSERT_EQ(space.Read(0x1002, buffer, sizeof buffer), 6u);
  EXPECT_EQ(std::vector<uint8_t>(buffer, buffer + 6),
            (std::vector<uint8_t>{2, 3, 0x10, 0x11, 0x12, 0x13}));
  EXPECT_EQ(space.Read(0x1008, buffer, sizeof buffer), 0u);
}

TEST(AddressSpace, TheEndOfTheAddressSpace) {
  AddressSpace space;
  const Section section = MakeSection("top", 64);
  space.Map({.address = ~uint64_t{0} - 15, .size = 64, .section = section});
  EXPECT_EQ(At(space, ~uint64_t{0}), 15);
  EXPECT_EQ(At(space, 0), -1) << "a mapping does not wrap";
  uint8_t buffer[32];
  EXPECT_EQ(space.Read(~uint64_t{0} - 3, buffer, sizeof buffer), 4u);
  space.Unmap(0x1000, ~uint64_t{0});
  EXPECT_TRUE(space.empty());
  space.Map({.address = 0, .size = 16, .section = section});
  EXPECT_EQ(At(space, 0), 0);
  EXPECT_TRUE(space.Overlaps(0, 1));
  EXPECT_FALSE(space.Overlaps(16, 100));
  EXPECT_FALSE(space.Overlaps(0, 0));
}

TEST(AddressSpace, CopiesAreIndependent) {
  AddressSpace first;
  first.Map({.address = 0x1000, .size = 16, .section = MakeSection("a", 16)});
  AddressSpace second = first;
  second.Unmap(0x1004, 4);
  second.Map({.address = 0x2000, .size = 16, .section = MakeSection("b", 16)});
  EXPECT_EQ(At(first, 0x1004), 4);
  EXPECT_EQ(At(first, 0x2000), -1);
  EXPECT_EQ(At(second, 0x1004), -1);
  EXPECT_EQ(At(second, 0x1008), 8);
}

// Against an array of bytes, the simplest address space there is.
TEST(AddressSpace, RandomChangesEqualAnArray) {
  constexpr uint64_t kSpan = 400;
  std::mt19937 random(7);
  std::vector<Section> sections;
  for (unsigned i = 0; i < 8; ++i)
    sections.push_back(MakeSection(std::to_string(i), 64, static_cast<uint8_t>(i * 20)));
  for (unsigned round = 0; round < 50; ++round) {
    AddressSpace space;
    std::vector<int> model(kSpan, -1);
    for (unsigned step = 0; step < 60; ++step) {
      const uint64_t address = random() % kSpan;
      const uint64_t size = random() % 80;
      const uint64_t skip = random() % 70;
      const bool map = random() % 4 != 0;
      const Section& section = sections[random() % sections.size()];
      if (map)
        space.Map({.address = address, .size = size, .section_offset = skip, .section = section});
      else
        space.Unmap(address, size);
      for (uint64_t i = 0; i < size && address + i < kSpan; ++i)
        model[address + i] = map && skip + i < 64 ? section->bytes()[skip + i] : -1;
    }
    for (uint64_t a = 0; a < kSpan; ++a) ASSERT_EQ(At(space, a), model[a]) << round << " at " << a;
    uint64_t end = 0;
    for (const CodeMapping& mapping : space.mappings()) {
      EXPECT_GE(mapping.address, end) << "sorted, without overlap";
      end = mapping.address + mapping.size;
    }
  }
}

// Ascending, as a loader maps; descending, as mmap without hints does; both stay balanced.
TEST(AddressSpace, ManyMappingsInOrder) {
  constexpr uint64_t kCount = 100'000;
  const Section section = MakeSection("page", 16);
  for (const bool ascending : {true, false}) {
    AddressSpace space;
    for (uint64_t i = 0; i < kCount; ++i)
      space.Map({.address = (ascending ? i : kCount - i) * 32, .size = 16, .section = section});
    EXPECT_EQ(space.mappings().size(), kCount);
    for (uint64_t i = 1; i < kCount; i += 997) ASSERT_NE(space.Find(i * 32 + 15), nullptr);
    EXPECT_EQ(space.Find(32 + 16), nullptr);
  }
}

}  // namespace
}  // namespace flowback
