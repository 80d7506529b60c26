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

}  // namespace
}  // namespace flowback
