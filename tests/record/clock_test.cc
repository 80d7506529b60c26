// SPDX-License-Identifier: MIT
// The instruction clock: the same program has the same trace and the same times.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <tuple>

#include "capture/record/generate/thread_clock.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

using record::ThreadClock;
using record::TraceClock;

TEST(InstructionClock, AdvancesByWhatThreadsExecutedAndByRecords) {
  std::atomic<uint64_t> ticks = 0;
  const TraceClock clock = TraceClock::OfInstructions(ticks);
  uint64_t first = 0, second = 0;
  ThreadClock one(clock, first), other(clock, second);
  const uint64_t begin = clock.Now();
  EXPECT_EQ(begin, TraceClock::kFirstTick);
  first = 10;
  EXPECT_EQ(one.Now(), begin + 10);
  EXPECT_EQ(one.Now(), begin + 10);
  second = 5;
  EXPECT_EQ(other.Now(), begin + 15);
  EXPECT_EQ(other.Tick(), begin + 16);
  first = 11;
  EXPECT_EQ(one.Tick(), begin + 18);
  EXPECT_EQ(clock.Now(), begin + 18);
  EXPECT_EQ(clock.ToNanoseconds(clock.Now()), begin + 18);
}

// What the recording says of times, without what changes each time: the ids, and when the recorder
// took the trace.
std::vector<std::tuple<uint64_t, size_t, std::string>> Times(const Recording& recording) {
  std::vector<std::tuple<uint64_t, size_t, std::string>> times;
  for (const SidebandRecord& record : recording.sideband) {
    if (std::holds_alternative<AuxRecord>(record)) continue;
    const auto* map = std::get_if<MmapRecord>(&record);
    const std::string path = map == nullptr ? "" : map->path + " " + std::to_string(map->address);
    std::visit([&](const auto& base) { times.emplace_back(base.time, record.index(), path); },
               record);
  }
  return times;
}

struct Case {
  const char* name;
  const char* engine;
  std::vector<std::string> command;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class Repeated : public testing::TestWithParam<Case> {};

TEST_P(Repeated, IsTheSame) {
  const Case& test = GetParam();
  std::vector<uint8_t> bytes;
  std::vector<std::tuple<uint64_t, size_t, std::string>> times;
  for (int run = 0; run < 2; ++run) {
    Recorder recorder;
    if (std::string(test.engine) == "emulate") {
      FLOWBACK_NEEDS_EMULATOR();
      Emulate(recorder.options());
    } else {
      FLOWBACK_NEEDS_PTRACE();
    }
    recorder.options().streams.clock = RecordClock::kInstructions;
    recorder.options().packets.mtc_shift = 3;
    recorder.options().packets.psb_period_bytes = 2048;
    const auto summary = recorder.Run(test.command);
    ASSERT_TRUE(summary) << summary.error().message();
    if (!summary->notes.empty()) GTEST_SKIP() << summary->notes[0];
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    const auto recording = OpenFile(recorder.File("perf.data"));
    ASSERT_TRUE(recording) << recording.error().message();
    EXPECT_NE(recording->machine.recorder.find("instruction clock"), std::string::npos);
    EXPECT_TRUE(recording->machine.emulated);
    ASSERT_EQ(recording->streams.size(), 1u);
    const Bytes now = recording->streams[0].bytes;
    if (run == 0) {
      bytes.assign(now.begin(), now.end());
      times = Times(*recording);
      EXPECT_GE(times.size(), 4u);
    } else {
      EXPECT_TRUE(std::ranges::equal(bytes, now)) << bytes.size() << " and " << now.size();
      EXPECT_EQ(times, Times(*recording));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Repeated,
    testing::Values(Case{"EmulatedCxx", "emulate", {Sample("exceptions")}},
                    Case{"EmulatedGzip", "emulate", {"/bin/gzip", "-c", "/etc/passwd"}},
                    Case{"SteppedSmall", "step", {Program("recursion")}},
                    Case{"SteppedDynamic", "step", {Sample("recursion")}}),
    [](const auto& test) { return std::string(test.param.name); });

// A child begins behind what its parent did before, and an exec'd program behind what its thread
// did: no two programs share a time.
TEST(InstructionClock, KeepsTheOrderBetweenProcesses) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  recorder.options().streams.clock = RecordClock::kInstructions;
  const auto summary = recorder.Run({"/bin/sh", "-c", "ls / | /bin/cat; exec /bin/true"});
  ASSERT_TRUE(summary) << summary.error().message();
  ExpectSameFlow(recorder.File("perf.data"), *summary);
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  std::map<int32_t, uint64_t> forked;
  uint64_t last = 0;
  uint64_t events = 0;  // how many pieces of trace are written depends on the machine's load
  for (const SidebandRecord& record : recording->sideband) {
    const auto& base =
        std::visit([](const SidebandBase& b) -> const SidebandBase& { return b; }, record);
    events += std::holds_alternative<AuxRecord>(record) ? 0 : 1;
    EXPECT_GE(base.time, last);
    last = base.time;
    if (std::holds_alternative<ForkRecord>(record)) forked.emplace(base.tid, base.time);
  }
  EXPECT_EQ(forked.size(), summary->threads.size() - 1);
  // It ticks for events, too: for most records once, for some twice, and for mappings of data and
  // those that end, which have no record. A loader makes and ends a few for each with code.
  EXPECT_LE(last, TraceClock::kFirstTick + summary->instructions + 8 * events);
}

TEST(InstructionClock, PerfReadsTheSameFlow) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_PERF();
  for (const auto& command :
       {std::vector<std::string>{Program("execs"), Program("recursion")}, {Sample("threads")}}) {
    SCOPED_TRACE(command[0]);
    Recorder recorder;
    Emulate(recorder.options());
    recorder.options().streams.clock = RecordClock::kInstructions;
    const auto summary = recorder.Run(command);
    ASSERT_TRUE(summary) << summary.error().message();
    std::string problem;
    const auto digests = PerfScriptDigests(recorder.File("perf.data"), *summary, problem);
    ASSERT_EQ(digests.size(), summary->threads.size()) << problem;
    for (size_t i = 0; i < digests.size(); ++i)
      EXPECT_EQ(digests[i], summary->threads[i].digest) << "stream " << i;
  }
}

}  // namespace
}  // namespace flowback::record_test
