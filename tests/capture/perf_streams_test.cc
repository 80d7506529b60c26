// SPDX-License-Identifier: MIT
// AUX data: pieces become streams, what is missing becomes gaps.
#include <gtest/gtest.h>

#include <numeric>

#include "capture/formats/perf_records/perf_layout.h"
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

// `size` bytes first, first + 1, ...; none is zero.
Data Count(uint8_t first, size_t size) {
  Data data(size);
  for (size_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>((first + i) % 255 + 1);
  return data;
}

Data operator+(Data a, const Data& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Recording Read(const PerfDataBuilder& file) {
  auto recording = ReadBytes(file.Build());
  EXPECT_TRUE(recording) << recording.error().message();
  return recording ? *std::move(recording) : Recording();
}

Data BytesOf(const Stream& stream) { return {stream.bytes.begin(), stream.bytes.end()}; }

constexpr Trailer OnCpu(int32_t cpu) { return {1000, 42, 42, cpu, 100}; }
constexpr Trailer OfThread(int32_t tid) { return {1000, 42, tid, 0, 100}; }

TEST(PerfStreams, OnePieceIsNotCopied) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  const Recording recording = Read(file);
  ASSERT_EQ(recording.streams.size(), 1u);
  const Stream& stream = recording.streams[0];
  EXPECT_EQ(BytesOf(stream), Count(1, 16));
  EXPECT_EQ(stream.cpu, 1);
  EXPECT_EQ(stream.file, "test.data");
  const Data bytes = file.Build();
  EXPECT_TRUE(std::equal(stream.bytes.begin(), stream.bytes.end(),
                         bytes.begin() + static_cast<ptrdiff_t>(stream.file_offset)));
  EXPECT_EQ(recording.storage.size(), 1u);  // the file itself
  EXPECT_TRUE(stream.gaps.empty());
  EXPECT_TRUE(recording.warnings.empty());
}

TEST(PerfStreams, PiecesAreJoinedByOffsetWithoutTheirPadding) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(30, 0, -1, 1, Count(40, 11));
  file.Auxtrace(0, 0, -1, 1, Count(1, 13));
  file.Auxtrace(13, 0, -1, 1, Count(20, 17));
  file.Aux(0, 30, 0, OnCpu(1));
  file.Aux(30, 11, 0, OnCpu(1));
  const Recording recording = Read(file);
  ASSERT_EQ(recording.streams.size(), 1u);
  EXPECT_EQ(BytesOf(recording.streams[0]), Count(1, 13) + Count(20, 17) + Count(40, 11));
  EXPECT_TRUE(recording.streams[0].gaps.empty());
}

TEST(PerfStreams, ZerosThatTheKernelCountsAreNoPadding) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  const Data data = Count(1, 12) + Data(4);
  file.Aux(0, 16, 0, OnCpu(1));
  file.Auxtrace(0, 0, -1, 1, data);
  EXPECT_EQ(BytesOf(Read(file).streams.at(0)), data);
}

TEST(PerfStreams, WithoutAuxRecordsTheLastPaddingStays) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(0, 0, -1, 1, Count(1, 13));
  EXPECT_EQ(BytesOf(Read(file).streams.at(0)), Count(1, 13) + Data(3));
}

TEST(PerfStreams, OneStreamPerBufferInTheBuffersOrder) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  for (uint32_t idx = 300; idx-- > 0;) {
    file.Auxtrace(0, idx, -1, static_cast<int32_t>(idx), Count(static_cast<uint8_t>(idx), 8));
  }
  const Recording recording = Read(file);
  ASSERT_EQ(recording.streams.size(), 300u);
  for (uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(recording.streams[i].index, i);
    EXPECT_EQ(recording.streams[i].cpu, static_cast<int32_t>(i));
    EXPECT_EQ(BytesOf(recording.streams[i]), Count(static_cast<uint8_t>(i), 8));
  }
}

TEST(PerfStreams, MissingBytesAreAGap) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  file.Auxtrace(0x30, 0, -1, 1, Count(50, 8));
  const Recording recording = Read(file);
  const Stream& stream = recording.streams.at(0);
  EXPECT_EQ(stream.bytes.size(), 24u);
  ASSERT_EQ(stream.gaps.size(), 1u);
  EXPECT_EQ(stream.gaps[0].offset, 16u);
  EXPECT_EQ(stream.gaps[0].reason, "32 bytes of AUX data missing: offsets 0x10 to 0x30");
}

TEST(PerfStreams, OverlapIsKeptAndAGap) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  file.Auxtrace(12, 0, -1, 1, Count(50, 8));  // 4 bytes that are no padding
  const Recording recording = Read(file);
  const Stream& stream = recording.streams.at(0);
  EXPECT_EQ(BytesOf(stream), Count(1, 16) + Count(50, 8));
  ASSERT_EQ(stream.gaps.size(), 1u);
  EXPECT_EQ(stream.gaps[0].offset, 16u);
  EXPECT_NE(stream.gaps[0].reason.find("overlaps"), std::string::npos);
}

