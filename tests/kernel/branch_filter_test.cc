// SPDX-License-Identifier: MIT
#include "capture/kernel/branch_filter.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

namespace flowback::kernel {
namespace {

TEST(BranchFilter, WordsAreBits) {
  EXPECT_EQ(ParseBranchFilter("any,u").value_or(0),
            PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER);
  EXPECT_EQ(ParseBranchFilter("cond").value_or(0), PERF_SAMPLE_BRANCH_COND);
}

// perf takes any branch of any level then.
TEST(BranchFilter, ALevelAloneMeansAnyBranch) {
  EXPECT_EQ(ParseBranchFilter("u").value_or(0), PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER);
}

TEST(BranchFilter, UnknownWordsAreNamed) {
  for (const char* words : {"", "any,", "any,nope", ","}) {
    const auto filter = ParseBranchFilter(words);
    ASSERT_FALSE(filter) << words;
    EXPECT_EQ(filter.error().code(), ErrorCode::kUsage);
    EXPECT_TRUE(filter.error().remedy().contains("ind_call"));
  }
}

TEST(BranchFilter, TextIsWhatIsParsed) {
  const auto filter = ParseBranchFilter("u,any_call,save_type");
  EXPECT_EQ(ParseBranchFilter(BranchFilterText(*filter)).value_or(0), *filter);
}

}  // namespace
}  // namespace flowback::kernel
