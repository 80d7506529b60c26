// SPDX-License-Identifier: MIT
// A thread's times never go back from one stay to the next, in any recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <variant>

#include "decode/pt/packets/packet.h"
#include "flowback/replay/threads.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// The first and last time that a stay's flow has.
class Times final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override { Note(run.tsc); }
  void OnEvent(const TraceEvent& event) override { Note(event.tsc); }
  void OnLoss(const DataLoss& loss) override { Note(loss.tsc); }

  uint64_t first = ~uint64_t{0};
  uint64_t last = 0;

 private:
  void Note(uint64_t tsc) {
    if (tsc == 0) return;
    first = std::min(first, tsc);
    last = std::max(last, tsc);
  }
};

// How many stays there are that have times.
size_t ExpectOrder(OpenedPerf& opened, const std::string& engine) {
  const std::unique_ptr<Decoder> decoder = Engine(engine);
  if (decoder == nullptr) return 0;
  opened.inputs->set_times(true);
  size_t stays = 0;
  for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs)) {
    if (flow.tid < 0) continue;
    uint64_t reached = 0;
    for (const FlowPiece& piece : flow.pieces) {
      Times times;
      EXPECT_TRUE(DecodePiece(piece, *opened.inputs, *decoder, times));
      if (times.last == 0) continue;
      ++stays;
      EXPECT_GE(times.first, reached)
          << engine << ": thread " << flow.tid << ", stream " << piece.stream->index << " at "
          << piece.begin << ": back by " << reached - times.first << " ticks";
      reached = std::max(reached, times.last);
    }
  }
  return stays;
}

std::vector<uint8_t> Without(Bytes stream, bool mtc) {
  std::vector<uint8_t> rest;
  pt::PebsState pebs;
  pt::Packet packet;
  for (size_t at = 0; at < stream.size();) {
    const pt::ReadResult size = pt::ReadPacket(stream.subspan(at), pebs, packet);
    if (!size) break;
    const bool drop =
        std::holds_alternative<pt::Cyc>(packet) || (mtc && std::holds_alternative<pt::Mtc>(packet));
    if (!drop) rest.insert(rest.end(), stream.begin() + at, stream.begin() + at + *size);
    at += *size;
  }
  return rest;
}

class StayOrder : public ::testing::TestWithParam<PerfRecording> {};

TEST_P(StayOrder, IsThatOfTheTimes) {
  for (const char* engine : {"native", "libipt"}) {
    OpenedPerf opened;
    ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), {}, opened));
    const size_t stays = ExpectOrder(opened, engine);
    std::printf("%s, %s: %zu stays\n", GetParam().name.c_str(), engine, stays);
  }
}

TEST_P(StayOrder, IsThatOfFewerTimesToo) {
  for (const bool mtc : {false, true}) {
    SCOPED_TRACE(mtc ? "TSC alone" : "without CYC");
    OpenedPerf opened;
    ASSERT_NO_FATAL_FAILURE(OpenPerf(
        GetParam(), [&](const Stream& stream) { return Without(stream.bytes, mtc); }, opened));
    ExpectOrder(opened, "native");
  }
}

std::vector<PerfRecording> AllRecordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  std::erase_if(recordings,
                [](const PerfRecording& recording) { return recording.name.starts_with("big-"); });
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StayOrder);
INSTANTIATE_TEST_SUITE_P(Recordings, StayOrder, ::testing::ValuesIn(AllRecordings()),
                         [](const auto& test) { return TestName(test.param.name); });

}  // namespace
}  // namespace flowback::golden
