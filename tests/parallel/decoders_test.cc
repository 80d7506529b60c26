// SPDX-License-Identifier: MIT
// Several threads decode the same stream at once. Each has a decoder of its own, all share the code
// sections and their caches, which are empty when they start. Meant for ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "tests/differential/harness.h"

namespace flowback::testing {
namespace {

constexpr int kThreads = 4;

GeneratorOptions Options(uint64_t seed) {
  GeneratorOptions options = MixedOptions(seed);
  options.instructions = 3000;
  return options;
}

// What each thread counted; they begin at the same moment.
std::vector<std::string> CountInThreads(const Subject& subject) {
  std::vector<std::string> counts(kThreads);
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const auto decoder = Native();
      start.arrive_and_wait();
      counts[i] = CountsText(i % 2 == 0 ? SummarizeAll(*decoder, subject.Input())
                                        : DecodeAll(*decoder, subject.Input()).sum);
    });
  threads.clear();
  return counts;
}

class ManyThreads : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ManyThreads, ShareCodeAndTellTheTruth) {
  const Subject subject(GenerateStream(Options(GetParam())));
  const std::string truth = CountsText(subject.truth());
  for (const std::string& counts : CountInThreads(subject)) EXPECT_EQ(counts, truth);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ManyThreads, ::testing::Range<uint64_t>(1, 13));

}  // namespace
}  // namespace flowback::testing