// A record that is there twice, and one that begins with the end of another: nothing is decoded
// twice.
TEST(PerfStreams, WhatIsSaidTwiceIsReadOnce) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(16, 0, -1, 1, Count(17, 16));
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  file.Auxtrace(24, 0, -1, 1, Count(25, 16));
  const Recording recording = Read(file);
  const Stream& stream = recording.streams.at(0);
  EXPECT_EQ(BytesOf(stream), Count(1, 40));
  EXPECT_TRUE(stream.gaps.empty());
  EXPECT_EQ(stream.repeated_bytes, 24u);
  EXPECT_TRUE(Warns(recording, "overlap: 24 bytes"));
}

// One buffer, two CPUs: the data of the second is not the first one's, and perhaps not its own.
TEST(PerfStreams, BufferOfAnotherCpuThanBefore) {
  for (const bool per_thread : {false, true}) {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    const auto add = [&](uint64_t offset, int32_t who) {
      file.Auxtrace(offset, 0, per_thread ? who : -1, per_thread ? -1 : who, Count(1, 16));
    };
    add(0, 1);
    const uint64_t at = file.NextOffset();
    add(16, 3);
    add(16, 1);
    add(32, 3);
    const Recording recording = Read(file);
    ASSERT_EQ(recording.streams.size(), 2u);
    EXPECT_EQ(recording.streams[0].bytes.size(), 32u);
    EXPECT_TRUE(recording.streams[0].gaps.empty());
    EXPECT_EQ(recording.streams[1].bytes.size(), 32u);
    EXPECT_EQ(recording.streams[1].cpu, -1);
    EXPECT_EQ(recording.streams[1].tid, -1);
    ASSERT_EQ(recording.warnings.size(), 1u);
    char place[32];
    std::snprintf(place, sizeof place, "at offset 0x%llx", static_cast<unsigned long long>(at));
    EXPECT_TRUE(Warns(recording, place));
    EXPECT_TRUE(Warns(recording, per_thread ? "is of thread 3, the earlier ones declared thread 1"
                                            : "is of CPU 3, the earlier ones declared CPU 1"));
    EXPECT_TRUE(Warns(recording, "so do 1 more"));
  }
}

TEST(PerfStreams, TruncatedFlagIsAGapBehindTheRecordsData) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Aux(0, 16, kAuxTruncated, OnCpu(1));
  file.Aux(16, 16, 0, OnCpu(1));
  file.Aux(0, 8, kAuxTruncated, OnCpu(0));
  file.Auxtrace(0, 0, -1, 0, Count(1, 8));
  file.Auxtrace(0, 1, -1, 1, Count(1, 24));
  file.Auxtrace(24, 1, -1, 1, Count(90, 8));
  const Recording recording = Read(file);
  ASSERT_EQ(recording.streams.size(), 2u);
  ASSERT_EQ(recording.streams[0].gaps.size(), 1u);
  EXPECT_EQ(recording.streams[0].gaps[0].offset, 8u);
  ASSERT_EQ(recording.streams[1].gaps.size(), 1u);
  EXPECT_EQ(recording.streams[1].gaps[0].offset, 16u);
  EXPECT_NE(recording.streams[1].gaps[0].reason.find("truncated"), std::string::npos);
}

TEST(PerfStreams, TruncatedBetweenPiecesIsOneGap) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Aux(0, 16, kAuxTruncated, OnCpu(1));
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  file.Auxtrace(64, 0, -1, 1, Count(1, 16));
  const Recording recording = Read(file);
  const Stream& stream = recording.streams.at(0);
  ASSERT_EQ(stream.gaps.size(), 1u);
  EXPECT_EQ(stream.gaps[0].offset, 16u);
}

TEST(PerfStreams, RecordedDataThatTheFileLacksIsAGapAtTheEnd) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  file.Aux(0, 48, 0, OnCpu(1));
  const Recording recording = Read(file);
  const Stream& stream = recording.streams.at(0);
  ASSERT_EQ(stream.gaps.size(), 1u);
  EXPECT_EQ(stream.gaps[0].offset, 16u);
  EXPECT_EQ(stream.gaps[0].reason, "32 bytes of AUX data at the end are not in the file");
}

TEST(PerfStreams, PerThreadBuffersKnowTheirThread) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Fork(42, 43, 42, 42, OfThread(42));
  file.Auxtrace(0, 0, 42, -1, Count(1, 8));
  file.Auxtrace(0, 1, 43, -1, Count(1, 16));
  file.Auxtrace(0, 2, 99, -1, Count(1, 16));
  const Recording recording = Read(file);
  ASSERT_EQ(recording.streams.size(), 3u);
  EXPECT_EQ(recording.streams[0].tid, 42);
  EXPECT_EQ(recording.streams[0].pid, 42);
  EXPECT_EQ(recording.streams[1].tid, 43);
  EXPECT_EQ(recording.streams[1].pid, 42);
  EXPECT_EQ(recording.streams[2].tid, 99);
  EXPECT_EQ(recording.streams[2].pid, -1);
  for (const Stream& stream : recording.streams) EXPECT_EQ(stream.cpu, -1);
}

