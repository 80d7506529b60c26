// SPDX-License-Identifier: MIT
// Ends of a recording before its program: signals, the file's size; and messages meanwhile.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string>

#include "capture/record/target/process_maps.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

// Programs with a C library are stepped for seconds before they come to what matters here.
const std::vector<std::string> kEndless = {Program("acts"), "spin"};
const std::vector<std::string> kAsleep = {"/bin/sleep", "1000"};

// Each test for both engines.
class Ends : public testing::TestWithParam<const char*> {
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
  // The signal comes while the program runs.
  void SignalWhileRecording(int signal) {
    recorder_.options().on_progress = [this, signal](const RecordProgress& progress) {
      if (progress.instructions == 0 || signalled_) return;
      signalled_ = true;
      kill(getpid(), signal);
    };
  }
  RecordSummary Run(const std::vector<std::string>& command) {
    const auto summary = recorder_.Run(command);
    EXPECT_TRUE(summary) << summary.error().message();
    return summary.value_or(RecordSummary());
  }

  Recorder recorder_;
  bool signalled_ = false;
};

TEST_P(Ends, BySignalsToTheRecorder) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(strsignal(signal));
    signalled_ = false;
    SignalWhileRecording(signal);
    const RecordSummary summary = Run(signal == SIGTERM ? kEndless : kAsleep);
    EXPECT_EQ(summary.stop_reason, StopReason::kSignal);
    ASSERT_TRUE(WIFSIGNALED(summary.command_status)) << summary.command_status;
    EXPECT_EQ(WTERMSIG(summary.command_status), signal == SIGHUP ? SIGHUP : SIGTERM);
    EXPECT_GT(summary.instructions, 0u);
    ExpectSameFlow(recorder_.File("perf.data"), summary);
  }
}

// The first child of this process that is `wanted`; -1 when there is none.
template <class Wanted>
pid_t FindChild(const Wanted& wanted) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = -1;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid > 0 && record::ReadParent(pid) == getpid() && wanted(pid)) return pid;
  }
  return -1;
}

// The child that is to wake the recorder, beside the one that it records; -1 when there is none. It
// may not have come to name itself yet.
pid_t FindBell(const std::string& recorded) {
  return FindChild([&](pid_t pid) { return record::ReadComm(pid, pid) != recorded; });
}

// What should wake the recorder may wait for a CPU as long as recorder and program hand that to
// each other at every step: the recorder, awake, hears without.
TEST(StopRequest, IsHeardWithoutTheBell) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  pid_t bell = -1;
  recorder.options().limits.instructions = 5'000'000;  // the end, where the signal is not
  recorder.options().on_progress = [&](const RecordProgress& progress) {
    if (progress.instructions == 0 || bell > 0 || (bell = FindBell("acts")) < 0) return;
    kill(bell, SIGSTOP);
    kill(getpid(), SIGTERM);
  };
  const auto summary = recorder.Run(kEndless);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_GT(bell, 0);
  EXPECT_EQ(summary->stop_reason, StopReason::kSignal);
  EXPECT_LT(summary->instructions, recorder.options().limits.instructions);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

// Whether the program of this name sleeps, untraced as it were: while it is stepped, it is stopped
// or runs.
bool ChildSleeps(const std::string& name) {
  const auto sleeps = [&](pid_t pid) {
    return record::ReadComm(pid, pid) == name && StateOf(pid) == 'S';
  };
  return FindChild(sleeps) > 0;
}

// A snapshot that can't be written ends the recording also while the program sleeps, and here the
// program with it.
TEST(FailedSnapshot, IsHeardOfWithoutTheProgram) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  recorder.options().streams.snapshot_bytes = 65536;
  recorder.options().files.kill_on_failure = true;
  const auto before = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  bool asked = false;
  recorder.options().on_progress = [&](const RecordProgress&) {
    if (asked || !ChildSleeps("sleep")) return;
    asked = true;
    const rlimit full{.rlim_cur = fs::file_size(recorder.File("perf.data")),
                      .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    kill(getpid(), SIGUSR2);
  };
  const auto summary = recorder.Run(kAsleep);
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, before);
  EXPECT_TRUE(asked);
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_TRUE(summary->failure);
  EXPECT_NE(summary->failure->message().find("can't write"), std::string::npos)
      << summary->failure->message();
  ASSERT_TRUE(WIFSIGNALED(summary->command_status));
  EXPECT_EQ(WTERMSIG(summary->command_status), SIGKILL);
}

// The file is whole before the program, which does not end when it is asked to.
TEST_P(Ends, WithAFileThatIsCompleteWhileTheProgramRuns) {
  const std::string ready = recorder_.File("ready");
  bool complete = false;
  recorder_.options().on_progress = [&](const RecordProgress& progress) {
    if (complete) {
      kill(getpid(), SIGTERM);  // until it is heard: what comes at once is the same request
    } else if (progress.complete) {
      complete = true;
      const auto recording = OpenFile(recorder_.File("perf.data"));
      EXPECT_TRUE(recording) << recording.error().message();
      if (recording) {
        EXPECT_TRUE(recording->warnings.empty());
      }
      EXPECT_EQ(progress.file_bytes, fs::file_size(recorder_.File("perf.data")));
    } else if (!signalled_ && fs::exists(ready)) {
      signalled_ = true;
      kill(getpid(), SIGTERM);
    }
  };
  const RecordSummary summary =
      Run({Program("acts"), "ignore", std::to_string(SIGTERM), "append", ready, "", "spin"});
  EXPECT_TRUE(complete);
  ASSERT_TRUE(WIFSIGNALED(summary.command_status));
  ExpectSameFlow(recorder_.File("perf.data"), summary);
}

