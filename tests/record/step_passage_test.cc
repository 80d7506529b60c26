// SPDX-License-Identifier: MIT
// What the step engine does not record runs at full speed, and nothing else changes by that.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "capture/record/step/break_points.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

constexpr const char* kFew = "10";
// In each of nine loops. Steps would take a day for one of them.
constexpr const char* kMany = "300000000";
constexpr uint64_t kPassage = 9;  // instructions from First to Last

RecordSummary Record(Recorder& recorder, const std::vector<std::string>& command,
                     const std::string& from, const std::string& until) {
  recorder.options().watched.from = from;
  recorder.options().watched.until = until;
  const auto summary = recorder.Run(command);
  EXPECT_TRUE(summary) << summary.error().message();
  return summary ? *summary : RecordSummary();
}

class StepPassage : public testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_PTRACE();
    if (!record::BreakPointsWork()) GTEST_SKIP() << "this machine has no debug registers";
  }
  RecordSummary Run(const std::vector<std::string>& command, const std::string& from,
                    const std::string& until) {
    RecordSummary summary = Record(recorder_, command, from, until);
    for (const std::string& note : summary.notes)
      EXPECT_EQ(note.find("single-stepped"), std::string::npos) << note;
    ExpectSameFlow(recorder_.File("perf.data"), summary);
    return summary;
  }

  Recorder recorder_;
};

void ExpectPassages(const RecordSummary& summary) {
  ASSERT_EQ(summary.threads.size(), 3u);
  EXPECT_EQ(summary.threads[0].digest.count, 2 * kPassage);
  EXPECT_EQ(summary.threads[1].digest.count, 2 * kPassage);  // the second in code mapped meanwhile
  EXPECT_EQ(summary.threads[2].digest.count, kPassage);
  EXPECT_EQ(summary.command_status, 0);
  EXPECT_EQ(summary.losses, 0u);
}

TEST_F(StepPassage, RunsAtFullSpeed) {
  const RecordSummary many = Run({Program("passage"), kMany}, "First", "Last");
  ExpectPassages(many);
  // The loops leave no trace.
  const RecordSummary few = Run({Program("passage"), kFew}, "First", "Last");
  ASSERT_EQ(few.threads.size(), many.threads.size());
  for (size_t i = 0; i < few.threads.size(); ++i)
    EXPECT_EQ(few.threads[i].digest, many.threads[i].digest);
}

// All threads know a function before any of them can come to it.
TEST_F(StepPassage, SeesCodeThatIsMappedMeanwhile) {
  for (const bool one_cpu : {true, false})
    for (int i = 0; i < 20; ++i) {
      recorder_.options().step.one_cpu = one_cpu;
      ExpectPassages(Record(recorder_, {Program("passage"), kFew}, "First", "Last"));
    }
}

// Also behind the last place, where there is no other to come to.
TEST_F(StepPassage, RunsAtFullSpeedBehindTheEnd) {
  const RecordSummary summary = Run({Program("passage"), kMany}, "", "Spin");
  ASSERT_EQ(summary.threads.size(), 3u);
  EXPECT_GT(summary.threads[0].digest.count, 0u);
  EXPECT_EQ(summary.command_status, 0);
}

TEST_F(StepPassage, EndsWithTheRecordingOnly) {
  recorder_.options().limits.duration = std::chrono::milliseconds(50);
  const RecordSummary summary = Record(recorder_, {Program("passage"), kMany}, "Last", "First");
  EXPECT_EQ(summary.stop_reason, StopReason::kDuration);
  // The break points are gone: each would be its end.
  EXPECT_EQ(summary.command_status, 0);
}

TEST_F(StepPassage, OfWhatRunsAlready) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const std::string program = Program("passage");
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[0], STDIN_FILENO);
    execl(program.c_str(), program.c_str(), kMany, "wait", nullptr);
    _exit(127);
  }
  char comm[32] = {};
  for (int i = 0; i < 1000 && std::string(comm) != "passage\n"; ++i) {
    usleep(10000);
    std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/comm").c_str(), "r");
    if (file == nullptr) continue;
    static_cast<void>(std::fgets(comm, sizeof comm, file));
    std::fclose(file);
  }
  // Its threads are traced by the time of the first progress report.
  bool told = false;
  recorder_.options().on_progress = [&](const RecordProgress& progress) {
    if (progress.threads == 0 || std::exchange(told, true)) return;
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  };
  recorder_.options().target.pids = {pid};
  const RecordSummary summary = Run({}, "First", "Last");
  close(ends[0]);
  close(ends[1]);
  ASSERT_TRUE(told);
  ExpectPassages(summary);
}

