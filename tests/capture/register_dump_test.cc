// SPDX-License-Identifier: MIT
// What a dump of branch registers may have beside its records, and what it may lack.
#include "tests/capture/register_dump.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace flowback {
namespace {

using Cycles = BranchFacts::Cycles;
using Prediction = BranchFacts::Prediction;

// Settings take away what the hardware was not asked for.
TEST(RegisterDump, BrbeSettings) {
  const auto read = [](uint64_t control, uint64_t upper, uint64_t filter) {
    DumpText text("brbe");
    text.Set("BRBCR_EL1", control).Set("BRBCR_EL2", upper).Set("BRBFCR_EL1", filter);
    text.Line("dump").Set("BRBINF0_EL1", uint64_t{9} << 32 | 3);
    return ReadDump(text.Set("BRBSRC0_EL1", 8).Set("BRBTGT0_EL1", 16).text());
  };
  const Recording all = read(0x19, 0x1a, 0x7e0000);
  EXPECT_EQ(RecordsIn(all).at(0).cycles, 9u);
  EXPECT_EQ(RecordsIn(all).at(0).prediction, Prediction::kRight);
  const auto& config = BranchStackConfigOf(all.config);
  EXPECT_TRUE(config.all_kinds);
  EXPECT_EQ(config.levels.user, true);
  EXPECT_EQ(config.levels.kernel, false);
  const Recording less = read(0x1b, 0x02, 0x7c0000);
  EXPECT_EQ(RecordsIn(less).at(0).cycles_told, Cycles::kNotTold) << "EL2 asks for none";
  EXPECT_EQ(RecordsIn(less).at(0).prediction, Prediction::kNotTold);
  EXPECT_FALSE(BranchStackConfigOf(less.config).all_kinds);
  EXPECT_EQ(BranchStackConfigOf(less.config).levels.kernel, true);
  EXPECT_TRUE(BranchStackConfigOf(read(0x1b, 0x1a, 0x10000).config).all_kinds) << "none left out";
}

// LASTFAILED: control came from an unknown place.
TEST(RegisterDump, AFailedTransactionCutsTheStack) {
  DumpText text("brbe");
  for (unsigned i = 0; i < 3; ++i)
    text.Set("BRBINF" + std::to_string(i) + "_EL1", i == 1 ? 0x20003 : 3)
        .Set("BRBSRC" + std::to_string(i) + "_EL1", 0x100 + i)
        .Set("BRBTGT" + std::to_string(i) + "_EL1", 0x200 + i);
  const std::vector<BranchRecord> read = RecordsIn(ReadDump(text.text()));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].from, 0x102u);
  EXPECT_TRUE(read[0].begins_stack && read[0].ends_stack);
  EXPECT_TRUE(read[1].begins_stack && !read[1].ends_stack && read[2].ends_stack);
}

// What Linux wrote where nothing was recorded.
TEST(RegisterDump, BrsEndsAtLinuxsMark) {
  DumpText text("brs");
  text.Set("DBG_EXTN_CFG", 0x20 | 3 << 16);
  for (unsigned i = 0; i < 3; ++i)
    text.Set("SAMP_BR_FROM_" + std::to_string(i), 0x100 + i)
        .Set("SAMP_BR_TO_" + std::to_string(i), i == 0 ? ~uint64_t{1} : 0x200 + i);
  const std::vector<BranchRecord> read = RecordsIn(ReadDump(text.text()));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].from, 0x101u);
}

// A record in between that can't be trusted: what ran across it is not known.
TEST(RegisterDump, WhatLacksARegisterOrIsBadCutsTheStack) {
  DumpText text("lbrv2");
  constexpr uint64_t kValid = uint64_t{1} << 63, kBad = uint64_t{1} << 61;
  for (unsigned i = 0; i < 5; ++i) {
    if (i != 3) text.Set("LAST_BRANCH_FROM_" + std::to_string(i), 0x100 + i);
    text.Set("LAST_BRANCH_TO_" + std::to_string(i), (0x200 + i) | kValid | (i == 1 ? kBad : 0));
  }
  const Recording recording = ReadDump(text.text());
  const std::vector<BranchRecord> read = RecordsIn(recording);
  ASSERT_EQ(read.size(), 3u);
  for (const BranchRecord& each : read) EXPECT_TRUE(each.begins_stack && each.ends_stack);
  EXPECT_EQ(read[0].from, 0x104u);
  EXPECT_TRUE(support::Warns(recording, "1 record is left out for want of a register"));
  EXPECT_TRUE(support::Warns(recording, "1 record is left out that the processor marked as bad"));
}

TEST(RegisterDump, WithoutWhatTellsTheNewestNothingIsTaken) {
  DumpText text("lbr");
  for (unsigned i = 0; i < 4; ++i)
    text.Set("MSR_LASTBRANCH_" + std::to_string(i) + "_FROM_IP", 8 + i)
        .Set("MSR_LASTBRANCH_" + std::to_string(i) + "_TO_IP", 16 + i);
  const Recording recording = ReadDump(text.text());
  EXPECT_TRUE(recording.streams.empty());
  EXPECT_TRUE(support::Warns(recording, "4 records are left out for want of"));
}

