// SPDX-License-Identifier: MIT
// Samples with branch stacks in perf.data, written here field by field.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <string>

#include "base/hex.h"
#include "base/recorded/branch_records.h"
#include "capture/formats/branches/perf_branch_stacks.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/perf_data_converter.h"

namespace flowback {
namespace {

using namespace perf;
using support::FieldWriter;
using support::PerfDataBuilder;
using Cycles = BranchFacts::Cycles;
using Prediction = BranchFacts::Prediction;

constexpr uint64_t kUsual = kSampleIp | kSampleTid | kSampleTime | kSamplePeriod;
constexpr uint64_t kWrong = 1 << 0, kRight = 1 << 1, kInTransaction = 1 << 2, kAbort = 1 << 3;
constexpr uint64_t CyclesOf(uint64_t count) { return count << 4; }
constexpr uint64_t TypeOf(uint64_t type) { return type << 20; }
constexpr uint64_t SpecOf(uint64_t spec) { return spec << 24; }
constexpr uint64_t NewTypeOf(uint64_t type) { return type << 26; }
constexpr uint64_t LevelOf(uint64_t level) { return level << 30; }

struct Entry {
  uint64_t from, to, flags;
};

// The newest first, as perf has them.
FieldWriter SampleOf(uint32_t tid, uint64_t time, const std::vector<Entry>& entries,
                     bool hardware_index = false, bool counters = false) {
  FieldWriter body;
  body.U64(0x401234).U32(42).U32(tid).U64(time).U64(7).U64(entries.size());
  if (hardware_index) body.U64(3);
  for (const Entry& entry : entries) body.U64(entry.from).U64(entry.to).U64(entry.flags);
  for (size_t i = 0; counters && i < entries.size(); ++i) body.U64(i + 1);
  return body;
}

PerfDataBuilder FileWith(uint64_t branch_sample_type) {
  PerfDataBuilder file;
  file.AddEvent({0, 0, kUsual | kSampleBranchStack, true, {}, branch_sample_type});
  return file;
}

Recording Read(const PerfDataBuilder& file) {
  auto recording = support::ReadBytes(file.Build());
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

std::vector<BranchRecord> RecordsOf(const Stream& stream) {
  std::vector<BranchRecord> records;
  for (uint64_t at = 0; at < stream.bytes.size(); at += kBranchRecordSize)
    records.push_back(BranchRecordAt(stream.bytes, at));
  return records;
}

BranchRecord Parsed(uint64_t flags) {
  const FieldWriter entry = FieldWriter().U64(0x1000).U64(0x2000).U64(flags);
  return ParseBranchEntry(entry.bytes, ByteOrder::kLittle);
}

TEST(BranchEntry, FlagsAreTold) {
  EXPECT_EQ(Parsed(0).prediction, Prediction::kNotTold);
  EXPECT_EQ(Parsed(kRight).prediction, Prediction::kRight);
  EXPECT_EQ(Parsed(kWrong).prediction, Prediction::kWrong);
  EXPECT_TRUE(Parsed(kInTransaction).in_transaction);
  EXPECT_TRUE(Parsed(kAbort).aborted);
  EXPECT_EQ(Parsed(SpecOf(0)).path, BranchRecord::Path::kNotTold);
  EXPECT_TRUE(Parsed(SpecOf(1)).on_wrong_path());
  EXPECT_EQ(Parsed(SpecOf(2)).path, BranchRecord::Path::kRight);
  EXPECT_EQ(Parsed(SpecOf(3)).path, BranchRecord::Path::kRightSpeculative);
  EXPECT_EQ(Parsed(LevelOf(1)).level, BranchRecord::Level::kUser);
  EXPECT_EQ(Parsed(LevelOf(3)).level, BranchRecord::Level::kHypervisor);
  EXPECT_EQ(Parsed(LevelOf(7)).level, BranchRecord::Level::kNotTold);
  EXPECT_FALSE(Parsed(0).aborted || Parsed(0).in_transaction || Parsed(0).on_wrong_path());
}

// Drivers write 0 where the hardware does not count; the largest number stands for all above.
TEST(BranchEntry, CyclesAreExactABoundOrUnknown) {
  EXPECT_EQ(Parsed(CyclesOf(0)).cycles_told, Cycles::kNotTold);
  EXPECT_EQ(Parsed(CyclesOf(12)).cycles_told, Cycles::kExact);
  EXPECT_EQ(Parsed(CyclesOf(12)).cycles, 12u);
  EXPECT_EQ(Parsed(CyclesOf(0xfffe)).cycles_told, Cycles::kExact);
  EXPECT_EQ(Parsed(CyclesOf(0xffff)).cycles_told, Cycles::kAtLeast);
  EXPECT_EQ(Parsed(CyclesOf(0xffff)).cycles, 0xffffu);
}

TEST(BranchEntry, KindsOldAndNew) {
  EXPECT_EQ(Parsed(TypeOf(0)).kind, BranchKind::kNotTold);
  EXPECT_EQ(Parsed(TypeOf(1)).kind, BranchKind::kConditional);
  EXPECT_EQ(Parsed(TypeOf(6)).kind, BranchKind::kReturn);
  EXPECT_EQ(Parsed(TypeOf(12)).kind, BranchKind::kInterrupt);
  EXPECT_EQ(Parsed(TypeOf(14)).kind, BranchKind::kNotInTransaction);
  EXPECT_EQ(Parsed(TypeOf(15)).kind, BranchKind::kAlignmentFault);
  EXPECT_EQ(Parsed(TypeOf(15) | NewTypeOf(1)).kind, BranchKind::kDataFault);
  EXPECT_EQ(Parsed(TypeOf(15) | NewTypeOf(7)).kind, BranchKind::kArchitecture5);
  EXPECT_EQ(Parsed(TypeOf(15) | NewTypeOf(8)).kind, BranchKind::kNotTold);
}

// A big-endian compiler lays bit fields out from the other end.
TEST(BranchEntry, Bit33SaysNotTaken) {
  EXPECT_FALSE(Parsed(kRight).not_taken);
  EXPECT_TRUE(Parsed(kRight | uint64_t{1} << 33).not_taken);
  EXPECT_EQ(Parsed(LevelOf(1) | uint64_t{1} << 33).level, BranchRecord::Level::kUser);
}

TEST(BranchEntry, OfABigEndianMachine) {
  const uint64_t flags = uint64_t{1} << 62                         // predicted
                         | uint64_t{300} << 44                     // cycles
                         | uint64_t{5} << 40                       // type
                         | uint64_t{1} << 38 | uint64_t{2} << 31;  // spec, priv
  const FieldWriter entry = FieldWriter()
                                .U64(std::byteswap(uint64_t{0x1000}))
                                .U64(std::byteswap(uint64_t{0x2000}))
                                .U64(std::byteswap(flags));
  const BranchRecord record = ParseBranchEntry(entry.bytes, ByteOrder::kBig);
  EXPECT_EQ(record.from, 0x1000u);
  EXPECT_EQ(record.prediction, Prediction::kRight);
  EXPECT_EQ(record.cycles, 300u);
  EXPECT_EQ(record.kind, BranchKind::kIndirectCall);
  EXPECT_TRUE(record.on_wrong_path());
  EXPECT_EQ(record.level, BranchRecord::Level::kKernel);
}

TEST(BranchStacks, AreInProgramOrderByThread) {
  PerfDataBuilder file = FileWith(kBranchAny | kBranchUser);
  file.Record(kRecordSample, 0, SampleOf(42, 300, {{5, 6, kRight}}));
  file.Record(kRecordSample, 0, SampleOf(43, 200, {{7, 8, 0}}));
  file.Record(kRecordSample, 0, SampleOf(42, 100, {{3, 4, 0}, {1, 2, 0}}));
  file.Record(kRecordSample, 0, SampleOf(42, 400, {}));
  const Recording recording = Read(file);
  ASSERT_EQ(recording.streams.size(), 2u);
  EXPECT_EQ(recording.streams[0].tid, 42);
  EXPECT_EQ(recording.streams[0].pid, 42);
  EXPECT_EQ(recording.streams[1].tid, 43);
  const std::vector<BranchRecord> records = RecordsOf(recording.streams[0]);
  ASSERT_EQ(records.size(), 3u);
  const uint64_t froms[] = {records[0].from, records[1].from, records[2].from};
  EXPECT_EQ(froms[0], 1u);
  EXPECT_EQ(froms[1], 3u);
  EXPECT_EQ(froms[2], 5u);
  EXPECT_EQ(records[1].time, 100u);
  EXPECT_EQ(records[1].ip, 0x401234u);
  EXPECT_TRUE(records[0].begins_stack && !records[0].ends_stack);
  EXPECT_TRUE(records[1].ends_stack && !records[1].begins_stack);
  EXPECT_TRUE(records[2].begins_stack && records[2].ends_stack);
  const auto& config = BranchStackConfigOf(recording.config);
  EXPECT_EQ(config.samples, 4u);
  EXPECT_EQ(config.empty_samples, 1u);
  EXPECT_EQ(config.depth, 2u);
  EXPECT_EQ(config.levels.user, true);
  EXPECT_EQ(config.levels.kernel, false);
}

TEST(BranchStacks, WithHardwareIndexAndCounters) {
  PerfDataBuilder file = FileWith(kBranchAny | kBranchHardwareIndex | kBranchCounters);
  file.Record(kRecordSample, 0, SampleOf(42, 1, {{3, 4, 0}, {1, 2, 0}}, true, true));
  const std::vector<BranchRecord> records = RecordsOf(Read(file).streams.at(0));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].from, 1u);
  EXPECT_EQ(records[0].counters, 2u);
  EXPECT_EQ(records[1].counters, 1u);
}

TEST(BranchStacks, SaveAllIsNotAllKinds) {
  EXPECT_TRUE(BranchStackConfigOf(Read([] {
                                    PerfDataBuilder file = FileWith(kBranchAny);
                                    file.Record(kRecordSample, 0, SampleOf(42, 1, {{1, 2, 0}}));
                                    return file;
                                  }())
                                      .config)
                  .all_kinds);
  constexpr uint64_t kAnyCall = 1 << 4;
  PerfDataBuilder calls = FileWith(kAnyCall);
  calls.Record(kRecordSample, 0, SampleOf(42, 1, {{1, 2, 0}}));
  EXPECT_FALSE(BranchStackConfigOf(Read(calls).config).all_kinds);
  PerfDataBuilder stacks = FileWith(kBranchUser | kBranchCallStack);
  stacks.Record(kRecordSample, 0, SampleOf(42, 1, {{1, 2, 0}}));
  EXPECT_TRUE(BranchStackConfigOf(Read(stacks).config).call_stacks);
}

TEST(BranchStacks, MoreEntriesThanTheRecordHoldsAreLeftOutAndSaid) {
  PerfDataBuilder file = FileWith(kBranchAny);
  file.Record(kRecordSample, 0, SampleOf(42, 1, {{1, 2, 0}}));
  FieldWriter lying = SampleOf(42, 2, {{1, 2, 0}, {3, 4, 0}});
  lying.bytes[32] = 3;
  const uint64_t where = file.NextOffset();
  file.Record(kRecordSample, 0, lying);
  FieldWriter huge = SampleOf(42, 3, {{1, 2, 0}});
  for (int i = 0; i < 8; ++i) huge.bytes[static_cast<size_t>(32 + i)] = 0xff;
  file.Record(kRecordSample, 0, huge);
  const Recording recording = Read(file);
  EXPECT_EQ(RecordsOf(recording.streams.at(0)).size(), 1u);
  EXPECT_TRUE(support::Warns(recording, "2 records are too short"));
  EXPECT_TRUE(support::Warns(recording, Hex(where)));
}

TEST(BranchStacks, NoneAreNoStreams) {
  PerfDataBuilder file = FileWith(kBranchAny);
  file.Record(kRecordSample, 0, SampleOf(42, 1, {}));
  const Recording recording = Read(file);
  EXPECT_TRUE(recording.streams.empty());
  EXPECT_TRUE(recording.warnings.empty());
}

// Nothing of the stream is there until it is asked for, at any place.
TEST(BranchStacks, AnyPartOfTheStreamIsThatOfTheWhole) {
  std::mt19937_64 random(3);
  PerfDataBuilder file = FileWith(kBranchAny | kBranchCounters);
  for (uint64_t i = 0; i < 2000; ++i) {
    std::vector<Entry> entries(random() % 5);
    for (Entry& entry : entries) entry = {random(), random(), random() & 0xffff};
    file.Record(kRecordSample, 0, SampleOf(42, 1 + random() % 200, entries, false, true));
  }
  const support::TemporaryFolder folder;
  OpenOptions options;
  options.input = folder.Write("stacks.data", file.Build());
  const auto whole = OpenRecording(options);
  options.whole_streams = false;
  const auto parts = OpenRecording(options);
  ASSERT_TRUE(whole && parts);
  const Bytes bytes = whole->streams.at(0).bytes;
  const Stream& stream = parts->streams.at(0);
  ASSERT_NE(stream.joined, nullptr);
  EXPECT_EQ(stream.joined->most_present(), 0u);
  ASSERT_EQ(stream.bytes.size(), bytes.size());
  for (int i = 0; i < 2000; ++i) {
    const size_t offset = random() % (bytes.size() + 100);
    std::vector<uint8_t> part(1 + random() % 700);
    const Bytes expected = Slice(bytes, offset, part.size());
    part.resize(stream.joined->Copy(offset, part));
    ASSERT_TRUE(std::ranges::equal(part, expected)) << offset;
  }
}

// The same file in each container.
TEST(BranchStacks, InPipesCompressedAndOfForeignMachines) {
  PerfDataBuilder file = FileWith(kBranchAny);
  for (uint64_t i = 1; i < 50; ++i)
    file.Record(kRecordSample, 0, SampleOf(42, i, {{i, i + 1, kRight}, {i + 2, i + 3, kWrong}}));
  const support::PerfDataParts parts = support::TakeApart(file.Build());
  for (const auto& bytes : {support::ToPipe(parts), support::ToCompressed(parts, 50)}) {
    const auto recording = support::ReadBytes(bytes);
    ASSERT_TRUE(recording) << recording.error().message();
    ASSERT_EQ(recording->streams.size(), 1u);
    const std::vector<BranchRecord> records = RecordsOf(recording->streams[0]);
    ASSERT_EQ(records.size(), 98u);
    EXPECT_EQ(records[97].from, 49u);
    EXPECT_EQ(records[97].prediction, Prediction::kRight);
  }
}

// Ids of other linkers are shorter than the field, and older recorders do not say how long.
TEST(BuildIds, WithoutTheirSizeAreWithoutPadding) {
  for (const size_t size : {8, 16, 20}) {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    std::vector<uint8_t> id(20);
    for (size_t i = 0; i < size; ++i) id[i] = static_cast<uint8_t>(i + 1);
    FieldWriter table;
    table.U32(67).U16(2).U16(44).U32(42).Raw(id);
    file.Feature(kFeatureBuildId, table.U32(0).Text("lib.so"));
    const Recording recording = Read(file);
    ASSERT_EQ(recording.build_ids.size(), 1u);
    EXPECT_EQ(recording.build_ids[0].second.bytes.size(), size);
  }
}

// A virtual machine's code is in no file here: the host's at the same addresses are others.
TEST(BranchStackSamples, OfGuestsAreLeftOutAndCounted) {
  PerfDataBuilder file = FileWith(kBranchUser | kBranchAny);
  const std::vector<Entry> entries = {{0x1000, 0x2000, 0}};
  file.Record(kRecordSample, 2, SampleOf(42, 10, entries));
  file.Record(kRecordSample, kMiscGuestUser, SampleOf(42, 20, entries));
  file.Record(kRecordSample, kMiscGuestKernel, SampleOf(42, 30, entries));
  const Recording recording = Read(file);
  ASSERT_EQ(recording.streams.size(), 1u);
  const std::vector<BranchRecord> records = RecordsOf(recording.streams[0]);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].time, 10u);
  const bool told = std::ranges::any_of(recording.warnings, [](const Warning& warning) {
    return warning.text.starts_with("2 samples are of guests");
  });
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace flowback
