// SPDX-License-Identifier: MIT
// Streams of virtual CPUs: each thread's flow is found again in them.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"
#include "tests/support/places.h"

namespace flowback::record_test {
namespace {

using Digests = std::map<int, FlowDigest>;  // by tid

Digests TruthOf(const RecordSummary& summary) {
  Digests truth;
  for (const RecordedThread& thread : summary.threads)
    if (thread.digest.count != 0) truth[thread.tid] = thread.digest;
  return truth;
}

// Returns the digests of `decode --as digest`, which finds no loss.
Digests Decoded(const std::string& file, const std::string& engine) {
  const std::string command = ProgramFile() + " decode --strict --as digest --engine " + engine +
                              " '" + file + "' 2>'" + file + ".messages'";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  Digests digests;
  char who[32];
  unsigned long count = 0, hash = 0;
  while (std::fscanf(pipe.get(), "%31s %lu %lx", who, &count, &hash) == 3)
    digests[std::atoi(who)] = {.count = count, .hash = hash};  // 0: nobody's
  EXPECT_EQ(pclose(pipe.release()), 0) << engine;
  return digests;
}

void ExpectEachThreadsFlow(const std::string& file, const RecordSummary& summary) {
  for (const auto engine : DecoderNames())
    EXPECT_EQ(Decoded(file, std::string(engine)), TruthOf(summary)) << engine;
  const auto recording = OpenFile(file);
  ASSERT_TRUE(recording) << recording.error().message();
  for (const Warning& warning : recording->warnings) ADD_FAILURE() << warning.text;
  uint64_t bytes = 0;
  for (const Stream& stream : recording->streams) {
    EXPECT_GE(stream.cpu, 0);
    bytes += stream.bytes.size();
  }
  EXPECT_EQ(bytes, summary.bytes);
}

void ExpectPerfsFlow(const std::string& file, const RecordSummary& summary) {
  FLOWBACK_NEEDS_PERF();
  std::string problem;
  const auto listed = PerfScriptDigests(file, summary, problem);
  ASSERT_EQ(listed.size(), summary.threads.size()) << problem;
  for (size_t i = 0; i < listed.size(); ++i)
    EXPECT_EQ(listed[i], summary.threads[i].digest) << "thread " << i;
}

struct Case {
  const char* name;
  std::vector<std::string> command;
  // perf ignores the recorder's counts, so it counts one round of a loop without packets.
  bool perf_tells_all = true;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class PerCpu : public testing::TestWithParam<Case> {
 protected:
  PerCpu() {
    Emulate(recorder_.options());
    recorder_.options().streams.per_cpu = true;
  }
  Recorder recorder_;
};

TEST_P(PerCpu, TellsThreadsApart) {
  FLOWBACK_NEEDS_EMULATOR();
  const auto summary = recorder_.Run(GetParam().command);
  ASSERT_TRUE(summary) << summary.error().message();
  ExpectEachThreadsFlow(recorder_.File("perf.data"), *summary);
  if (GetParam().perf_tells_all) ExpectPerfsFlow(recorder_.File("perf.data"), *summary);
}

TEST_P(PerCpu, TellsThreadsApartByCountsToo) {
  FLOWBACK_NEEDS_EMULATOR();
  recorder_.options().streams.clock = RecordClock::kInstructions;
  recorder_.options().packets.cyc_threshold = 0;
  recorder_.options().packets.mtc_shift = 3;
  const auto summary = recorder_.Run(GetParam().command);
  ASSERT_TRUE(summary) << summary.error().message();
  ExpectEachThreadsFlow(recorder_.File("perf.data"), *summary);
  if (GetParam().perf_tells_all) ExpectPerfsFlow(recorder_.File("perf.data"), *summary);
}

INSTANTIATE_TEST_SUITE_P(
    , PerCpu,
    testing::Values(Case{"Threads", {Sample("threads")}},
                    Case{"Exceptions", {Sample("exceptions")}},
                    Case{"Signals", {Sample("signals")}}, Case{"Crash", {Sample("crash")}},
                    Case{"Killed", {Program("killed")}},
                    Case{"EndlessRecursion", {Program("loops"), "three"}, false},
                    Case{"EndlessLoops", {Program("loops"), "other-thread"}, false},
                    Case{"ForkAndExec", {Program("execs"), Program("known")}},
                    Case{"Shell", {"/bin/sh", "-c", "ls / | /bin/cat; exec /bin/true"}}),
    [](const auto& test) { return std::string(test.param.name); });

// The threads have said that they end, and their CPUs were others' for a while.
TEST(PerCpuThreads, GoOnBehindAnExecveThatFails) {
  FLOWBACK_NEEDS_EMULATOR();
  for (int i = 0; i < 2; ++i) {
    Recorder recorder;
    Emulate(recorder.options());
    recorder.options().streams.per_cpu = true;
    const auto summary = recorder.Run({Program("ends"), "failing_exec", Program("known")});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->threads.size(), 4u);
    ExpectEachThreadsFlow(recorder.File("perf.data"), *summary);
  }
}

// The calling thread, and what it starts, has one CPU.
class OneCpu {
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t only;
    CPU_ZERO(&only);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&only) == 0; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &only);
    sched_setaffinity(0, sizeof only, &only);
  }
  ~OneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