TEST(RegisterDump, ThreadsTimesAndMappings) {
  DumpText text("arch-lbr");
  text.Line("map 7 0x400000 0x1000 0x2000 /my files/a  b");
  text.Line("# a comment").Line("");
  text.Line("dump pid=7 tid=8 time=20").Line("0x1500 = 0x11").Line("0x1600: 0x12");
  text.Line("map 7 0x500000 0x1000 0 /other");
  text.Line("dump pid=7 tid=8 time=10 ip=0x99").Set("0x1500", 1).Set("0x1600", 2);
  text.Line("dump pid=7 tid=9 time=15").Set("0x1500", 5).Set("0x1600", 6);
  const Recording recording = ReadDump(text.text());
  ASSERT_EQ(recording.streams.size(), 2u);
  EXPECT_EQ(recording.streams[0].tid, 8);
  EXPECT_EQ(recording.streams[0].pid, 7);
  const BranchRecord first = BranchRecordAt(recording.streams[0].bytes, 0);
  EXPECT_EQ(first.from, 1u) << "by time";
  EXPECT_EQ(first.ip, 0x99u);
  EXPECT_EQ(first.told_time(), 10u);
  ASSERT_EQ(recording.sideband.size(), 2u);
  const auto& map = std::get<MmapRecord>(recording.sideband[0]);
  EXPECT_EQ(map.path, "/my files/a  b");
  EXPECT_EQ(map.time, 0u);
  EXPECT_EQ(std::get<MmapRecord>(recording.sideband[1]).time, 20u) << "from there on";
  EXPECT_TRUE(recording.time.known());
  EXPECT_TRUE(recording.warnings.empty());
}

TEST(RegisterDump, WithoutTimesTheOrderCounts) {
  DumpText text("arch-lbr");
  text.Line("dump time=20").Set("0x1500", 1).Set("0x1600", 2);
  text.Line("dump").Set("0x1500", 3).Set("0x1600", 4);
  const Recording recording = ReadDump(text.text());
  const std::vector<BranchRecord> read = RecordsIn(recording);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].from, 1u);
  EXPECT_EQ(read[0].told_time(), 0u);
  EXPECT_FALSE(recording.time.known());
}

TEST(RegisterDump, OtherLinesAreLeftOutAndSaid) {
  DumpText text("brbe");
  text.Line("BRBXYZ_EL1 0x1");
  text.Line("BRBINF64_EL1 0x3").Line("BRBINF0_EL1 0xg").Line("BRBINF0_EL1").Line("BRBINF0_EL1 1 2");
  text.Line("map 7 zero").Line("dump colour=red").Line("IA32_LBR_CTL 1");
  text.Set("BRBINF0_EL1", 3).Set("BRBSRC0_EL1", 8).Set("BRBTGT0_EL1", 16);
  text.Set("BRBSRC0_EL1", 9).Line(std::string(70'000, 'x'));
  const Recording recording = ReadDump(text.text());
  EXPECT_EQ(RecordsIn(recording).at(0).from, 8u) << "the first of two";
  EXPECT_TRUE(support::Warns(recording, "9 lines are neither registers"));
  EXPECT_TRUE(support::Warns(recording, "the first is line 3"));
  EXPECT_TRUE(support::Warns(recording, "a register stands twice in one dump, first in line 14"));
}

TEST(RegisterDump, WhatIsNoneIsRefusedInWords) {
  EXPECT_NE(ErrorOf("flowback-branch-registers 2\nunit brbe\n").find("version '2'"),
            std::string::npos);
  EXPECT_NE(ErrorOf("flowback-branch-registers\n").find("version ''"), std::string::npos);
  EXPECT_NE(ErrorOf("flowback-branch-registers 1\n").find("no line names the unit"),
            std::string::npos);
  EXPECT_NE(ErrorOf("flowback-branch-registers 1\nunit lbr4\n").find("line 2: no unit is called"),
            std::string::npos);
  EXPECT_NE(ErrorOf("flowback-branch-registers 1\n0x1500 1\n").find("ahead of the line"),
            std::string::npos);
  EXPECT_NE(ErrorOf("flowback-branch-registers 1\nunit lbr\nunit brs\n").find("a second unit"),
            std::string::npos);
}

// Whatever is cut off: an error in words, or the dumps ahead of it.
TEST(RegisterDump, CutAnywhereIsReadOrRefused) {
  DumpText text("brbe");
  text.Line("map 7 0x400000 0x1000 0x2000 /a");
  for (unsigned i = 0; i < 3; ++i) {
    text.Line("dump pid=7 tid=8 time=" + std::to_string(i));
    for (unsigned record = 0; record < 3; ++record) {
      const std::string number = std::to_string(record);
      text.Set("BRBINF" + number + "_EL1", 0x843).Set("BRBSRC" + number + "_EL1", 0x400513);
      text.Set("BRBTGT" + number + "_EL1", 0x4004ed);
    }
  }
  size_t read = 0;
  for (size_t size = 0; size < text.text().size(); ++size) {
    const std::string cut = text.text().substr(0, size);
    const auto recording = support::ReadBytes({cut.begin(), cut.end()});
    if (!recording) {
      EXPECT_FALSE(recording.error().message().empty());
      continue;
    }
    ++read;
    EXPECT_LE(RecordsIn(*recording).size(), 9u);
  }
  EXPECT_GT(read, text.text().size() / 2);
}

}  // namespace
}  // namespace flowback
