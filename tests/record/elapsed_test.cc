// SPDX-License-Identifier: MIT
// Recordings that end before their program does, and the clock.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>

#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

// When a single thread's tracing began and when it ended, in the trace's nanoseconds.
struct Traced {
  uint64_t begin = 0;
  uint64_t end = 0;
};

Traced TracedTime(const Recording& recording) {
  Traced traced;
  for (const auto& record : recording.sideband) {
    if (const auto* start = std::get_if<ItraceStartRecord>(&record)) traced.begin = start->time;
    if (const auto* exit = std::get_if<ExitRecord>(&record)) traced.end = exit->time;
  }
  return traced;
}

// The first stream's, by each engine.
std::vector<FlowSummary> Summaries(const Recording& recording) {
  std::vector<FlowSummary> summaries;
  const auto code = RecordingCode::Load(recording, {});
  EXPECT_TRUE(code);
  if (!code) return summaries;
  for (const auto engine : DecoderNames()) {
    const auto decoder = MakeDecoder(engine);
    DecodeInput input;
    input.bytes = recording.streams.at(0).bytes;
    input.code = &code->ForStream(recording.streams[0]);
    input.config = recording.config;
    input.time = recording.time;
    const auto summary = (*decoder)->Summarize(input);
    EXPECT_TRUE(summary);
    if (summary) summaries.push_back(*summary);
  }
  return summaries;
}

TEST(Limits, InstructionsAreExactAndTheProgramGoesOn) {
  FLOWBACK_NEEDS_PTRACE();
  for (const uint64_t limit : {1, 2, 10, 22, 23, 24}) {
    SCOPED_TRACE(limit);
    Recorder recorder;
    recorder.options().limits.instructions = limit;
    const auto summary = recorder.Run({Program("known")});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->command_status, 0);
    EXPECT_EQ(summary->instructions, std::min<uint64_t>(limit, 23));
    ExpectSameFlow(recorder.File("perf.data"), *summary);
  }
}

TEST(Limits, StopsAllThreads) {
  FLOWBACK_NEEDS_PTRACE();
  for (const uint64_t limit : {30, 100, 200}) {
    SCOPED_TRACE(limit);
    Recorder recorder;
    recorder.options().limits.instructions = limit;
    const auto summary = recorder.Run({Program("threads")});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->command_status, 0);
    // Other threads may end an instruction that they were in.
    EXPECT_GE(summary->instructions, limit);
    EXPECT_LE(summary->instructions, limit + 3);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
  }
}

// The program sleeps in a system call when the time is over, and still runs to its end.
TEST(Limits, DurationEndsASleepingProgramsTraceOnly) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  recorder.options().limits.duration = std::chrono::milliseconds(300);
  const auto summary = recorder.Run({Program("sleeper")});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(WIFEXITED(summary->command_status));
  EXPECT_EQ(WEXITSTATUS(summary->command_status), 7);
  EXPECT_GT(summary->elapsed, std::chrono::milliseconds(900));
  ExpectSameFlow(recorder.File("perf.data"), *summary);
  // Not what it did after it woke.
  EXPECT_LT(summary->instructions, 100u);
}

// The trace's first and last times lie where the wall clock says.
TEST(Clock, TracesTimeIsRealTime) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  const auto summary = recorder.Run({Program("sleeper")});
  ASSERT_TRUE(summary) << summary.error().message();
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  const Traced span = TracedTime(*recording);
  const std::chrono::nanoseconds traced(span.end - span.begin);
  EXPECT_GE(traced, std::chrono::milliseconds(1000));  // it sleeps so long
  EXPECT_LE(traced, summary->elapsed);
}

// Also with periods so long that TMA does not have all of an MTC's bits.
TEST(Clock, DecodedTimesLieInsideTheRecording) {
  FLOWBACK_NEEDS_PTRACE();
  for (const uint8_t mtc_shift : {3, 8, 9, 14, 15}) {
    SCOPED_TRACE(+mtc_shift);
    Recorder recorder;
    recorder.options().packets.mtc_shift = mtc_shift;
    const auto recorded = recorder.Run({Program("recursion")});
    ASSERT_TRUE(recorded) << recorded.error().message();
    const auto recording = OpenFile(recorder.File("perf.data"));
    ASSERT_TRUE(recording) << recording.error().message();
    const Traced traced = TracedTime(*recording);
    for (const FlowSummary& summary : Summaries(*recording)) {
      const uint64_t first = recording->time.ToNanoseconds(summary.first_tsc);
      const uint64_t last = recording->time.ToNanoseconds(summary.last_tsc);
      EXPECT_GE(first, traced.begin);
      EXPECT_LE(last, traced.end);
      // It works all the time, so that the last MTC or TSC is near its end.
      EXPECT_GE(last, traced.begin + (traced.end - traced.begin) / 2);
    }
  }
}

TEST(Signals, TheCallersAreAsBefore) {
  FLOWBACK_NEEDS_PTRACE();
  struct sigaction before, after;
  sigaction(SIGINT, nullptr, &before);
  Recorder recorder;
  ASSERT_TRUE(recorder.Run({Program("known")}));
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

}  // namespace
}  // namespace flowback::record_test
