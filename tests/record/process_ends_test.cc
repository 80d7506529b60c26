// SPDX-License-Identifier: MIT
// How recorded processes ended, in the summary and in the recording, the same by both engines.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

class ProcessEnds : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "step") {
      FLOWBACK_NEEDS_PTRACE();
    } else {
      FLOWBACK_NEEDS_EMULATOR();
    }
  }
  // As the file has them, which are the summary's.
  std::vector<ProcessEnd> Run(const std::vector<std::string>& command) {
    Recorder recorder;
    if (std::string(GetParam()) == "emulate") Emulate(recorder.options());
    const auto summary = recorder.Run(command);
    EXPECT_TRUE(summary) << summary.error().message();
    if (!summary) return {};
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    const auto recording = OpenFile(recorder.File("perf.data"));
    EXPECT_TRUE(recording) << recording.error().message();
    if (!recording) return {};
    EXPECT_TRUE(recording->warnings.empty());
    EXPECT_EQ(recording->process_ends.size(), summary->process_ends.size());
    for (size_t i = 0; i < recording->process_ends.size(); ++i) {
      EXPECT_EQ(recording->process_ends[i].pid, summary->process_ends.at(i).pid);
      EXPECT_EQ(recording->process_ends[i].ip, summary->process_ends.at(i).ip);
      EXPECT_EQ(recording->process_ends[i].file, summary->process_ends.at(i).file);
      EXPECT_EQ(recording->process_ends[i].wait_status, summary->process_ends.at(i).wait_status);
    }
    return recording->process_ends;
  }
  ProcessEnd RunFatal(const std::string& how) {
    const std::vector<ProcessEnd> ends = Run({Program("fatal"), how});
    EXPECT_EQ(ends.size(), 1u);
    return ends.empty() ? ProcessEnd() : ends[0];
  }
};

TEST_P(ProcessEnds, AccessToNothing) {
  const ProcessEnd end = RunFatal("scan");
  EXPECT_EQ(end.wait_status & ~WCOREFLAG, SIGSEGV);
  EXPECT_EQ(end.file, Program("fatal"));
  EXPECT_TRUE(end.ip);
  EXPECT_EQ(end.fault_address, 8u);
  EXPECT_EQ(end.comm, "fatal");
  EXPECT_EQ(end.tid, end.pid);
}

TEST_P(ProcessEnds, JumpToNothing) {
  const ProcessEnd end = RunFatal("jump");
  EXPECT_EQ(end.wait_status & ~WCOREFLAG, SIGSEGV);
  EXPECT_EQ(end.ip, 0x1234567890u);
  EXPECT_EQ(end.fault_address, 0x1234567890u);
  EXPECT_EQ(end.file, "");
}

TEST_P(ProcessEnds, OtherFaultsAccessNothing) {
  for (const auto& [how, signal] :
       {std::pair("divide", SIGFPE), std::pair("undefined", SIGILL), std::pair("trap", SIGTRAP),
        std::pair("privileged", SIGSEGV), std::pair("kill", SIGSEGV)}) {
    SCOPED_TRACE(how);
    const ProcessEnd end = RunFatal(how);
    EXPECT_EQ(end.wait_status & ~WCOREFLAG, signal);
    EXPECT_EQ(end.file, Program("fatal"));
    EXPECT_TRUE(end.ip);
    EXPECT_FALSE(end.fault_address) << *end.fault_address;
  }
}

TEST_P(ProcessEnds, EachProcessHasItsOwn) {
  const std::vector<ProcessEnd> ends =
      Run({Program("acts"), "fork", "exit", "3", "end", "wait", "fork", "exec", Program("acts"),
           "kill", std::to_string(SIGSEGV), "end", "wait", "exit", "5"});
  std::vector<int> statuses;
  for (const ProcessEnd& end : ends) statuses.push_back(end.wait_status & ~WCOREFLAG);
  EXPECT_EQ(statuses, (std::vector<int>{W_EXITCODE(3, 0), SIGSEGV, W_EXITCODE(5, 0)}));
  EXPECT_TRUE(std::ranges::is_sorted(ends, {}, &ProcessEnd::time));
}

// Nothing of its own says it, but the kernel.
TEST_P(ProcessEnds, KilledFromOutside) {
  const std::vector<ProcessEnd> ends = Run({Program("acts"), "kill", std::to_string(SIGKILL)});
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].wait_status, SIGKILL);
  EXPECT_EQ(ends[0].tid, -1) << "no thread raised it";
  EXPECT_FALSE(ends[0].fault_address);
}

TEST_P(ProcessEnds, ThreadsEndTheirProcessOnce) {
  const std::vector<ProcessEnd> ends = Run({Program("threads")});
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].wait_status, 0);
}

INSTANTIATE_TEST_SUITE_P(, ProcessEnds, testing::Values("step", "emulate"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ProcessEnd, EnginesAgreeOnThePlace) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  for (const char* how : {"scan", "middle", "rep", "divide", "undefined", "privileged", "trap"}) {
    SCOPED_TRACE(how);
    Recorder stepped;
    const auto truth = stepped.Run({Program("fatal"), how});
    ASSERT_TRUE(truth) << truth.error().message();
    Recorder emulated;
    Emulate(emulated.options());
    const auto summary = emulated.Run({Program("fatal"), how});
    ASSERT_TRUE(summary) << summary.error().message();
    ASSERT_EQ(truth->process_ends.size(), 1u);
    ASSERT_EQ(summary->process_ends.size(), 1u);
    EXPECT_EQ(summary->process_ends[0].file_offset, truth->process_ends[0].file_offset);
    EXPECT_EQ(summary->process_ends[0].ip, truth->process_ends[0].ip);
    EXPECT_EQ(summary->process_ends[0].fault_address.has_value(),
              truth->process_ends[0].fault_address.has_value());
  }
}

}  // namespace
}  // namespace flowback::record_test
