// SPDX-License-Identifier: MIT
// Loops of direct jumps and calls, which write no packets: the recorders count instructions, so the
// recordings decode to all of their rounds.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

struct Loop {
  const char* name;
  const char* argument;
};

void PrintTo(const Loop& loop, std::ostream* out) { *out << loop.name; }

class Rounds : public testing::TestWithParam<Loop> {
 protected:
  void Record(const std::vector<std::string>& command) {
    const auto summary = recorder_.Run(command);
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->losses, 0u);
    EXPECT_GT(summary->instructions, 20u);
    ExpectSameFlow(recorder_.File("perf.data"), *summary);
  }

  Recorder recorder_;
};

TEST_P(Rounds, AreAllDecodedWhenEmulated) {
  FLOWBACK_NEEDS_EMULATOR();
  Emulate(recorder_.options());
  Record({Program("loops"), GetParam().argument});
}

TEST_P(Rounds, AreAllDecodedWhenStepped) {
  FLOWBACK_NEEDS_PTRACE();
  Record({Program("loops"), GetParam().argument});
}

INSTANTIATE_TEST_SUITE_P(, Rounds,
                         testing::Values(Loop{"Recursion", "alone"},
                                         Loop{"RecursionOfThree", "three"}, Loop{"Jump", "spin"},
                                         Loop{"Jumps", "round"}, Loop{"Interrupted", "handled"},
                                         Loop{"Killed", "killed"},
                                         Loop{"ProcessEnds", "other-thread"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flowback::record_test
