// SPDX-License-Identifier: MIT
// 32-bit programs in the emulator, with the step engine as the judge.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

// Empty when this machine emulates 32-bit programs.
std::string WhyNotShort() {
  RecordOptions options;
  Emulate(options);
  options.command = {Program("thirty_two")};
  const Status found = CheckEmulator(options);
  return found ? "" : found.error().message() + ": " + found.error().remedy();
}
#define FLOWBACK_NEEDS_SHORT_EMULATOR() \
  if (const std::string why = WhyNotShort(); !why.empty()) GTEST_SKIP() << why

void ExpectToRunAsWhenStepped(const std::vector<std::string>& command) {
  Recorder stepped;
  const auto truth = stepped.Run(command);
  ASSERT_TRUE(truth) << truth.error().message();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run(command);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status & ~0x80, truth->command_status & ~0x80);
  EXPECT_EQ(summary->losses, 0u);
  ASSERT_EQ(summary->threads.size(), truth->threads.size());
  for (size_t i = 0; i < truth->threads.size(); ++i)
    EXPECT_EQ(summary->threads[i].digest, truth->threads[i].digest);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

class ThirtyTwoBitKinds : public testing::TestWithParam<const char*> {};

TEST_P(ThirtyTwoBitKinds, RunAsWhenStepped) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_TO_RUN({Program("thirty_two")});
  FLOWBACK_NEEDS_SHORT_EMULATOR();
  ExpectToRunAsWhenStepped({Program("thirty_two_kinds"), GetParam()});
}

INSTANTIATE_TEST_SUITE_P(, ThirtyTwoBitKinds,
                         testing::Values("handlers", "mapped", "crash", "trap"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ThirtyTwoBitsEmulated, LoopsAndCallsRunAsWhenStepped) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_TO_RUN({Program("thirty_two")});
  FLOWBACK_NEEDS_SHORT_EMULATOR();
  ExpectToRunAsWhenStepped({Program("thirty_two")});
}

// From 32-bit to 64-bit and back to 32-bit: each in its own emulator.
TEST(ThirtyTwoBitsEmulated, ProgramsBecomeThoseOfTheOtherKind) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_SHORT_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary =
      recorder.Run({Program("thirty_two_kinds"), "exec", Program("execs"), Program("thirty_two")});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->losses, 0u);
  for (const std::string& note : summary->notes) EXPECT_EQ(note, "");
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

TEST(ThirtyTwoBitsEmulated, ThreadsAreRecorded) {
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_SHORT_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({Program("thirty_two_kinds"), "threads"});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 0);
  EXPECT_EQ(summary->losses, 0u);
  EXPECT_EQ(summary->threads.size(), 4u);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

}  // namespace
}  // namespace flowback::record_test
