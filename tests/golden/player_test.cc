// SPDX-License-Identifier: MIT
// Every generated recording, played on any number of threads: each thread's flow equals the decode
// of each of its stays by itself.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flowback/replay/time_account.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/plays.h"

namespace flowback::golden {
namespace {

class PlayerTest : public ::testing::TestWithParam<PerfRecording> {
 protected:
  static constexpr uint64_t kLong = 200'000;  // bytes of trace

  void Open(bool times) {
    ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), {}, opened_));
    opened_.inputs->set_times(times);
    flows_ = ThreadFlows(opened_.recording, *opened_.inputs);
  }
  Player NewPlayer(const std::string& engine, const plays::Setting& setting,
                   const RecordingClock* clock = nullptr) const {
    return Player(*opened_.inputs,
                  [engine]() -> Result<std::unique_ptr<Decoder>> { return Engine(engine); },
                  {.threads = setting.threads,
                   .in_flight = setting.in_flight,
                   .segment_items = setting.segment_items,
                   .clock = clock});
  }
  std::vector<uint64_t> OneByOne(const std::string& engine) const {
    const std::unique_ptr<Decoder> decoder = Engine(engine);
    deliveries::PieceNumbers numbers;
    for (const ThreadFlow& flow : flows_)
      for (const FlowPiece& piece : flow.pieces)
        EXPECT_TRUE(DecodePiece(piece, *opened_.inputs, *decoder, numbers));
    return numbers.numbers();
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const Stream& stream : opened_.recording.streams) bytes += stream.bytes.size();
    return bytes;
  }
  // libipt goes over what lies before again for each segment, so it plays long recordings once, in
  // segments of the usual size; the shorter ones show the rest.
  std::span<const plays::Setting> SettingsFor(const std::string& engine) const {
    const std::span<const plays::Setting> all = plays::kSettings;
    return engine == "libipt" && Bytes() > kLong ? all.subspan(2, 1) : all;
  }
  void ExpectSame(const std::string& engine, bool times) {
    SCOPED_TRACE(engine + (times ? " with times" : " without times"));
    if (Engine(engine) == nullptr) return;
    ASSERT_NO_FATAL_FAILURE(Open(times));
    const std::vector<uint64_t> one_by_one = OneByOne(engine);
    EXPECT_FALSE(one_by_one.empty());
    for (const plays::Setting& setting : SettingsFor(engine)) {
      SCOPED_TRACE(std::to_string(setting.threads) + " threads");
      plays::ExpectTold(plays::Play(NewPlayer(engine, setting), flows_), one_by_one);
    }
  }

  OpenedPerf opened_;
  std::vector<ThreadFlow> flows_;
};

TEST_P(PlayerTest, TellsWhatEachStayTells) { ExpectSame("native", false); }
TEST_P(PlayerTest, TellsWhatEachStayTellsWithTimes) { ExpectSame("native", true); }
TEST_P(PlayerTest, TellsWhatEachStayTellsByLibipt) { ExpectSame("libipt", false); }

// Reads a piece by so many bytes, each time with a new reader that goes on from the last one's
// state, as a listing by time does whose pieces rest in between.
void ReadInTurns(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder,
                 uint64_t bytes, ExecutionConsumer& consumer) {
  std::shared_ptr<const FlowReader::State> state;
  for (bool at_end = false; !at_end;) {
    const Result<PieceReader> reader = ReadPiece(piece, inputs, decoder);
    ASSERT_TRUE(reader);
    if (state) reader->flow->Return(*state);
    reader->flow->ReadTo(reader->flow->offset() + bytes, consumer);
    state = reader->flow->Save();
    at_end = reader->flow->at_end();
  }
}

// An engine whose state can't be copied goes over what lies before again in each turn: so these are
// few.
TEST_P(PlayerTest, PiecesReadInTurnsAreWholeByLibipt) {
  const std::unique_ptr<Decoder> decoder = Engine("libipt");
  FLOWBACK_NEEDS_ENGINE(decoder);
  ASSERT_NO_FATAL_FAILURE(Open(false));
  if (Bytes() > kLong) GTEST_SKIP() << "takes a minute; the shorter ones show it";
  deliveries::PieceNumbers numbers;
  for (const ThreadFlow& flow : flows_)
    for (const FlowPiece& piece : flow.pieces)
      ASSERT_NO_FATAL_FAILURE(
          ReadInTurns(piece, *opened_.inputs, *decoder, piece.end / 5 + 50, numbers));
  EXPECT_TRUE(numbers.numbers() == OneByOne("libipt"));
}

TEST_P(PlayerTest, PiecesReadInTurnsAreWhole) {
  const std::unique_ptr<Decoder> decoder = Engine("native");
  for (const bool times : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(Open(times));
    deliveries::PieceNumbers numbers;
    for (const ThreadFlow& flow : flows_)
      for (const FlowPiece& piece : flow.pieces)
        ASSERT_NO_FATAL_FAILURE(
            ReadInTurns(piece, *opened_.inputs, *decoder, piece.end / 20 + 50, numbers));
    EXPECT_TRUE(numbers.numbers() == OneByOne("native"))
        << (times ? "with" : "without") << " times";
  }
}

bool IsKnown(const FlowPiece& piece) {
  return piece.stay->begin_bound != Bound::kOpen && piece.stay->end_bound != Bound::kOpen;
}

// No more comes than the thread's account has, and where it is known from when to when the thread
// was on CPUs, all of it: but for the time before its first stay, which is between no two.
TEST_P(PlayerTest, AbsencesAreOfTheAccount) {
  ASSERT_NO_FATAL_FAILURE(Open(true));
  const RecordingClock clock(opened_.recording);
  if (!clock.has_nanoseconds()) GTEST_SKIP() << "the recording has no nanoseconds";
  const std::unique_ptr<Decoder> decoder = Engine("native");
  const auto accounted = AccountFlow(opened_.recording, *opened_.inputs, *decoder);
  ASSERT_TRUE(accounted);
  const std::vector<TimeAccount>& accounts = accounted->times.threads;
  for (const ThreadFlow& flow : flows_) {
    if (flow.tid < 0) continue;
    const auto account =
        std::ranges::find(accounts, flow.tid, [](const auto& at) { return at.tid; });
    if (account == accounts.end()) continue;
    const plays::Told told = plays::Play(NewPlayer("native", {.threads = 2}, &clock), {flow});
    uint64_t off = 0;
    uint64_t untraced = 0;
    for (const Absence& absence : told.absences())
      (absence.kind == Absence::Kind::kOffCpu ? off : untraced) += absence.end - absence.begin;
    const TimeShare& kernel = account->Of(TimeClass::kKernel);
    EXPECT_LE(off, account->Of(TimeClass::kOffCpu).time);
    EXPECT_LE(off + untraced, account->lifetime());
    if (!std::ranges::all_of(flow.pieces, IsKnown)) continue;
    EXPECT_GE(untraced, kernel.lo);
    EXPECT_LE(untraced, kernel.hi);
    const uint64_t first = flow.pieces.front().stay->begin;
    EXPECT_EQ(off + (first - account->begin), account->Of(TimeClass::kOffCpu).time);
  }
}

std::vector<PerfRecording> Recordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  std::erase_if(recordings,
                [](const PerfRecording& recording) { return recording.name.starts_with("big-"); });
  return recordings;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlayerTest);
INSTANTIATE_TEST_SUITE_P(Recordings, PlayerTest, ::testing::ValuesIn(Recordings()),
                         [](const ::testing::TestParamInfo<PerfRecording>& which) {
                           return TestName(which.param.name);
                         });

TEST(SharedTracesForPlayerTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
