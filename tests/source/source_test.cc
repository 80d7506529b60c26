// SPDX-License-Identifier: MIT
// A kind of trace that nothing but its own folder knows goes through everything behind it: threads,
// their flow, their time.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decode/stream_index.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/time_account.h"
#include "tests/source/imaginary_source.h"
#include "tests/support/flow_of.h"

namespace flowback::testing {
namespace {

// One CPU, two threads in turn. One tick is one nanosecond.
class ImaginaryTest : public ::testing::Test {
 protected:
  ImaginaryTest() {
    recording_.source = "imaginary";
    recording_.time = {.shift = 0, .mult = 1, .zero = 0};
  }

  void AddStream(const std::vector<ImaginaryRecord>& records) {
    auto bytes = std::make_shared<std::vector<uint8_t>>(ImaginaryTrace(records));
    Stream stream;
    stream.index = static_cast<uint32_t>(recording_.streams.size());
    stream.cpu = 0;
    stream.bytes = *bytes;
    recording_.streams.push_back(stream);
    recording_.storage.push_back(bytes);
  }
  void Stay(int32_t tid, uint64_t begin, uint64_t end) {
    SwitchRecord record;
    record.time = begin;
    record.pid = 1;
    record.tid = tid;
    record.cpu = 0;
    recording_.sideband.push_back(record);
    record.time = end;
    record.out = true;
    recording_.sideband.push_back(record);
  }
  void AddTwoThreads() {
    AddStream({{110, 7000},
               {120, 7001},
               {130, 0},
               {210, 8000},
               {220, 8001},
               {230, 8002},
               {240, 0},
               {310, 7002},
               {320, 7003},
               {330, 7004},
               {340, 0},
               {410, 8003},
               {420, 8004},
               {430, 0}});
    Stay(7, 100, 200), Stay(8, 200, 300), Stay(7, 300, 400), Stay(8, 400, 500);
  }

  std::map<int32_t, std::vector<uint64_t>> AddressesByThread() const {
    std::map<int32_t, std::vector<uint64_t>> told;
    const Result<RecordingCode> code = RecordingCode::Load(recording_, {});
    if (!code) return told;
    const StreamInputs inputs(recording_, *code, Resync::kEarliest);
    const Result<std::unique_ptr<Decoder>> decoder = inputs.source().MakeDecoder("");
    for (const ThreadFlow& flow : ThreadFlows(recording_, inputs))
      for (const FlowPiece& piece : flow.pieces) {
        FlowSegment segment;
        SegmentRecorder recorder(segment);
        EXPECT_TRUE(DecodePiece(piece, inputs, **decoder, recorder));
        std::ranges::copy(AddressesOf(segment), std::back_inserter(told[flow.tid]));
        ForEachItem(segment, [](const DataLoss&) { ADD_FAILURE() << "nothing was lost"; });
      }
    return told;
  }