TEST(PerfStreams, AuxRecordOfAThreadBelongsToItsBuffer) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Auxtrace(0, 0, 42, -1, Count(1, 16));
  file.Auxtrace(0, 1, 43, -1, Count(1, 16));
  file.Aux(0, 8, kAuxTruncated, OfThread(43));
  const Recording recording = Read(file);
  EXPECT_TRUE(recording.streams.at(0).gaps.empty());
  EXPECT_EQ(recording.streams.at(1).gaps.size(), 1u);
}

// The kernel names whoever ran when it wrote the record; here always the first thread.
TEST(PerfStreams, AuxRecordDirectlyBeforeThePieceItEndsBelongsThere) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Aux(0, 13, kAuxTruncated, OfThread(42));
  file.Auxtrace(0, 1, 43, -1, Count(1, 13));
  file.Aux(0, 25, 0, OfThread(42));
  file.Auxtrace(0, 0, 42, -1, Count(1, 25));
  const Recording recording = Read(file);
  EXPECT_EQ(recording.streams.at(0).bytes.size(), 25u);
  EXPECT_TRUE(recording.streams.at(0).gaps.empty());
  EXPECT_EQ(recording.streams.at(1).bytes.size(), 13u);
  EXPECT_EQ(recording.streams.at(1).gaps.size(), 1u);
}

// perf names the first traced thread for a per-CPU buffer too.
TEST(PerfStreams, PerCpuBufferOfASingleThread) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Comm(42, 42, "a", true, OnCpu(1));
  file.KernelRecord(kRecordSwitchCpuWide, 0, support::FieldWriter().U32(1).U32(1),
                    {1000, 77, 77, 1, 102});
  file.Auxtrace(0, 0, 42, 1, Count(1, 8));
  const Recording recording = Read(file);
  const Stream& stream = recording.streams.at(0);
  EXPECT_EQ(stream.cpu, 1);
  EXPECT_EQ(stream.pid, 42);
  EXPECT_EQ(stream.tid, 42);
}

TEST(PerfStreams, PerCpuBufferOfSeveralThreadsOrProcesses) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Comm(42, 42, "a", true, OnCpu(1));
  file.Fork(42, 43, 42, 42, OnCpu(1));
  file.Auxtrace(0, 0, 42, 1, Count(1, 8));
  EXPECT_EQ(Read(file).streams.at(0).pid, 42);
  EXPECT_EQ(Read(file).streams.at(0).tid, -1);
  file.Fork(50, 50, 42, 42, OnCpu(1));
  EXPECT_EQ(Read(file).streams.at(0).pid, -1);
  EXPECT_EQ(Read(file).streams.at(0).tid, -1);
}

TEST(PerfStreams, FlagsThatAreNoGapsAreLosses) {
  PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
  file.Aux(0, 8, kAuxPartial, OnCpu(1));
  file.Aux(8, 8, kAuxCollision, OnCpu(1));
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  const Recording recording = Read(file);
  EXPECT_TRUE(recording.streams.at(0).gaps.empty());
  EXPECT_EQ(recording.losses, (std::vector<RecorderLoss>{{LossCause::kAuxPartial, 1},
                                                         {LossCause::kAuxCollision, 1}}));
  EXPECT_TRUE(recording.warnings.empty());
}

TEST(PerfStreams, OtherHardwaresDataIsNotTakenForIntelPt) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, PerfDataBuilder::kUsualSampleType, true, {100}});
  file.AuxtraceInfo({1, 2, 3}, 4);
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  const Recording recording = Read(file);
  EXPECT_TRUE(recording.streams.empty());
  EXPECT_TRUE(Warns(recording, "hardware type 4"));
}

TEST(PerfStreams, DataWithoutInfoIsTakenForIntelPtAndSaidSo) {
  PerfDataBuilder file;
  file.AddEvent({8, 0, PerfDataBuilder::kUsualSampleType, true, {100}});
  file.Auxtrace(0, 0, -1, 1, Count(1, 16));
  const Recording recording = Read(file);
  EXPECT_EQ(recording.streams.size(), 1u);
  EXPECT_TRUE(Warns(recording, "no AUXTRACE_INFO"));
}

TEST(PerfStreams, NoneIsNoError) {
  const Recording recording = Read(PerfDataBuilder::WithIntelPt());
  EXPECT_TRUE(recording.streams.empty());
  EXPECT_TRUE(recording.warnings.empty());
}

}  // namespace
}  // namespace flowback
