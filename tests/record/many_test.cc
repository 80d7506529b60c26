// SPDX-License-Identifier: MIT
// Programs of many processes and threads: recorded whole, or with a message about the missing part.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

struct Case {
  const char* engine;
  const char* kind;  // of tests/record/programs/many.c
  size_t count;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.engine << test.kind; }

std::vector<std::string> Command(const char* kind, size_t count) {
  return {Program("many"), kind, std::to_string(count)};
}

class Many : public testing::TestWithParam<Case> {};

TEST_P(Many, AreRecordedWhole) {
  const Case& test = GetParam();
  Recorder recorder;
  if (std::string(test.engine) == "emulate") {
    FLOWBACK_NEEDS_EMULATOR();
    Emulate(recorder.options());
  } else {
    FLOWBACK_NEEDS_PTRACE();
  }
  const auto summary = recorder.Run(Command(test.kind, test.count));
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 0);
  EXPECT_EQ(summary->notes, std::vector<std::string>{});
  EXPECT_EQ(summary->threads.size(), test.count + 1);
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(recording->losses.empty());
  EXPECT_TRUE(recording->warnings.empty());
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

INSTANTIATE_TEST_SUITE_P(, Many,
                         testing::Values(Case{"emulate", "c", 1000}, Case{"emulate", "p", 200},
                                         Case{"emulate", "t", 500}, Case{"step", "c", 200},
                                         Case{"step", "p", 100}, Case{"step", "t", 100}),
                         [](const auto& test) {
                           return std::string(test.param.engine) + "_" + test.param.kind;
                         });

// More at once than the recorder has room for.
TEST(TooMany, AreALoss) {
  FLOWBACK_NEEDS_EMULATOR();
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run(Command("t", 1100));
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 0);
  EXPECT_EQ(summary->threads.size() + summary->threads_left_out, 1101u);
  ASSERT_GT(summary->threads_left_out, 0u);
  const auto recording = OpenFile(recorder.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  ASSERT_EQ(recording->losses.size(), 1u);
  EXPECT_EQ(recording->losses[0].cause, LossCause::kRecordsLost);
  EXPECT_EQ(recording->losses[0].count, summary->threads_left_out);
}

}  // namespace
}  // namespace flowback::record_test
