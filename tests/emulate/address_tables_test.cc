// SPDX-License-Identifier: MIT
// How much address space the emulator can keep tables of.
#include "capture/emulate/address_tables.h"

#include <gtest/gtest.h>

namespace flowback::emulate {
namespace {

constexpr uint64_t kTablePage = 4096;
constexpr uint64_t kTableEntry = 24;

TEST(AddressTables, CountWhatWasMappedOnce) {
  AddressTables tables(100 * kTableEntry);
  tables.Add(10 * kTablePage, 20 * kTablePage);
  tables.Add(15 * kTablePage, 25 * kTablePage);  // over its end
  EXPECT_EQ(tables.pages(), 15u);
  tables.Add(30 * kTablePage, 40 * kTablePage);
  EXPECT_EQ(tables.pages(), 25u);
  tables.Add(12 * kTablePage, 13 * kTablePage);  // inside
  EXPECT_EQ(tables.pages(), 25u);
  tables.Add(5 * kTablePage, 35 * kTablePage);  // over two, and between
  EXPECT_EQ(tables.pages(), 35u);
  tables.Add(40 * kTablePage, 41 * kTablePage);  // next to it
  EXPECT_EQ(tables.pages(), 36u);
  tables.Add(kTablePage + 1, kTablePage + 2);  // a part of a page
  EXPECT_EQ(tables.pages(), 37u);
}

TEST(AddressTables, HaveRoomUpToTheirLimit) {
  AddressTables tables(100 * kTableEntry);
  EXPECT_TRUE(tables.HasRoomFor(100 * kTablePage));
  EXPECT_FALSE(tables.HasRoomFor(101 * kTablePage));
  tables.Add(0, 60 * kTablePage);
  EXPECT_TRUE(tables.HasRoomFor(40 * kTablePage));
  EXPECT_FALSE(tables.HasRoomFor(41 * kTablePage));
  // The same addresses again take nothing.
  EXPECT_TRUE(tables.HasRoomAt(0, 100 * kTablePage));
  EXPECT_TRUE(tables.HasRoomAt(30 * kTablePage, 70 * kTablePage));
  EXPECT_FALSE(tables.HasRoomAt(30 * kTablePage, 71 * kTablePage));
  EXPECT_TRUE(tables.HasRoomFor(uint64_t{1} << 62)) << "the kernel refuses it";
}

TEST(AddressTables, HereTakeWhatAMachineCanSpare) {
  EXPECT_GT(AddressTables::MostBytesHere(), uint64_t{1} << 20);
  EXPECT_LE(AddressTables::MostBytesHere(), uint64_t{2} << 30);
}

}  // namespace
}  // namespace flowback::emulate
