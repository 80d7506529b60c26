// SPDX-License-Identifier: MIT
// Where memory or threads end, so does the program, in words and with its exit status.
#include <gtest/gtest.h>

#include "base/sanitized.h"
#include "tests/bounds/hostile_files.h"

namespace flowback::test {
namespace {

// A trace of some kilobytes that jumps about.
std::vector<std::string> Input(const ScratchFolder& folder) {
  for (const HostileKind& kind : TraceKinds(size_t{32} << 10))
    if (kind.name == std::string("Tnt")) return kind.make(folder);
  return {};
}

class Ladder : public testing::TestWithParam<size_t> {};

// The dynamic linker has no words of ours, with 127; all else is 0 or 1.
TEST_P(Ladder, EndsInWords) {
#if FLOWBACK_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than any limit here";
#endif
  const ScratchFolder folder;
  const std::vector<std::string> input = Input(folder);
  for (std::vector<std::string> words :
       std::vector<std::vector<std::string>>{{"info"},
                                             {"decode", "--as", "digest"},
                                             {"decode", "--as", "packets"},
                                             {"decode", "--as", "branches"},
                                             {"decode", "--as", "instructions"},
                                             {"decode", "--as", "calls", "--by-time"}}) {
    const std::string command = words.front() + " " + words.back();
    words.insert(words.end(), input.begin(), input.end());
    words.insert(words.end(), {"--threads", "4", "--no-cache", "-o", "/dev/null"});
    const ProgramResult result = RunFlowback(words, {.memory_mib = GetParam()});
    if (result.status == 0 || result.status == 127) continue;
    EXPECT_EQ(result.status, 1) << command << ": " << result.err;
    EXPECT_TRUE(result.err.contains("flowback: ") && result.err.contains("\n  try: "))
        << command << ": " << result.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Mib, Ladder,
                         testing::Values(24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 200, 300));

TEST(Limits, NoMemory) {
#if FLOWBACK_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than the limit";
#endif
  const ScratchFolder folder;
  std::vector<std::string> words = {"decode", "--as", "digest", "--threads", "1", "--no-cache"};
  for (const std::string& word : Input(folder)) words.push_back(word);
  const ProgramResult result = RunFlowback(words, {.memory_mib = 24});
  if (result.status == 127) GTEST_SKIP() << "not even the program fits: " << result.err;
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.starts_with("flowback: out of memory")) << result.err;
}

TEST(Limits, TooManyThreads) {
  const ScratchFolder folder;
  std::vector<std::string> words = {"decode", "--as", "branches", "-o", "/dev/null"};
  for (const std::string& word : Input(folder)) words.push_back(word);
  words.insert(words.end(), {"--threads", "100000"});
  const ProgramResult refused = RunFlowback(words);
  EXPECT_EQ(refused.status, 2);
  EXPECT_TRUE(refused.err.contains("--threads 100000: at most 1024")) << refused.err;
  words.back() = "1024";
  const ProgramResult many = RunFlowback(words);
  EXPECT_EQ(many.status, 0) << many.err;
}

}  // namespace
}  // namespace flowback::test
