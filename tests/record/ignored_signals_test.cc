// SPDX-License-Identifier: MIT
// A shell has what it runs in the background ignore SIGINT and SIGQUIT: the recorder heeds them
// nevertheless, and the program finds them as it would without.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

class IgnoredSignals : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "step") {
      FLOWBACK_NEEDS_PTRACE();
    } else {
      FLOWBACK_NEEDS_EMULATOR();
      Emulate(recorder_.options());
    }
    recorder_.options().engine = GetParam();
    for (const int number : {SIGINT, SIGQUIT}) signal(number, SIG_IGN);
  }
  void TearDown() override {
    for (const int number : {SIGINT, SIGQUIT}) signal(number, SIG_DFL);
  }

  Recorder recorder_;
};

TEST_P(IgnoredSignals, EndTheRecording) {
  bool sent = false;
  recorder_.options().on_progress = [&](const RecordProgress& progress) {
    if (progress.instructions != 0 && !std::exchange(sent, true)) kill(getpid(), SIGINT);
  };
  const auto summary = recorder_.Run({"/bin/sleep", "20"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->stop_reason, StopReason::kSignal);
  ASSERT_TRUE(WIFSIGNALED(summary->command_status)) << summary->command_status;
  EXPECT_EQ(WTERMSIG(summary->command_status), SIGTERM);
  ExpectSameFlow(recorder_.File("perf.data"), *summary);
}

TEST_P(IgnoredSignals, StayTheProgramsOwn) {
  const auto summary =
      recorder_.Run({"/bin/sh", "-c", "kill -INT $$; kill -QUIT $$; kill -USR1 $$"});
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_TRUE(WIFSIGNALED(summary->command_status)) << summary->command_status;
  EXPECT_EQ(WTERMSIG(summary->command_status), SIGUSR1);
}

INSTANTIATE_TEST_SUITE_P(, IgnoredSignals, testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

TEST(IgnoredSignalsAttached, EndTheRecording) {
  FLOWBACK_NEEDS_PTRACE();
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "20", nullptr);
    _exit(127);
  }
  signal(SIGINT, SIG_IGN);
  Recorder recorder;
  recorder.options().target.pids = {child};
  recorder.options().on_progress = [&](const RecordProgress& progress) {
    if (progress.threads != 0) kill(getpid(), SIGINT);
  };
  const auto summary = recorder.Run({});
  signal(SIGINT, SIG_DFL);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->stop_reason, StopReason::kSignal);
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it runs on";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace flowback::record_test
