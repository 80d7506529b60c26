// SPDX-License-Identifier: MIT
#include "decode/code/process_code.h"

#include <gtest/gtest.h>

#include <vector>

namespace flowback {
namespace {

using Section = std::shared_ptr<const CodeSection>;

Section MakeSection(const std::string& name, size_t size = 0x1000) {
  const auto bytes = std::make_shared<std::vector<uint8_t>>(size, 0x90);
  return std::make_shared<CodeSection>(name, 0, *bytes, bytes, Verification::kUnverified);
}

CodeMapping Mapping(uint64_t address, const Section& section) {
  return {.address = address, .size = 0x1000, .section = section};
}

std::string NameAt(const AddressSpaceHistory::Epoch& epoch, uint64_t address) {
  const CodeMapping* found = epoch.space->Find(address);
  return found == nullptr ? "" : found->section->name();
}

ProcessCode Empty(uint64_t trace_start = 0) {
  return ProcessCode(std::make_shared<const AddressSpace>(), trace_start);
}

TEST(ProcessCode, NothingRecordedIsOneEpoch) {
  const auto history = Empty().Finish();
  ASSERT_EQ(history->epochs.size(), 1u);
  EXPECT_EQ(history->epochs[0].time, 0u);
  EXPECT_TRUE(history->epochs[0].space->empty());
}

TEST(ProcessCode, WhatReplacesNothingNeedsNoEpoch) {
  ProcessCode code = Empty();
  code.Map(10, Mapping(0x1000, MakeSection("a")));
  code.Map(20, Mapping(0x2000, MakeSection("b")));
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 1u);
  EXPECT_EQ(NameAt(history->epochs[0], 0x1000), "a");
  EXPECT_EQ(NameAt(history->epochs[0], 0x2000), "b");
}

TEST(ProcessCode, ReplacedCodeStartsAnEpoch) {
  ProcessCode code = Empty();
  const Section a = MakeSection("a");
  code.Map(10, Mapping(0x1000, a));
  code.Map(15, Mapping(0x1000, a));  // the same again
  code.Map(20, Mapping(0x1000, MakeSection("b")));
  code.Map(20, Mapping(0x1000, MakeSection("c")));  // at the same time: the last one counts
  code.Map(30, Mapping(0x1000, MakeSection("d")));
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 3u);
  EXPECT_EQ(NameAt(history->epochs[0], 0x1000), "a");
  EXPECT_EQ(history->epochs[1].time, 20u);
  EXPECT_EQ(NameAt(history->epochs[1], 0x1000), "c");
  EXPECT_EQ(history->epochs[2].time, 30u);
  EXPECT_EQ(NameAt(history->epochs[2], 0x1000), "d");
}

TEST(ProcessCode, BeforeTheTraceStartsNothingNeedsAnEpoch) {
  ProcessCode code = Empty(100);
  code.Map(10, Mapping(0x1000, MakeSection("loader")));
  code.Exec(50);
  code.Map(60, Mapping(0x1000, MakeSection("program")));
  code.Map(150, Mapping(0x1000, MakeSection("later")));
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 2u);
  EXPECT_EQ(NameAt(history->epochs[0], 0x1000), "program");
  EXPECT_EQ(history->epochs[1].time, 150u);
}

TEST(ProcessCode, TimesNeverGoBack) {
  ProcessCode code = Empty();
  code.Map(20, Mapping(0x1000, MakeSection("a")));
  code.Map(30, Mapping(0x1000, MakeSection("b")));
  code.Map(25, Mapping(0x1000, MakeSection("late record")));
  code.Map(0, Mapping(0x1000, MakeSection("record without a time")));
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 2u);
  EXPECT_EQ(history->epochs[1].time, 30u);
  EXPECT_EQ(NameAt(history->epochs[1], 0x1000), "record without a time");
}

TEST(ProcessCode, ExecLeavesNothingOfTheOldProgram) {
  ProcessCode code = Empty();
  code.Map(10, Mapping(0x1000, MakeSection("sh")));
  code.Map(10, Mapping(0x2000, MakeSection("libc")));
  code.Exec(20);
  code.Map(21, Mapping(0x1000, MakeSection("ls")));
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 2u);
  EXPECT_EQ(history->epochs[1].time, 20u);
  EXPECT_EQ(NameAt(history->epochs[1], 0x1000), "ls");
  EXPECT_EQ(NameAt(history->epochs[1], 0x2000), "");
  EXPECT_EQ(NameAt(history->epochs[0], 0x2000), "libc");
}

TEST(ProcessCode, ForkTakesTheParentsCodeOfThatMoment) {
  ProcessCode parent = Empty();
  parent.Map(10, Mapping(0x1000, MakeSection("program")));
  ProcessCode child = Empty();
  child.Fork(20, parent);
  parent.Map(30, Mapping(0x2000, MakeSection("loaded later")));
  child.Map(40, Mapping(0x1000, MakeSection("child's")));
  const auto history = child.Finish();
  ASSERT_EQ(history->epochs.size(), 2u);
  EXPECT_EQ(NameAt(history->epochs[0], 0x1000), "program");
  EXPECT_EQ(NameAt(history->epochs[0], 0x2000), "");
  EXPECT_EQ(NameAt(history->epochs[1], 0x1000), "child's");
  const auto parents = parent.Finish();
  ASSERT_EQ(parents->epochs.size(), 1u);
  EXPECT_EQ(NameAt(parents->epochs[0], 0x1000), "program");
}

