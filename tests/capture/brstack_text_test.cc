// SPDX-License-Identifier: MIT
// Text of `perf script -F ip,brstack`, in the layouts that people have.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "base/recorded/branch_records.h"
#include "capture/formats/branches/perf_branch_stacks.h"
#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"

namespace flowback {
namespace {

using Cycles = BranchFacts::Cycles;
using Prediction = BranchFacts::Prediction;

std::vector<BranchRecord> StackRecords(const Stream& stream) {
  std::vector<BranchRecord> records;
  for (uint64_t at = 0; at < stream.bytes.size(); at += kBranchRecordSize)
    records.push_back(BranchRecordAt(stream.bytes, at));
  return records;
}

Recording ReadText(const std::string& text) {
  auto recording = support::ReadBytes({text.begin(), text.end()});
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

// As perf prints them in its versions.
TEST(BrstackText, OfEachPerf) {
  const Recording recording = ReadText(
      "PERF_RECORD_MMAP2 42/42: [0x400000(0x1000) @ 0x2000 08:04 1 2]: r-xp /bin/program\n"
      "prog 42 [000] 0.1: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x10) @ 0]: x [kernel]\n"
      "          40051c  0x400513/0x4004ed/P/-/-/0  0x400523/0x400513/M/X/A/12 \n"
      "\n"
      "          4004ed\n"
      "  0x1/0x2/-/-/-/65535/  0x3/0x4/P/-/-/1/RET/SPEC_WRONG_PATH  \n");
  EXPECT_EQ(recording.source, kBranchStacks);
  ASSERT_EQ(recording.streams.size(), 1u);
  EXPECT_EQ(recording.streams[0].pid, 42);
  const std::vector<BranchRecord> records = StackRecords(recording.streams[0]);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].from, 0x400523u);
  EXPECT_EQ(records[0].prediction, Prediction::kWrong);
  EXPECT_TRUE(records[0].in_transaction && records[0].aborted && records[0].begins_stack);
  EXPECT_EQ(records[0].cycles, 12u);
  EXPECT_EQ(records[1].ip, 0x40051cu);
  EXPECT_TRUE(records[1].ends_stack);
  EXPECT_TRUE(records[2].on_wrong_path());
  EXPECT_EQ(records[2].kind, BranchKind::kReturn);
  EXPECT_EQ(records[3].cycles_told, Cycles::kAtLeast);
  const auto& config = BranchStackConfigOf(recording.config);
  EXPECT_EQ(config.samples, 3u);
  EXPECT_EQ(config.empty_samples, 1u);
  ASSERT_FALSE(recording.sideband.empty());
  const auto& map = std::get<MmapRecord>(recording.sideband[0]);
  EXPECT_EQ(map.address, 0x400000u);
  EXPECT_EQ(map.size, 0x1000u);
  EXPECT_EQ(map.file_offset, 0x2000u);
  EXPECT_EQ(map.path, "/bin/program");
}

// perf2bolt's layout, and perf's own with all columns in front.
TEST(BrstackText, WithOtherColumnsInFront) {
  const Recording recording = ReadText(
      "# captured on: Sun Nov 29 2026\n"
      "PERF_RECORD_MMAP2 42/42: [0x400000(0x1000) @ 0x2000 <3f1c>]: r-xp program\n"
      "PERF_RECORD_MMAP2 50/50: [0x400000(0x1000) @ 0x2000 08:04 1 2]: r-xp /bin/other\n"
      "   42           40051c  0x400513/0x4004ed/P/-/-/0\n"
      "a.out    42/43    [001]   123.456789:          1 cycles:u:            400600 main+0x1c "
      "(/bin/a)  0x400601/0x400602/P/-/-/0\n"
      "a b 50 [000] 0.5: 7 cafe:u: 400700 0x400701/0x400702/M/-/-/0\n"
      "  50  400800  3f1c:0x400801/3f1c:0x400802/M/-/-/0\n");
  EXPECT_EQ(recording.warnings.size(), 1u) << recording.warnings.back().text;
  ASSERT_EQ(recording.streams.size(), 3u);
  const auto records_of = [&](int32_t tid) {
    for (const Stream& stream : recording.streams)
      if (stream.tid == tid) return StackRecords(stream);
    return std::vector<BranchRecord>();
  };
  for (const Stream& stream : recording.streams) EXPECT_EQ(stream.pid, stream.tid == 50 ? 50 : 42);
  ASSERT_EQ(records_of(42).size(), 1u);
  EXPECT_EQ(records_of(42)[0].ip, 0x40051cu);
  ASSERT_EQ(records_of(43).size(), 1u);
  EXPECT_EQ(records_of(43)[0].ip, 0x400600u);
  EXPECT_EQ(records_of(43)[0].from, 0x400601u);
  ASSERT_EQ(records_of(50).size(), 2u);
  EXPECT_EQ(records_of(50)[0].ip, 0x400700u);
  EXPECT_EQ(records_of(50)[1].to, 0x400802u);
}

TEST(BrstackText, OtherLinesAreLeftOutAndSaid) {
  const Recording recording = ReadText(
      " 1 0x1/0x2/P/-/-/0\n"
      "what is this\n"
      " 1 0x1/0x2/P/-/-\n"
      " 1 0xg/0x2/P/-/-/0\n"
      " 1 0x1/0x2/P/-/-/99999999999\n"
      "PERF_RECORD_MMAP2 nonsense\n"
      " 1 0x5/0x6/P/-/-/0\n");
  EXPECT_EQ(StackRecords(recording.streams.at(0)).size(), 2u);
  EXPECT_TRUE(support::Warns(recording, "4 lines are neither branch stacks nor mappings"));
  EXPECT_TRUE(support::Warns(recording, "the first is line 2"));
}

// The longest line that is read, and one above.
TEST(BrstackText, LongerLinesThanTheLimitAreLeftOutAndSaid) {
  const std::string stack = " 1 0x1/0x2/P/-/-/0";
  const std::string longest = stack + std::string((1 << 16) - stack.size(), ' ');
  const Recording recording = ReadText(stack + '\n' + longest + '\n' + longest + " \n");
  EXPECT_EQ(StackRecords(recording.streams.at(0)).size(), 2u);
  EXPECT_TRUE(support::Warns(recording, "1 line is neither"));
  EXPECT_TRUE(support::Warns(recording, "line 3"));
}

TEST(BrstackText, PathsMayHaveSpaces) {
  const Recording recording = ReadText(
      "PERF_RECORD_MMAP2 42/42: [0x400000(0x1000) @ 0 08:04 1 2]: r-xp /my files/a  b\r\n"
      " 1 0x1/0x2/P/-/-/0\n");
  const auto& map = std::get<MmapRecord>(recording.sideband.at(0));
  EXPECT_EQ(map.path, "/my files/a  b");
  EXPECT_TRUE(map.executable);
}

// perf hands out ways out of the kernel also where it is not recorded.
TEST(BrstackText, TheKernelIsRecordedWhereSomethingLedIntoIt) {
  const std::string out = " 1 0xffffffff81000000/0x2/P/-/-/0\n";
  const std::string in = " 1 0x1/0xffffffff81000000/P/-/-/0\n";
  EXPECT_EQ(BranchStackConfigOf(ReadText(out).config).levels.kernel, false);
  EXPECT_NE(BranchStackConfigOf(ReadText(out + in).config).levels.kernel, false);
}

// A mapping holds for the stacks behind it, and the order is no time.
TEST(BrstackText, LinesAreInTheirOrder) {
  const Recording recording = ReadText(
      "PERF_RECORD_MMAP2 42/42: [0x400000(0x1000) @ 0 08:04 1 2]: r-xp /a\n"
      " 1 0x1/0x2/P/-/-/0\n"
      "PERF_RECORD_MMAP2 42/42: [0x400000(0x1000) @ 0 08:04 1 2]: r-xp /b\n"
      " 1 0x3/0x4/P/-/-/0\n");
  const auto time_of_map = [&](size_t i) {
    return std::get<MmapRecord>(recording.sideband.at(i)).time;
  };
  const std::vector<BranchRecord> records = StackRecords(recording.streams.at(0));
  EXPECT_LT(time_of_map(0), records.at(0).time);
  EXPECT_LT(records.at(0).time, time_of_map(1));
  EXPECT_LT(time_of_map(1), records.at(1).time);
  EXPECT_FALSE(recording.time.known());
  EXPECT_EQ(records.at(1).told_time(), 0u);
}

TEST(BrstackText, OtherTextIsNone) {
  for (const std::string text : {"hello\n", " 40051c\n", "0x1/0x2\n", "0x1/0x2/P/-/-/x\n"})
    EXPECT_FALSE(support::ReadBytes({text.begin(), text.end()})) << text;
}

// The records that a stream has, also where they are made as they are read.
std::vector<BranchRecord> AllRecordsOf(const Stream& stream) {
  if (stream.joined == nullptr) return StackRecords(stream);
  std::vector<BranchRecord> records(stream.bytes.size() / kBranchRecordSize);
  stream.joined->Copy(0, {reinterpret_cast<uint8_t*>(records.data()), stream.bytes.size()});
  return records;
}

constexpr const char* kTextMap =
    "PERF_RECORD_MMAP2 10/10: [0x401000(0x1000) @ 0x1000 08:04 1 2]: r-xp /home/me/t\n";

// perf 6.15 writes N beside the prediction of a branch that was not taken.
TEST(BranchText, BranchesThatWereNotTaken) {
  const Recording recording = ReadText(std::string(kTextMap) +
                                       "  401160  0x401153/0x401144/MN/-/-/0/COND/-\n"
                                       "  401160  0x401153/0x401155/PN/-/-/0/COND/- "
                                       "0x401146/0x401126/N/-/-/0 0x401100/0x401140/P/-/-/0\n");
  ASSERT_EQ(recording.streams.size(), 1u);
  const std::vector<BranchRecord> records = StackRecords(recording.streams[0]);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_TRUE(records[0].not_taken);
  EXPECT_EQ(records[0].prediction, Prediction::kWrong);
  EXPECT_EQ(records[0].led_to(), 0u);
  EXPECT_FALSE(records[1].not_taken);
  EXPECT_TRUE(records[2].not_taken);
  EXPECT_EQ(records[2].prediction, Prediction::kNotTold);
  EXPECT_TRUE(records[3].not_taken);
  EXPECT_EQ(records[3].prediction, Prediction::kRight);
}

// LLVM's tools write equal samples once, behind their number.
TEST(BranchText, CountsOfSamples) {
  const Recording recording = ReadText(std::string(kTextMap) +
                                       "3\n"
                                       " 0x401153/0x401144/P/-/-/0 0x401146/0x401126/P/-/-/0\n"
                                       "0\n"
                                       " 0x401153/0x401155/P/-/-/0\n"
                                       "20\n"
                                       "\t          401200\n"
                                       "\t          401100\n"
                                       " 0x401153/0x401166/P/-/-/0\n"
                                       " 0x401153/0x401177/P/-/-/0\n");
  ASSERT_EQ(recording.streams.size(), 1u);
  std::map<uint64_t, size_t> times;
  for (const BranchRecord& record : AllRecordsOf(recording.streams[0])) ++times[record.to];
  const std::map<uint64_t, size_t> expected = {
      {0x401144, 3}, {0x401126, 3}, {0x401166, 20}, {0x401177, 1}};
  EXPECT_EQ(times, expected);
  const BranchStackConfig& config = BranchStackConfigOf(recording.config);
  EXPECT_EQ(config.samples, 24u);
  EXPECT_EQ(config.empty_samples, 0u);
  // Each repetition is a stack of its own.
  const std::vector<BranchRecord> records = AllRecordsOf(recording.streams[0]);
  EXPECT_TRUE(records[2].begins_stack && records[3].ends_stack && !records[3].begins_stack);
}

// More than what is made at once: the records are made as they are read.
TEST(BranchText, LargeCountsOfSamples) {
  const Recording recording = ReadText(std::string(kTextMap) +
                                       "100000\n"
                                       " 0x401153/0x401144/P/-/-/0 0x401146/0x401126/P/-/-/0\n"
                                       "7\n"
                                       " 0x401153/0x401155/P/-/-/0\n");
  ASSERT_EQ(recording.streams.size(), 1u);
  const std::vector<BranchRecord> records = AllRecordsOf(recording.streams[0]);
  ASSERT_EQ(records.size(), 200007u);
  EXPECT_EQ(records[0].to, 0x401126u);
  EXPECT_EQ(records[123457].to, 0x401144u);
  EXPECT_TRUE(records[123457].ends_stack);
  EXPECT_EQ(records[200000].to, 0x401155u);
  EXPECT_EQ(records[200006].to, 0x401155u);
}

TEST(BranchText, TooManySamplesAreAnError) {
  const std::string text = std::string(kTextMap) +
                           "99999999999\n"
                           " 0x401153/0x401144/P/-/-/0\n";
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  const auto recording = support::ReadBytes(bytes);
  ASSERT_FALSE(recording);
  EXPECT_TRUE(recording.error().message().contains("line 3")) << recording.error().message();
}

// perf right-aligns addresses; a text that lost its blanks is no reason to take one for a number.
TEST(BranchText, AnAddressOfCodeIsNoCount) {
  const Recording recording = ReadText(std::string(kTextMap) +
                                       "401153\n"
                                       "401153 0x401153/0x401144/P/-/-/0\n");
  ASSERT_EQ(recording.streams.size(), 1u);
  EXPECT_EQ(AllRecordsOf(recording.streams[0]).size(), 1u);
}

}  // namespace
}  // namespace flowback
