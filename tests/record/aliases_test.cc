// SPDX-License-Identifier: MIT
// Code that changes by another way than a write at its own address: it runs as natively, and is
// recorded as it ran.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

class Aliases : public testing::TestWithParam<const char*> {
 protected:
  void Record() {
    constexpr int kRefused = 77;
    const auto summary = recorder_.Run({Program("aliases"), GetParam()});
    ASSERT_TRUE(summary) << summary.error().message();
    if (WIFEXITED(summary->command_status) && WEXITSTATUS(summary->command_status) == kRefused)
      GTEST_SKIP() << "this machine refuses what the program needs";
    EXPECT_EQ(summary->command_status, 0);
    EXPECT_EQ(summary->losses, 0u);
    EXPECT_TRUE(summary->unlike_native.empty());
    ExpectSameFlow(recorder_.File("perf.data"), *summary);
  }

  Recorder recorder_;
};

TEST_P(Aliases, RunTheNewCodeWhenEmulated) {
  FLOWBACK_NEEDS_EMULATOR();
  Emulate(recorder_.options());
  Record();
}

TEST_P(Aliases, AreDecodedWhenStepped) {
  FLOWBACK_NEEDS_PTRACE();
  Record();
}

INSTANTIATE_TEST_SUITE_P(, Aliases,
                         testing::Values("memfd", "unlinked", "file", "shm", "mremap",
                                         "new-mapping", "write", "proc-mem", "read", "child"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace flowback::record_test
