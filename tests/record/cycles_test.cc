// SPDX-License-Identifier: MIT
// CYC packets: the decoders find from them when the instructions ran. On the instruction clock that
// is known: an instruction ends at the first known time, and one tick later for each before it.
#include <gtest/gtest.h>

#include <algorithm>

#include "capture/record/generate/trace_clock.h"
#include "flowback/decode/recording_code.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"
#include "tests/support/flow_of.h"

namespace flowback::record_test {
namespace {

using record::TraceClock;

struct Timed {
  uint64_t tsc = 0;
  TscInterval bounds;
  bool indirect = false;  // the last of its block, with a target in a packet
};

std::vector<Timed> Times(const Recording& recording, std::string_view engine) {
  std::vector<Timed> times;
  const auto code = RecordingCode::Load(recording, {});
  EXPECT_TRUE(code);
  const auto decoder = MakeDecoder(engine);
  EXPECT_TRUE(decoder);
  for (const Stream& stream : recording.streams) {
    DecodeInput input;
    input.bytes = stream.bytes;
    input.code = &code->ForStream(stream);
    input.config = recording.config;
    input.time = recording.time;
    input.times = true;
    ForEachInstruction(FlowOf(**decoder, input), [&](const BlockRun& run, size_t i, uint64_t) {
      const bool left = i + 1 == run.lengths.size() && run.exit == BlockExit::kTaken;
      const bool told = run.last == InstructionClass::kReturn || IsIndirect(run.last);
      times.push_back({run.TscOf(i), run.BoundsOf(i), left && told});
    });
  }
  return times;
}

// Every record before the start took a tick.
uint64_t StartOf(const Recording& recording) {
  uint64_t records = 0;
  for (const SidebandRecord& record : recording.sideband)
    records +=
        !std::holds_alternative<AuxRecord>(record) && !std::holds_alternative<ExitRecord>(record);
  return records;
}

class Cycles : public testing::TestWithParam<const char*> {
 protected:
  void Use(const std::string& engine) {
    recorder_.options().engine = engine;
    if (engine == "emulate") Emulate(recorder_.options());
    recorder_.options().streams.clock = RecordClock::kInstructions;
    recorder_.options().packets.psb_period_bytes = 2048;
    recorder_.options().packets.mtc_shift = 3;
    recorder_.options().packets.cyc_threshold = 0;
    recorder_.options().packets.return_compression = false;
  }
  Recorder recorder_;
};

TEST_P(Cycles, TellWhenEachInstructionRan) {
  const std::string engine = GetParam();
  if (engine == "emulate") FLOWBACK_NEEDS_EMULATOR();
  if (engine == "step") FLOWBACK_NEEDS_PTRACE();
  Use(engine);
  const auto summary = recorder_.Run({Program("recursion")});
  ASSERT_TRUE(summary) << summary.error().message();
  ExpectSameFlow(recorder_.File("perf.data"), *summary);
  const auto recording = OpenFile(recorder_.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  const uint64_t start = TraceClock::kFirstTick + StartOf(*recording);
  const auto times = Times(*recording, "native");
  ASSERT_EQ(times.size(), summary->instructions);
  size_t told = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const uint64_t truth = start + i + 1;
    EXPECT_LE(times[i].bounds.lo, truth) << "instruction " << i;
    EXPECT_TRUE(times[i].bounds.hi == 0 || times[i].bounds.hi >= truth) << "instruction " << i;
    told += times[i].indirect;
    // A target in a packet has a CYC of its own.
    EXPECT_TRUE(!times[i].indirect || times[i].tsc == truth)
        << "instruction " << i << ": " << times[i].tsc;
  }
  EXPECT_GT(told, 10u);
}

// libipt returns the last time it read: behind a branch with a packet of its own, that of the
// branch.
TEST_P(Cycles, LibiptAgrees) {
  const std::string engine = GetParam();
  if (engine == "emulate") FLOWBACK_NEEDS_EMULATOR();
  if (engine == "step") FLOWBACK_NEEDS_PTRACE();
  if (!MakeDecoder("libipt")) GTEST_SKIP() << "this build has no libipt";
  Use(engine);
  const auto summary = recorder_.Run({Program("recursion")});
  ASSERT_TRUE(summary) << summary.error().message();
  const auto recording = OpenFile(recorder_.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  const uint64_t start = TraceClock::kFirstTick + StartOf(*recording);
  const auto times = Times(*recording, "libipt");
  ASSERT_EQ(times.size(), summary->instructions);
  size_t told = 0;
  // Behind the last one it has read on to where tracing ends.
  size_t last = times.size();
  while (last > 0 && !times[last - 1].indirect) --last;
  for (size_t i = 0; i + 1 < last; ++i) {
    if (!times[i].indirect) continue;
    ++told;
    EXPECT_EQ(times[i + 1].tsc, start + i + 1) << "instruction " << i;
  }
  EXPECT_GT(told, 10u);
}

struct RealProgram {
  const char* name;
  std::vector<std::string> command;
  uint8_t threshold;
};
void PrintTo(const RealProgram& test, std::ostream* out) { *out << test.name; }

class CyclesOf : public testing::TestWithParam<RealProgram> {};

TEST_P(CyclesOf, RealProgramsCostNoFlow) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  recorder.options().packets.cyc_threshold = GetParam().threshold;
  recorder.options().packets.mtc_shift = 3;
  const auto summary = recorder.Run(GetParam().command);
  ASSERT_TRUE(summary) << summary.error().message();
  ExpectSameFlow(recorder.File("perf.data"), *summary);
  FLOWBACK_NEEDS_PERF();
  std::string problem;
  const auto digests = PerfScriptDigests(recorder.File("perf.data"), *summary, problem);
  ASSERT_EQ(digests.size(), summary->threads.size()) << problem;
  for (size_t i = 0; i < digests.size(); ++i)
    EXPECT_EQ(digests[i], summary->threads[i].digest) << "stream " << i;
}

INSTANTIATE_TEST_SUITE_P(, CyclesOf,
                         testing::Values(RealProgram{"Exceptions", {Sample("exceptions")}, 0},
                                         RealProgram{"Threads", {Sample("threads")}, 0},
                                         RealProgram{"Signals", {Sample("signals")}, 6},
                                         RealProgram{"Faults", {Program("faults")}, 12},
                                         RealProgram{
                                             "Execs", {Program("execs"), Program("known")}, 0}),
                         [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(, Cycles, testing::Values("emulate", "step"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback::record_test