TEST(PerCpuOnOne, ManyTakeTurns) {
  FLOWBACK_NEEDS_EMULATOR();
  const OneCpu one;
  Recorder recorder;
  Emulate(recorder.options());
  recorder.options().streams.per_cpu = true;
  const auto summary = recorder.Run(
      {"/bin/sh", "-c",
       "for i in 1 2 3; do (n=0; while [ $n -lt 100 ]; do n=$((n+1)); done) & done; wait"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->threads.size(), 4u);
  ExpectEachThreadsFlow(recorder.File("perf.data"), *summary);
  ExpectPerfsFlow(recorder.File("perf.data"), *summary);
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  size_t in = 0;
  for (const SidebandRecord& record : recording->sideband)
    if (const auto* change = std::get_if<SwitchRecord>(&record)) in += !change->out;
  EXPECT_GE(in, summary->threads.size());
}

// A reader takes the CPU of an end for where the thread ran. Threads that a signal ends while
// another one has their CPU are on none.
TEST(PerCpuEnds, AreWhereTheThreadRuns) {
  FLOWBACK_NEEDS_EMULATOR();
  size_t ends = 0;
  for (int i = 0; i < 5; ++i) {
    Recorder recorder;
    Emulate(recorder.options());
    recorder.options().streams.per_cpu = true;
    const auto summary = recorder.Run({Program("ends"), "a"});
    ASSERT_TRUE(summary) << summary.error().message();
    const auto recording = OpenFile(recorder.File("perf.data"));
    ASSERT_TRUE(recording) << recording.error().message();
    std::map<int32_t, int32_t> running;  // thread by CPU
    for (const SidebandRecord& record : recording->sideband) {
      if (const auto* change = std::get_if<SwitchRecord>(&record))
        running[change->cpu] = change->out ? -1 : change->tid;
      const auto* exit = std::get_if<ExitRecord>(&record);
      if (exit == nullptr) continue;
      ++ends;
      if (exit->cpu >= 0) {
        EXPECT_EQ(running[exit->cpu], exit->tid);
      }
    }
  }
  EXPECT_EQ(ends, 5u * 4u);
}

TEST(PerCpuErrors, WhereStreamsOfCpusCannotBe) {
  const auto refused = [](auto change, const char* words) {
    ExpectRefused(
        [&](Recorder& recorder) {
          recorder.options().engine = "emulate";
          recorder.options().streams.per_cpu = true;
          change(recorder);
        },
        words);
  };
  const auto without_times = [](Recorder& recorder) {
    recorder.options().packets.timestamps = false;
    recorder.options().packets.mtc_shift.reset();
  };
  refused([](Recorder& recorder) { recorder.options().engine = "step"; }, "'step'");
  refused(without_times, "TSC");
  refused([](Recorder& recorder) { recorder.options().files.raw_directory = recorder.File("raw"); },
          "raw");
}

}  // namespace
}  // namespace flowback::record_test