TEST(ProcessCode, GivenCodeShowsWhereNothingIsRecorded) {
  AddressSpace given;
  given.Map(Mapping(0x1000, MakeSection("given")));
  given.Map(Mapping(0x3000, MakeSection("jit code")));
  ProcessCode code(std::make_shared<const AddressSpace>(given), 0);
  code.Map(10, Mapping(0x1000, MakeSection("recorded")));
  code.Hide(20, 0x1800, 0x1000);  // data is mapped over the second half of it
  code.Exec(30);
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 3u);
  EXPECT_EQ(NameAt(history->epochs[0], 0x1800), "recorded");
  EXPECT_EQ(NameAt(history->epochs[1], 0x1000), "recorded");
  EXPECT_EQ(NameAt(history->epochs[1], 0x1800), "given");
  EXPECT_EQ(NameAt(history->epochs[1], 0x3000), "jit code");
  EXPECT_EQ(NameAt(history->epochs[2], 0x1000), "given");
}

// Each record replaces something: as many epochs as records, whose cost must not be their square.
TEST(ProcessCode, ManyMappingsManyEpochs) {
  constexpr uint64_t kPages = 50'000;
  ProcessCode code = Empty();
  const Section sections[] = {MakeSection("a"), MakeSection("b")};
  for (uint64_t i = 0; i < kPages; ++i) code.Map(1, Mapping(i * 0x1000, sections[0]));
  for (uint64_t i = 0; i < kPages; ++i) code.Map(2 + i, Mapping(i * 0x1000, sections[1]));
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), kPages + 1);
  EXPECT_EQ(NameAt(history->epochs[100], 99 * 0x1000), "b");
  EXPECT_EQ(NameAt(history->epochs[100], 100 * 0x1000), "a");
}

// What seems to be free may have had a mapping whose record is lost.
TEST(ProcessCode, BehindALossOfRecordsEachMappingStartsAnEpoch) {
  ProcessCode code = Empty();
  code.Map(10, Mapping(0x1000, MakeSection("a")));
  code.LoseRecords();
  code.Map(20, Mapping(0x2000, MakeSection("b")));
  code.Map(30, Mapping(0x3000, MakeSection("c")));
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 3u);
  EXPECT_EQ(NameAt(history->epochs[0], 0x2000), "");
  EXPECT_EQ(NameAt(history->epochs[1], 0x3000), "");
  for (const auto& epoch : history->epochs) EXPECT_TRUE(epoch.records_lost);
}

// Though nothing is known that it would replace.
TEST(ProcessCode, AProgramBehindALossOfRecordsStartsAnEpoch) {
  ProcessCode code = Empty();
  code.Map(10, Mapping(0x1000, MakeSection("a")));
  code.Exec(20);
  code.LoseRecords();
  code.Exec(30);
  code.Map(30, Mapping(0x1000, MakeSection("b")));
  code.Map(35, Mapping(0x2000, MakeSection("c")));
  code.Exec(40);
  const auto history = code.Finish();
  ASSERT_EQ(history->epochs.size(), 4u);
  EXPECT_EQ(NameAt(history->epochs[1], 0x1000), "");
  EXPECT_EQ(NameAt(history->epochs[2], 0x1000), "b");
  EXPECT_EQ(NameAt(history->epochs[2], 0x2000), "c");
  EXPECT_TRUE(history->epochs[2].records_lost);
  EXPECT_FALSE(history->epochs[3].records_lost);
}

TEST(ProcessCode, AChildMissesWhatItsParentMisses) {
  ProcessCode parent = Empty();
  parent.LoseRecords();
  ProcessCode child = Empty();
  child.Fork(10, parent);
  child.Map(20, Mapping(0x1000, MakeSection("a")));
  EXPECT_EQ(child.Finish()->epochs.size(), 2u);
}

// Each epoch's code is learned anew, so there are not as many of them as mappings.
TEST(ProcessCode, ManyMappingsBehindALossOfRecordsShareEpochs) {
  constexpr uint64_t kMany = 2000;
  ProcessCode code = Empty();
  code.LoseRecords();
  const Section section = MakeSection("a");
  for (uint64_t i = 1; i <= kMany; ++i) code.Map(10 * i, Mapping(0x1000 * i, section));
  const auto history = code.Finish();
  EXPECT_GT(history->epochs.size(), 64u);
  EXPECT_LT(history->epochs.size(), 128u);
  for (uint64_t i = 1; i <= kMany; ++i) {
    for (const auto& epoch : history->epochs) {
      if (epoch.time >= 10 * i) break;  // they are sorted
      ASSERT_EQ(NameAt(epoch, 0x1000 * i), "") << i << " at " << epoch.time;
    }
    ASSERT_EQ(NameAt(history->epochs.back(), 0x1000 * i), "a") << i;
  }
}

TEST(ProcessCode, WhatIsReplacedWhileItWaitsIsNotMapped) {
  ProcessCode code = Empty();
  code.LoseRecords();
  const Section a = MakeSection("a");
  for (uint64_t i = 1; i <= 64; ++i) code.Map(10 * i, Mapping(0x1000 * i, a));
  code.Map(1000, Mapping(0x100000, a));  // waits
  code.Map(1010, Mapping(0x101000, a));  // waits
  code.Hide(1020, 0x100000, 0x1000);
  const auto history = code.Finish();
  EXPECT_EQ(NameAt(history->epochs.back(), 0x100000), "");
  EXPECT_EQ(NameAt(history->epochs.back(), 0x101000), "a");
  EXPECT_EQ(NameAt(history->epochs[64], 0x101000), "");
}

}  // namespace
}  // namespace flowback