  Recording recording_;
};

TEST_F(ImaginaryTest, IsARowOfTheTable) {
  const auto source = OpenSource(recording_);
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->Name(), "imaginary trace");
  recording_.source = "intel_pt";
  const auto real = OpenSource(recording_);
  ASSERT_TRUE(real);
  EXPECT_EQ((*real)->Name(), "Intel PT");
}

TEST_F(ImaginaryTest, WhatNoRowNamesIsRefused) {
  recording_.path = "some.data";
  recording_.source = "of the future";
  const auto source = OpenSource(recording_);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(source.error().message().find("some.data"), std::string::npos);
  EXPECT_NE(source.error().message().find("of the future"), std::string::npos);
}

TEST_F(ImaginaryTest, ThreadsHaveTheirFlow) {
  AddTwoThreads();
  std::map<int32_t, std::vector<uint64_t>> told = AddressesByThread();
  EXPECT_EQ(told[7], (std::vector<uint64_t>{7000, 7001, 7002, 7003, 7004}));
  EXPECT_EQ(told[8], (std::vector<uint64_t>{8000, 8001, 8002, 8003, 8004}));
}

// Its decoder opens the settings that came with the recording, through everything between them.
TEST_F(ImaginaryTest, IsDecodedWithItsSettings) {
  AddTwoThreads();
  recording_.config.Make<ImaginarySettings>().base = 0x10000;
  EXPECT_EQ(AddressesByThread()[7],
            (std::vector<uint64_t>{0x10000 + 7000, 0x10000 + 7001, 0x10000 + 7002, 0x10000 + 7003,
                                   0x10000 + 7004}));
}

// Settings of another kind are not its own.
TEST_F(ImaginaryTest, SettingsOfAnotherKindAreUnknown) {
  AddTwoThreads();
  recording_.config = std::string("of something else");
  EXPECT_EQ(AddressesByThread()[7], (std::vector<uint64_t>{7000, 7001, 7002, 7003, 7004}));
}

TEST_F(ImaginaryTest, IsIndexedWithItsSettings) {
  AddTwoThreads();
  const auto points = [&] {
    const auto index = (*OpenSource(recording_))->Index(recording_.streams[0], {});
    return index->sync_points.size();
  };
  EXPECT_EQ(points(), 4u);  // 14 records
  recording_.config = ImaginarySettings{.sync_every = 7};
  EXPECT_EQ(points(), 2u);
}

TEST_F(ImaginaryTest, TheirTimeAddsUp) {
  AddTwoThreads();
  const Result<RecordingCode> code = RecordingCode::Load(recording_, {});
  ASSERT_TRUE(code);
  const StreamInputs inputs(recording_, *code, Resync::kEarliest);
  const Result<std::unique_ptr<Decoder>> decoder = inputs.source().MakeDecoder("");
  ASSERT_TRUE(decoder);
  const Result<FlowAccounts> accounts = AccountFlow(recording_, inputs, **decoder);
  ASSERT_TRUE(accounts);
  std::map<int32_t, uint64_t> executing;
  for (const TimeAccount& account : accounts->times.threads) {
    EXPECT_EQ(account.Sum(), account.lifetime());
    executing[account.tid] = account.Of(TimeClass::kExecuting).time;
  }
  EXPECT_EQ(executing[7], (130 - 110) + (340 - 310));
  EXPECT_EQ(executing[8], (240 - 210) + (430 - 410));
}

// Its law counts records, not bytes.
TEST_F(ImaginaryTest, ItsAccountIsInItsOwnUnit) {
  AddTwoThreads();
  const Result<RecordingCode> code = RecordingCode::Load(recording_, {});
  ASSERT_TRUE(code);
  const StreamInputs inputs(recording_, *code, Resync::kEarliest);
  const TraceUnit unit = inputs.source().Unit();
  EXPECT_EQ(unit.plural, "records");
  const Result<FlowAccounts> accounts =
      AccountFlow(recording_, inputs, **inputs.source().MakeDecoder(""));
  ASSERT_TRUE(accounts);
  const FlowSummary& sum = accounts->summaries[0];
  EXPECT_EQ(unit.In(recording_.streams[0]), 14u);
  EXPECT_EQ(sum.bytes_decoded + sum.bytes_padding + sum.bytes_lost, 14u);
}

TEST_F(ImaginaryTest, TellsItsSettings) {
  recording_.config = ImaginarySettings{.base = 5, .sync_every = 7};
  const auto source = OpenSource(recording_);
  ASSERT_TRUE(source);
  const std::vector<TraceSetting> settings = (*source)->Settings();
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_EQ(settings[0].text, "7");
  EXPECT_EQ((*source)->SettingNumbers(), (std::vector<uint64_t>{5, 7}));
}

// Settings are a value of the source's own: another kind's are as if there were none.
TEST(TraceConfig, IsOpenedByItsKindOnly) {
  struct Pace {
    int steps = 1;
  };
  TraceConfig config;
  EXPECT_EQ(config.As<Pace>(), nullptr);
  config.Make<Pace>().steps = 5;
  const TraceConfig copy = config;
  config.Make<Pace>().steps = 6;
  ASSERT_NE(copy.As<Pace>(), nullptr);
  EXPECT_EQ(copy.As<Pace>()->steps, 5);
  EXPECT_EQ(copy.As<std::string>(), nullptr);
}

TEST_F(ImaginaryTest, PacketsHaveNames) {
  AddStream({{110, 7000}, {120, 0}});
  const auto source = OpenSource(recording_);
  ASSERT_TRUE(source);
  const std::unique_ptr<PacketReader> reader = (*source)->Packets(recording_.streams[0]);
  const std::unique_ptr<PacketBatch> packets = reader->NewBatch();
  EXPECT_FALSE(reader->Read(*packets, 100));
  ASSERT_EQ(packets->size(), 2);
  EXPECT_EQ(packets->Name(0), "STEP");
  EXPECT_EQ(packets->Name(1), "STOP");
}

}  // namespace
}  // namespace flowback::testing
