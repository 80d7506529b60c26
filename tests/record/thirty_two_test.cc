// SPDX-License-Identifier: MIT
// 32-bit programs, single-stepped.
#include <gtest/gtest.h>

#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

// Their vDSO is in no file, and another than the reader's own.
TEST(ThirtyTwoBits, CodeOfTheirVdsoIsKept) {
  FLOWBACK_NEEDS_PTRACE();
  FLOWBACK_NEEDS_TO_RUN({Program("thirty_two_vdso")});
  Recorder recorder;
  const auto summary = recorder.Run({Program("thirty_two_vdso")});
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 0);
  ExpectSameFlow(recorder.File("perf.data"), *summary);
}

}  // namespace
}  // namespace flowback::record_test
