// SPDX-License-Identifier: MIT
// 32-bit programs in the emulator, with the step engine as the judge.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "capture/record/emulate/emulator_file.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

// Empty when this machine emulates 32-bit programs.
std::string WhyNotShort() {
  RecordOptions options;
  Emulate(options);
  options.target.command = {Program("thirty_two")};
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

// "step", "emulate", or "exact": emulated with one instruction a block.
class ThirtyTwoBitSpan : public testing::TestWithParam<const char*> {};

// The symbol tables of a 32-bit file are others.
TEST_P(ThirtyTwoBitSpan, CountsAreExact) {
  FLOWBACK_NEEDS_TO_RUN({Program("thirty_two")});
  const std::string engine = GetParam();
  if (engine == "step") {
    FLOWBACK_NEEDS_PTRACE();
  } else {
    FLOWBACK_NEEDS_EMULATOR();
    FLOWBACK_NEEDS_SHORT_EMULATOR();
  }
  const struct {
    const char* from;
    const char* until;
    uint64_t instructions;
  } spans[] = {{"", "", 16},           {"first", "", 14}, {"", "first", 2},
               {"first", "second", 3}, {"last", "", 2},   {"second", "last", 9}};
  for (const auto& span : spans) {
    SCOPED_TRACE(std::string(span.from) + " to " + span.until);
    Recorder recorder;
    if (engine != "step") Emulate(recorder.options());
    recorder.options().emulate.exact = engine == "exact";
    recorder.options().watched.from = span.from;
    recorder.options().watched.until = span.until;
    const auto summary = recorder.Run({Program("thirty_two_spans")});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->instructions, span.instructions);
    EXPECT_EQ(summary->command_status, 0);
    EXPECT_EQ(summary->from_places.size(), *span.from != 0 ? 1u : 0u);
    EXPECT_EQ(summary->until_places.size(), *span.until != 0 ? 1u : 0u);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
  }
}

INSTANTIATE_TEST_SUITE_P(, ThirtyTwoBitSpan, testing::Values("step", "emulate", "exact"),
                         [](const auto& test) { return std::string(test.param); });

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

// The last instruction of a 32-bit program, INT 80h, counts the same in both, and SYSCALL too.
TEST(ThirtyTwoBitsEmulated, ExecsAreToldAsWhenStepped) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_EMULATOR();
  FLOWBACK_NEEDS_TO_RUN({Program("thirty_two")});
  FLOWBACK_NEEDS_SHORT_EMULATOR();
  const std::string from_short = Program("thirty_two_kinds");
  ExpectToRunAsWhenStepped({from_short, "exec", Program("thirty_two")});
  ExpectToRunAsWhenStepped({from_short, "exec", Program("known")});
  ExpectToRunAsWhenStepped({from_short, "exec", from_short, "exec", Program("known")});
  ExpectToRunAsWhenStepped({Program("execs"), Program("thirty_two")});
  ExpectToRunAsWhenStepped({Program("execs"), Program("known")});
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