// As timeout(1) does it. The program can still tidy up.
TEST_P(Ends, SignalledTwiceAtOnce) {
  const std::string ready = recorder_.File("ready");
  recorder_.options().on_progress = [&](const RecordProgress&) {
    if (signalled_ || !fs::exists(ready)) return;
    signalled_ = true;
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
  };
  const RecordSummary summary =
      Run({Program("acts"), "exit-at", std::to_string(SIGTERM), "3", "append", ready, "", "spin"});
  EXPECT_EQ(summary.stop_reason, StopReason::kSignal);
  ASSERT_TRUE(WIFEXITED(summary.command_status)) << summary.command_status;
  EXPECT_EQ(WEXITSTATUS(summary.command_status), 3);
}

TEST_P(Ends, WhenTheFileIsFull) {
  constexpr uint64_t kSize = 8000;
  recorder_.options().limits.file_bytes = kSize;
  const RecordSummary summary =
      Run({"/bin/sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; exit 7"});
  EXPECT_EQ(summary.stop_reason, StopReason::kFileSize);
  EXPECT_EQ(WEXITSTATUS(summary.command_status), 7);
  EXPECT_GE(summary.file_bytes, kSize);
  EXPECT_EQ(summary.file_bytes, fs::file_size(recorder_.File("perf.data")));
  ExpectSameFlow(recorder_.File("perf.data"), summary);
}

TEST_P(Ends, AreNoneOfThese) {
  const RecordSummary summary = Run({Program("known")});
  EXPECT_EQ(summary.stop_reason, StopReason::kProgramEnded);
  EXPECT_EQ(summary.file_bytes, fs::file_size(recorder_.File("perf.data")));
  EXPECT_EQ(summary.losses, 0u);
  EXPECT_GT(summary.cpu_time.count(), 0);
}

TEST_P(Ends, TellTheProgressMeanwhile) {
  RecordProgress last;
  recorder_.options().on_progress = [&](const RecordProgress& progress) {
    EXPECT_GE(progress.elapsed, last.elapsed);
    EXPECT_GE(progress.instructions, last.instructions);
    EXPECT_GE(progress.trace_bytes, last.trace_bytes);
    EXPECT_GE(progress.file_bytes, last.file_bytes);
    last = progress;
    if (progress.trace_bytes > 0 && progress.instructions > 0 && !signalled_) {
      signalled_ = true;
      kill(getpid(), SIGTERM);
    }
  };
  const RecordSummary summary = Run(kEndless);
  EXPECT_EQ(last.threads, 1u);
  EXPECT_GT(last.file_bytes, last.trace_bytes);
  EXPECT_LE(last.instructions, summary.instructions);
}

INSTANTIATE_TEST_SUITE_P(, Ends, testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

TEST(OlderFile, IsKept) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  const auto size = [&](const char* name) { return fs::file_size(recorder.File(name)); };
  const auto first = recorder.Run({Program("known")});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->notes, std::vector<std::string>{});
  const uint64_t before = size("perf.data");
  const auto second = recorder.Run({Program("recursion")});
  ASSERT_TRUE(second);
  EXPECT_EQ(size("perf.data.old"), before);
  ASSERT_EQ(second->notes.size(), 1u);
  EXPECT_NE(second->notes[0].find("perf.data.old'"), std::string::npos) << second->notes[0];
}

// The older recording finds its own code, and not the newer one's; also where the two are moved.
TEST(OlderFile, IsKeptWithItsCode) {
  FLOWBACK_NEEDS_PTRACE();
  Recorder recorder;
  const auto first = recorder.Run({Program("versions")});
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(fs::exists(recorder.File("perf.data.code")));
  const auto second = recorder.Run({Program("jit")});
  ASSERT_TRUE(second) << second.error().message();
  ASSERT_TRUE(fs::exists(recorder.File("perf.data.code")));
  ASSERT_EQ(second->notes.size(), 1u);
  EXPECT_NE(second->notes[0].find("perf.data.old.code'"), std::string::npos) << second->notes[0];
  ExpectSameFlow(recorder.File("perf.data"), *second);
  ExpectSameFlow(recorder.File("perf.data.old"), *first);
  // One without such code takes no other's.
  const auto third = recorder.Run({Program("known")});
  ASSERT_TRUE(third) << third.error().message();
  EXPECT_FALSE(fs::exists(recorder.File("perf.data.code")));
  ExpectSameFlow(recorder.File("perf.data.old"), *second);
  fs::create_directory(recorder.File("elsewhere"));
  for (const char* end : {"", ".code"})
    fs::rename(recorder.File("perf.data.old") + end, recorder.File("elsewhere/renamed") + end);
  ExpectSameFlow(recorder.File("elsewhere/renamed"), *second);
}

// What Ctrl-C does to the caller of the library is its own matter again afterwards.
TEST(RecordersSignals, AreTheCallersAgain) {
  FLOWBACK_NEEDS_PTRACE();
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Recorder recorder;
  ASSERT_TRUE(recorder.Run({Program("known")}));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
  }
}

}  // namespace
}  // namespace flowback::record_test
