// SPDX-License-Identifier: MIT
// Processes that outlive the program that started them: each is recorded to its end, or, once the
// recording is stopped, runs on whole without it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "capture/record/target/process_maps.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

// Each test for both engines.
class LeftRunning : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "step") {
      FLOWBACK_NEEDS_PTRACE();
    } else {
      FLOWBACK_NEEDS_EMULATOR();
      Emulate(recorder_.options());
    }
    recorder_.options().engine = GetParam();
  }
  RecordSummary Run(const std::vector<std::string>& command) {
    const auto summary = recorder_.Run(command);
    EXPECT_TRUE(summary) << summary.error().message();
    return summary.value_or(RecordSummary());
  }
  // The program `acts` with these words, of which "ACTS" is itself, and "TOLD" a file of the
  // test's.
  RecordSummary RunActs(std::vector<std::string> words) {
    words.insert(words.begin(), "ACTS");
    std::ranges::replace(words, "ACTS", Program("acts"));
    std::ranges::replace(words, "TOLD", recorder_.File("told"));
    return Run(words);
  }
  std::string Told() {
    std::ifstream file(recorder_.File("told"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Waits for the output of a process that is not recorded any more.
  std::string ToldInTime(const std::string& text) {
    for (int i = 0; i < 3000 && Told() != text; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return Told();
  }

  Recorder recorder_;
};

// The parent ends while the child becomes another program, which it must not be kept from.
TEST_P(LeftRunning, AChildThatExecsWhileTheProgramEndsIsRun) {
  const bool steps = std::string(GetParam()) == "step";
  for (int i = 0; i < (steps ? 1 : 20); ++i) {
    for (const char* file : {"told", "perf.data"}) fs::remove(recorder_.File(file));
    const RecordSummary summary =
        RunActs({"fork", "exec", "ACTS", "append", "TOLD", "hello", "end", "exit", "4"});
    EXPECT_EQ(WEXITSTATUS(summary.command_status), 4);
    EXPECT_EQ(Told(), "hello\n");
    EXPECT_EQ(summary.threads.size(), 2u);
    EXPECT_EQ(summary.stop_reason, StopReason::kProgramEnded);
    EXPECT_EQ(summary.losses, 0u);
    EXPECT_EQ(summary.notes, std::vector<std::string>{});
    ExpectSameFlow(recorder_.File("perf.data"), summary);
  }
}

// As a daemon starts: in a session of its own, by a child that ends as well.
TEST_P(LeftRunning, ADaemonIsRecordedToItsEnd) {
  const RecordSummary summary =
      RunActs({"fork", "fork", "session", "exec", "ACTS",   "append", "TOLD",
               "a",    "fork", "exec",    "ACTS", "append", "TOLD",   "b",
               "end",  "wait", "end",     "end",  "wait",   "exit",   "3"});
  EXPECT_EQ(WEXITSTATUS(summary.command_status), 3);
  EXPECT_EQ(Told(), "a\nb\n");
  EXPECT_EQ(summary.losses, 0u);
  ExpectSameFlow(recorder_.File("perf.data"), summary);
}

// The program `orphans` ends at once; its child reads until the request to end.
class Orphan {
 public:
  Orphan() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    saved_ = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    writer_ = Descriptor(ends[1]);
  }
  ~Orphan() {
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }
  void LetEnd() { EXPECT_EQ(write(*writer_, "e", 1), 1); }

 private:
  int saved_ = -1;
  Descriptor writer_;
};

TEST_P(LeftRunning, AreCountedUntilTheyEnd) {
  Orphan orphan;
  uint64_t most = 0;
  bool told = false;
  recorder_.options().on_progress = [&](const RecordProgress& progress) {
    most = std::max(most, progress.left_running);
    if (progress.left_running != 0 && !std::exchange(told, true)) orphan.LetEnd();
  };
  const RecordSummary summary = Run({Program("orphans")});
  EXPECT_EQ(most, 1u);
  EXPECT_EQ(WEXITSTATUS(summary.command_status), 5);
  EXPECT_EQ(summary.stop_reason, StopReason::kProgramEnded);
  ASSERT_EQ(summary.threads.size(), 2u);
  const pid_t child = summary.threads[1].pid;
  EXPECT_FALSE(record::ThreadLives(child, child));
  ExpectSameFlow(recorder_.File("perf.data"), summary);
}

// One signal is enough: there is no program any more that could be meant.
TEST_P(LeftRunning, RunOnWhenTheRecordingIsStopped) {
  Orphan orphan;
  bool asked = false;
  recorder_.options().on_progress = [&](const RecordProgress& progress) {
    if (progress.left_running == 0 || std::exchange(asked, true)) return;
    kill(getpid(), SIGINT);
  };
  const RecordSummary summary = Run({Program("orphans")});
  EXPECT_TRUE(asked);
  EXPECT_EQ(WEXITSTATUS(summary.command_status), 5);
  EXPECT_EQ(summary.stop_reason, StopReason::kSignal);
  ASSERT_EQ(summary.threads.size(), 2u);
  ASSERT_EQ(summary.notes.size(), 1u);
  EXPECT_NE(summary.notes[0].find("run on unrecorded"), std::string::npos) << summary.notes[0];
  ExpectSameFlow(recorder_.File("perf.data"), summary);
  const pid_t child = summary.threads[1].pid;
  EXPECT_TRUE(record::ThreadLives(child, child));
  EXPECT_EQ(record::ReadTracer(child), 0);
  orphan.LetEnd();
  while (record::ThreadLives(child, child)) usleep(10'000);
}

// Whatever a process is about to do when the recording ends, it does. On a busy machine all may
// have ended before the recording's first progress: then it is made again.
TEST_P(LeftRunning, GoOnToBecomeOtherPrograms) {
  recorder_.options().on_progress = [&](const RecordProgress& progress) {
    if (progress.left_running != 0 && !Told().empty()) kill(getpid(), SIGTERM);
  };
  std::vector<std::string> words = {"fork"};
  std::string all;
  for (int i = 0; i < 60; ++i) {
    const std::string number = std::to_string(i);
    words.insert(words.end(), {"fork", "exec", "ACTS", "append", "TOLD", number, "end", "wait"});
    all += number + "\n";
  }
  words.insert(words.end(), {"exec", "ACTS", "append", "TOLD", "end", "end", "exit", "0"});
  StopReason stop_reason = StopReason::kProgramEnded;
  for (int i = 0; i < 10 && stop_reason == StopReason::kProgramEnded; ++i) {
    for (const char* file : {"told", "perf.data"}) fs::remove(recorder_.File(file));
    stop_reason = RunActs(words).stop_reason;
    EXPECT_EQ(ToldInTime(all + "end\n"), all + "end\n");
  }
  EXPECT_EQ(stop_reason, StopReason::kSignal);
}

INSTANTIATE_TEST_SUITE_P(, LeftRunning, testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback::record_test