// Mappings, names, and which threads and processes there were, by kind; not where trace is.
std::map<size_t, size_t> SidebandKinds(const std::string& file) {
  std::map<size_t, size_t> kinds;
  const auto recording = OpenFile(file);
  EXPECT_TRUE(recording);
  if (!recording) return kinds;
  for (const SidebandRecord& record : recording->sideband)
    if (!std::holds_alternative<AuxRecord>(record)) ++kinds[record.index()];
  return kinds;
}

TEST_F(StepPassage, TellsOfTheUnrecordedPartAsBefore) {
  const std::vector<std::vector<std::string>> commands = {{Program("passage"), kFew},
                                                          {Program("execs"), Program("known")},
                                                          {Program("threads")},
                                                          {"/bin/true"}};
  for (const auto& command : commands) {
    SCOPED_TRACE(command[0]);
    Recorder all;
    Record(all, command, "", "");
    Recorder none;
    Record(none, command, "no_function_of_this_name", "");
    const auto kinds = SidebandKinds(none.File("perf.data"));
    EXPECT_GE(kinds.size(), 3u);
    EXPECT_EQ(kinds, SidebandKinds(all.File("perf.data")));
  }
}

// Each time it is entered again, in children, and out of and into handlers.
TEST_F(StepPassage, IsJudgedByTheEmulator) {
  FLOWBACK_NEEDS_EMULATOR();
  const struct {
    std::vector<std::string> command;
    const char* from;
    const char* until;
  } runs[] = {{{Program("passage"), kFew}, "First", "Last"},
              {{Program("execs"), Program("passage")}, "First", "Last"},
              {ForThisHost({Program("signals")}), "CountNested", "SignalReturn"},
              {ForThisHost({Program("signals")}), "WriteByte", "SignalReturn"},
              {ForThisHost({Program("signals")}), "SkipTwo", "SignalReturn"},
              {{Program("faults")}, "Skip", "SignalReturn"}};
  for (const auto& run : runs) {
    SCOPED_TRACE(run.command[0] + " from " + run.from);
    const RecordSummary stepped = Run(run.command, run.from, run.until);
    Recorder judge;
    Emulate(judge.options());
    const RecordSummary emulated = Record(judge, run.command, run.from, run.until);
    EXPECT_EQ(stepped.command_status, 0);
    EXPECT_GT(stepped.instructions, 0u);
    ASSERT_EQ(stepped.threads.size(), emulated.threads.size());
    for (size_t i = 0; i < stepped.threads.size(); ++i)
      EXPECT_EQ(stepped.threads[i].digest, emulated.threads[i].digest) << i;
  }
}

// With `--clock instructions` they have a time only while they are recorded.
TEST_F(StepPassage, TicksAreRecordedInstructions) {
  recorder_.options().streams.clock = RecordClock::kInstructions;
  const RecordSummary summary = Run({Program("passage"), kFew}, "First", "Last");
  ASSERT_FALSE(summary.process_ends.empty());
  EXPECT_LE(summary.process_ends.back().time, 1000000100u + summary.instructions);
}

// Then it is slow, but as exact.
TEST(StepPassageTest, MorePlacesThanBreakPoints) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  const RecordSummary summary = Record(recorder, {Program("places")}, "Place", "Behind");
  EXPECT_EQ(summary.from_places.size(), 6u);
  int said = 0;
  for (const std::string& note : summary.notes)
    if (note.find("single-stepped") != std::string::npos) ++said;
  EXPECT_EQ(said, 1);
  EXPECT_GT(summary.instructions, 0u);
  EXPECT_EQ(summary.instructions % 6, 0u);
  ExpectSameFlow(recorder.File("perf.data"), summary);
}

}  // namespace
}  // namespace flowback::record_test
