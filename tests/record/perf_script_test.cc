// SPDX-License-Identifier: MIT
// perf reads our files and rebuilds the same flow.
#include <gtest/gtest.h>

#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

class PerfScript : public testing::TestWithParam<const char*> {};

TEST_P(PerfScript, ListsTheSameAddresses) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_PERF();
  const std::string name = GetParam();
  const std::vector<std::string> command = {name.starts_with("sample_") ? Sample(name.substr(7))
                                                                        : Program(name)};
  FLOWBACK_NEEDS_TO_RUN(command);
  Recorder recorder;
  const auto summary = recorder.Run(ForThisHost(command));
  ASSERT_TRUE(summary) << summary.error().message();
  std::string problem;
  const auto digests = PerfScriptDigests(recorder.File("perf.data"), *summary, problem);
  ASSERT_EQ(digests.size(), summary->threads.size()) << problem;
  for (size_t i = 0; i < digests.size(); ++i) {
    EXPECT_EQ(digests[i].count, summary->threads[i].digest.count) << "stream " << i;
    EXPECT_EQ(digests[i].hash, summary->threads[i].digest.hash) << "stream " << i;
  }
}

// Not `modes`: perf takes an instruction's mode from the file it lies in.
INSTANTIATE_TEST_SUITE_P(, PerfScript,
                         testing::Values("branches", "families", "strings", "recursion", "signals",
                                         "crash", "threads", "thirty_two", "vdso", "sample_tiny",
                                         "sample_recursion"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace flowback::record_test
