// SPDX-License-Identifier: MIT
// Snapshots of one buffer: what they have in common is read once, and nothing else is lost.
#include <gtest/gtest.h>

#include "capture/formats/perf_data/snapshot_overlap.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"

namespace flowback {
namespace {

using namespace perf;
using support::PerfDataBuilder;
using support::ReadBytes;
using support::Trailer;
using support::Warns;
using Data = std::vector<uint8_t>;

constexpr Trailer kOnCpu1{1000, 42, 42, 1, 100};

// PSB+ with a TSC, then a loop's packets, which are the same each time.
void AddPsb(Data& trace, uint64_t tsc) {
  pt::Encode(pt::Psb{}, trace);
  pt::Encode(pt::Tsc{.tsc = tsc}, trace);
  pt::Encode(pt::PsbEnd{}, trace);
  for (int i = 0; i < 50; ++i) trace.push_back(0xa4);
}

Data Trace() {
  Data trace;
  for (uint64_t tsc = 1; tsc <= 20; ++tsc) AddPsb(trace, tsc);
  return trace;
}

Data Part(size_t begin, size_t end) {
  const Data trace = Trace();
  return {trace.begin() + static_cast<ptrdiff_t>(begin),
          trace.begin() + static_cast<ptrdiff_t>(end)};
}

PerfDataBuilder SnapshotMode(bool by_info) {
  PerfDataBuilder file;
  file.AddEvent({8, 0x100f621, PerfDataBuilder::kUsualSampleType, true, {100}});
  std::vector<uint64_t> info = PerfDataBuilder::UsualPtInfo();
  info[kPtSnapshotMode] = by_info ? 1 : 0;
  file.AuxtraceInfo(info);
  if (!by_info) file.Aux(0, 8, kAuxOverwrite, kOnCpu1);
  return file;
}

Recording Read(const PerfDataBuilder& file) {
  auto recording = ReadBytes(file.Build());
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

Data BytesOf(const Stream& stream) { return {stream.bytes.begin(), stream.bytes.end()}; }

// The second one begins at each byte of the first: also in the middle of packets. An overlap is
// proved when it has a whole PSB with its TSC.
TEST(Snapshots, WhatTheyHaveInCommonIsReadOnce) {
  const size_t proof = 16 + 8;
  for (const bool by_info : {true, false}) {
    for (size_t begin = 0; begin < 400; ++begin) {
      SCOPED_TRACE(begin);
      PerfDataBuilder file = SnapshotMode(by_info);
      file.Auxtrace(5000, 0, -1, 1, Part(0, 400), false);
      file.Auxtrace(64, 0, -1, 1, Part(begin, 1000), false);  // the offsets say nothing
      const Recording recording = Read(file);
      ASSERT_EQ(recording.streams.size(), 1u);
      const Stream& stream = recording.streams[0];
      const size_t period = Trace().size() / 20;
      const size_t next_psb = (begin + period - 1) / period * period;
      if (next_psb + proof > 400) {
        EXPECT_EQ(stream.repeated_bytes, 0u);
        ASSERT_EQ(stream.gaps.size(), 1u);
        EXPECT_EQ(stream.gaps[0].offset, 400u);
        continue;
      }
      EXPECT_EQ(BytesOf(stream), Part(0, 1000));
      EXPECT_EQ(stream.repeated_bytes, 400 - begin);
      EXPECT_TRUE(stream.gaps.empty());
      EXPECT_TRUE(Warns(recording, "were read once"));
    }
  }
}

TEST(Snapshots, ThreeInQuickSuccession) {
  PerfDataBuilder file = SnapshotMode(true);
  file.Auxtrace(0, 0, -1, 1, Part(0, 800), false);
  file.Auxtrace(0, 0, -1, 1, Part(100, 900), false);
  file.Auxtrace(0, 0, -1, 1, Part(200, 1000), false);
  const Recording recording = Read(file);
  EXPECT_EQ(BytesOf(recording.streams.at(0)), Part(0, 1000));
  EXPECT_EQ(recording.streams[0].repeated_bytes, 700u + 700u);
}

TEST(Snapshots, ALongerOneThatHoldsTheFormerReplacesIt) {
  PerfDataBuilder file = SnapshotMode(true);
  file.Auxtrace(0, 0, -1, 1, Part(300, 700), false);
  file.Auxtrace(0, 0, -1, 1, Part(100, 1000), false);
  const Recording recording = Read(file);
  EXPECT_EQ(BytesOf(recording.streams.at(0)), Part(100, 1000));
  EXPECT_EQ(recording.streams[0].repeated_bytes, 400u);
  EXPECT_TRUE(recording.streams[0].gaps.empty());
}

TEST(Snapshots, PaddingBetweenThemIsTakenOff) {
  PerfDataBuilder file = SnapshotMode(true);
  file.Auxtrace(0, 0, -1, 1, Part(0, 403));  // five zeros
  file.Auxtrace(0, 0, -1, 1, Part(100, 1000), false);
  EXPECT_EQ(BytesOf(Read(file).streams.at(0)), Part(0, 1000));
}

TEST(Snapshots, WithoutOverlapThereIsAGap) {
  PerfDataBuilder file = SnapshotMode(true);
  file.Auxtrace(0, 0, -1, 1, Part(0, 400), false);
  file.Auxtrace(0, 0, -1, 1, Part(600, 1000), false);
  const Recording recording = Read(file);
  EXPECT_EQ(recording.streams.at(0).bytes.size(), 800u);
  ASSERT_EQ(recording.streams[0].gaps.size(), 1u);
  EXPECT_EQ(recording.streams[0].gaps[0].offset, 400u);
}

// Equal bytes without a time-stamp are no proof: a loop makes them again and again.
TEST(SnapshotOverlap, ALoopIsNoProof) {
  Data loop;
  pt::Encode(pt::Psb{}, loop);
  pt::Encode(pt::PsbEnd{}, loop);
  loop.resize(200, 0xa4);
  EXPECT_FALSE(FindSnapshotOverlap(loop, loop));
}

TEST(SnapshotOverlap, ATimeStampWhoseSurroundingsDifferIsNoProof) {
  Data other = Part(100, 1000);
  other[250] ^= 1;
  EXPECT_FALSE(FindSnapshotOverlap(Part(0, 500), other));
}

}  // namespace
}  // namespace flowback
