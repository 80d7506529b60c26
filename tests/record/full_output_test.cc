// SPDX-License-Identifier: MIT
// Outputs that can't be written any more: the program runs on, a message says so, and the written
// part can be read.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "base/descriptor.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

class FullOutput : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "step") {
      FLOWBACK_NEEDS_PTRACE();
    } else {
      FLOWBACK_NEEDS_EMULATOR();
      Emulate(recorder_.options());
    }
    recorder_.options().engine = GetParam();
    recorder_.options().on_progress = [this](const RecordProgress& progress) {
      if (first_failure_.empty()) first_failure_ = progress.failure;
      if (step_) step_();
    };
  }
  // Counts, waits for a file `go` and then makes `done`.
  RecordSummary Run() {
    const auto summary = recorder_.Run({"/bin/sh", "-c",
                                        "i=0; while [ $i -lt 4000 ]; do i=$((i+1)); done; "
                                        "while ! [ -e \"$1\" ]; do :; done; : >\"$2\"; exit 9",
                                        "sh", recorder_.File("go"), recorder_.File("done")});
    EXPECT_TRUE(summary) << summary.error().message();
    return summary.value_or(RecordSummary());
  }
  void Go() { std::ofstream(recorder_.File("go")) << ' '; }
  // Expects the recording's failure, with `words` in it, while the program ran to its end.
  void ExpectFailure(const RecordSummary& summary, const std::string& words) {
    ASSERT_TRUE(summary.failure);
    EXPECT_NE(summary.failure->message().find(words), std::string::npos)
        << summary.failure->message();
    EXPECT_FALSE(summary.failure->remedy().empty());
    EXPECT_EQ(summary.stop_reason, StopReason::kOutputFailed);
    EXPECT_EQ(first_failure_, summary.failure->message());
    ASSERT_TRUE(WIFEXITED(summary.command_status)) << summary.command_status;
    EXPECT_EQ(WEXITSTATUS(summary.command_status), 9);
    EXPECT_TRUE(fs::exists(recorder_.File("done")));
    EXPECT_LT(summary.written_bytes, summary.bytes);
  }
  // The file's stream is the beginning of what was executed.
  void ExpectReadable(const RecordSummary& summary) {
    const auto recording = OpenFile(recorder_.File("perf.data"));
    ASSERT_TRUE(recording) << recording.error().message();
    EXPECT_TRUE(support::Warns(*recording, "did not end properly"));
    ASSERT_EQ(recording->streams.size(), 1u);
    EXPECT_EQ(recording->streams[0].bytes.size(), summary.written_bytes);
    for (const auto& [engine, digest] : DecodedDigests(*recording)) {
      EXPECT_GT(digest.count, 1000u) << engine;
      EXPECT_LT(digest.count, summary.instructions) << engine;
    }
  }

  Recorder recorder_;
  std::string first_failure_;
  std::function<void()> step_;
};

// A limit on the size of files is an error like others: no signal ends the recorder.
TEST_P(FullOutput, FilesMayNotGrow) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  step_ = [&] {
    const std::string output = recorder_.File("perf.data");
    rlimit now{};
    getrlimit(RLIMIT_FSIZE, &now);
    // Once something stands there.
    if (fs::exists(output) && fs::file_size(output) > 3000 && now.rlim_cur == limit.rlim_cur) {
      now.rlim_cur = fs::file_size(output) + 100;
      setrlimit(RLIMIT_FSIZE, &now);
    }
    if (!first_failure_.empty()) {
      setrlimit(RLIMIT_FSIZE, &limit);
      Go();
    }
  };
  const RecordSummary summary = Run();
  setrlimit(RLIMIT_FSIZE, &limit);
  ExpectFailure(summary, "File too large");
  EXPECT_NE(summary.failure->remedy().find("ulimit -f"), std::string::npos);
  ExpectReadable(summary);
}

TEST_P(FullOutput, TheFolderIsRemoved) {
  step_ = [&] {
    std::error_code none;
    if (fs::exists(recorder_.File("perf.data"), none)) fs::remove(recorder_.File("perf.data"));
    if (!first_failure_.empty()) Go();
  };
  ExpectFailure(Run(), "was removed");
}

TEST_P(FullOutput, APipesReaderLeaves) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  recorder_.options().files.pipe = ends[1];
  Descriptor reader(ends[0]);
  step_ = [&] {
    reader.Close();
    if (!first_failure_.empty()) Go();
  };
  ExpectFailure(Run(), "Broken pipe");
}

TEST_P(FullOutput, EndsTheProgramWhereThatWasAskedFor) {
  recorder_.options().files.kill_on_failure = true;
  step_ = [&] { fs::remove(recorder_.File("perf.data")); };
  const RecordSummary summary = Run();
  ASSERT_TRUE(summary.failure);
  ASSERT_TRUE(WIFSIGNALED(summary.command_status)) << summary.command_status;
  EXPECT_EQ(WTERMSIG(summary.command_status), SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(, FullOutput, testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback::record_test
