// SPDX-License-Identifier: MIT
// Facts of a stream of branch stacks that need no code.
#include <gtest/gtest.h>

#include "decode/stream_index.h"
#include "flowback/decode/trace_source.h"
#include "tests/branch_stack/stacks.h"

namespace flowback::testing {
namespace {

class StackSource : public Stacks {
 protected:
  std::shared_ptr<const TraceSource> Open() {
    recording_.source = kBranchStacks;
    recording_.path = "some.data";
    recording_.config = config_;
    return *OpenSource(recording_);
  }
  const Stream& TheStream() {
    stream_.bytes = Input().bytes;
    return stream_;
  }

  Recording recording_;
  Stream stream_;
};

TEST_F(StackSource, CountsInRecordsAndSaysSamples) {
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010)});
  const auto source = Open();
  EXPECT_EQ(source->Name(), "branch stacks");
  EXPECT_EQ(source->Unit().plural, "records");
  EXPECT_EQ(source->Unit().In(TheStream()), 2u);
  EXPECT_TRUE(source->samples());
  config_.tiled = true;
  EXPECT_FALSE(Open()->samples());
}

TEST_F(StackSource, SyncPointsAreStacksAndTimesAreTheSamples) {
  for (int i = 0; i < 200; ++i) Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010)});
  const auto source = Open();
  const auto index = source->Index(TheStream());
  ASSERT_GT(index->sync_points.size(), 3u);
  for (const SyncPoint& point : index->sync_points) {
    EXPECT_TRUE(records_[point.offset / kBranchRecordSize].begins_stack);
    EXPECT_EQ(point.first_tsc, records_[point.offset / kBranchRecordSize].time);
  }
  EXPECT_EQ(index->times.lo, 101u);
  EXPECT_EQ(index->times.hi, 500u);
  for (uint64_t record = 0; record < records_.size(); ++record) {
    const uint64_t point = source->SyncPointBefore(TheStream(), record * kBranchRecordSize);
    EXPECT_EQ(point, record == 0 ? 0 : (record - 1) / 2 * 2 * kBranchRecordSize);
  }
  EXPECT_EQ(source->FirstTime(TheStream(), {3 * kBranchRecordSize, 4 * kBranchRecordSize}), 104u);
}

TEST_F(StackSource, PacketsAreRecordsInWords) {
  BranchRecord record = Branch(0x1003, 0x1000, BranchKind::kConditional);
  record.prediction = BranchFacts::Prediction::kWrong;
  record.cycles = 65535;
  record.cycles_told = BranchFacts::Cycles::kAtLeast;
  record.level = BranchRecord::Level::kUser;
  Add({Branch(0, 0), record});
  const auto source = Open();
  const std::unique_ptr<PacketReader> reader = source->Packets(TheStream());
  const std::unique_ptr<PacketBatch> packets = reader->NewBatch();
  EXPECT_FALSE(reader->Read(*packets, 10));
  ASSERT_EQ(packets->size(), 2u);
  EXPECT_EQ(packets->Name(0), "EMPTY");
  EXPECT_EQ(packets->Name(1), "COND");
  EXPECT_EQ(packets->Payload(1), "0x1003 -> 0x1000 mispredicted cycles>=65535 user newest");
}

TEST_F(StackSource, OtherEnginesAndCallStacksAreRefusedWithAWayOut) {
  const auto other = Open()->MakeDecoder("libipt");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(other.error().message().contains("some.data"));
  EXPECT_TRUE(Open()->MakeDecoder("native"));
  config_.call_stacks = true;
  const auto calls = Open()->MakeDecoder("");
  ASSERT_FALSE(calls);
  EXPECT_TRUE(calls.error().message().contains("--call-graph lbr"));
  EXPECT_FALSE(calls.error().remedy().empty());
}

}  // namespace
}  // namespace flowback::testing
