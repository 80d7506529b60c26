// SPDX-License-Identifier: MIT
// The pieces of CPUs' streams as scheduling records divide them: each by itself is what the whole
// stream gives its stay, and no two pieces share a stay.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/decode/recording_code.h"
#include "flowback/replay/threads.h"
#include "flowback/replay/time_account.h"
#include "tests/support/flow_consumers.h"

namespace flowback::testing {
namespace {

constexpr uint64_t kCode = 0x401000;  // SYSCALL; all the code there is

// One nanosecond is one TSC tick. Each run of flow is one instruction.
class CpuPiecesTest : public ::testing::Test {
 protected:
  CpuPiecesTest() {
    recording_.time = {.shift = 0, .mult = 1, .zero = 0};
    code_file_ = std::filesystem::temp_directory_path() /
                 ("cpu_pieces_test." + std::to_string(::getpid()) + ".code");
    std::ofstream(code_file_, std::ios::binary) << "\x0f\x05";
    recording_.sections.push_back({.file = code_file_, .offset = 0, .size = 2, .address = kCode});
  }
  ~CpuPiecesTest() override { std::filesystem::remove(code_file_); }

  // A buffer of CPU 0 with flow between each two of these times.
  void AddStream(const std::vector<std::pair<uint64_t, uint64_t>>& runs) {
    pt::PacketWriter trace;
    trace.Psb();
    trace.Write(pt::Tsc{1});
    trace.Write(pt::PsbEnd{});
    for (const auto& [begin, end] : runs) {
      trace.Write(pt::Tsc{begin - 1});
      trace.TipPge(kCode);
      trace.Write(pt::Tsc{begin + 1});
      trace.Write(pt::Tsc{end - 1});
      trace.TipPgd(std::nullopt);
      trace.Write(pt::Tsc{end + 1});
    }
    auto bytes = std::make_shared<std::vector<uint8_t>>(trace.Take());
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

  // The instructions of each piece that has any, by thread and in order, decoded by itself. Checks
  // that the sums give each piece the same.
  std::vector<std::pair<int32_t, uint64_t>> Pieces() {
    const Result<RecordingCode> code = RecordingCode::Load(recording_, {});
    EXPECT_TRUE(code);
    const StreamInputs inputs(recording_, *code, Resync::kEarliest);
    const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
    std::map<std::pair<const Stream*, const ThreadStay*>, FlowDigest> sums;
    for (const Stream& stream : recording_.streams) {
      const Result<FlowSummary> summary = decoder->Summarize(inputs.For(stream));
      EXPECT_TRUE(summary);
      for (const FlowPart& part : summary->parts)
        sums[{&stream, part.stay}].Append(part.totals.digest);
    }
    std::vector<std::pair<int32_t, uint64_t>> told;
    for (const ThreadFlow& flow : ThreadFlows(recording_, inputs))
      for (const FlowPiece& piece : flow.pieces) {
        FlowDigester alone;
        EXPECT_TRUE(DecodePiece(piece, inputs, *decoder, alone));
        EXPECT_EQ(alone.digest(), (sums[{piece.stream, piece.stay}]))
            << "thread " << flow.tid << ", bytes [" << piece.begin << ", " << piece.end << ")";
        EXPECT_TRUE(seen_.emplace(piece.stream, piece.stay).second) << "a stay of two pieces";
        if (alone.digest().count != 0) told.emplace_back(flow.tid, alone.digest().count);
      }
    return told;
  }

  TimeAccounts Account() {
    const Result<RecordingCode> code = RecordingCode::Load(recording_, {});
    EXPECT_TRUE(code);
    const StreamInputs inputs(recording_, *code, Resync::kEarliest);
    const std::unique_ptr<Decoder> decoder = pt::MakeNativeDecoder();
    return AccountFlow(recording_, inputs, *decoder)->times;
  }

  using Told = std::vector<std::pair<int32_t, uint64_t>>;

  Recording recording_;
  std::filesystem::path code_file_;
  std::set<std::pair<const Stream*, const ThreadStay*>> seen_;
};

TEST_F(CpuPiecesTest, WhatIsAheadOfTheFirstStayAndBehindTheLastAreTwo) {
  AddStream({{20, 40}, {150, 200}, {320, 350}, {500, 550}, {600, 650}});
  Stay(7, 100, 300), Stay(8, 310, 400);
  EXPECT_EQ(Pieces(), (Told{{7, 1}, {8, 1}, {-1, 1}, {-1, 2}}));
}

// Each with most of the stays between two of its runs of flow.
TEST_F(CpuPiecesTest, BuffersOfOneCpuHaveItsStaysInCommon) {
  AddStream({{20, 40}, {150, 200}, {1320, 1350}});
  AddStream({{320, 350}, {1750, 1780}, {1800, 1850}, {1900, 1910}});
  for (uint64_t time = 100; time < 1800; time += 200)
    Stay(7, time, time + 150), Stay(8, time + 160, time + 190);
  EXPECT_EQ(Pieces(), (Told{{7, 1}, {7, 1}, {7, 1}, {7, 2}, {-1, 1}, {-1, 1}}));
}

// Each stay's time comes from the buffer that has its trace, and counted once.
TEST_F(CpuPiecesTest, ATimeOnACpuOfTwoBuffersCountsOnce) {
  AddStream({{150, 200}});
  AddStream({{600, 700}, {1100, 1150}});
  Stay(7, 100, 300), Stay(8, 500, 900), Stay(7, 1000, 1300), Stay(8, 1400, 1500);
  const TimeAccounts accounts = Account();
  ASSERT_EQ(accounts.threads.size(), 2u);
  for (const TimeAccount& account : accounts.threads)
    EXPECT_EQ(account.Sum(), account.lifetime()) << account.tid;
  const auto executing = [&](size_t thread) {
    return accounts.threads[thread].shares[static_cast<size_t>(TimeClass::kExecuting)].time;
  };
  EXPECT_EQ(accounts.threads[0].instructions, 2u);
  EXPECT_NEAR(static_cast<double>(executing(0)), 100, 8);
  EXPECT_NEAR(static_cast<double>(executing(1)), 100, 4);
}

}  // namespace
}  // namespace flowback::testing
