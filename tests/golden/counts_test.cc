// SPDX-License-Identifier: MIT
// Counts of blocks against what each generated recording's program executed, address by address.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/golden/engines.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/code_counts.h"

namespace flowback::golden {
namespace {

using ByAddress = std::map<uint64_t, uint64_t>;

struct CloseProgram {
  void operator()(FILE* program) const { pclose(program); }
};

// coverage.txt.gz: address, count, place. Empty where there is none.
ByAddress TrueCounts(const std::string& recording) {
  const std::string file = (TracesFolder() / "generated" / recording / "coverage.txt.gz").string();
  const std::unique_ptr<FILE, CloseProgram> text(popen(("zcat '" + file + "'").c_str(), "r"));
  ByAddress counts;
  unsigned long address = 0;
  unsigned long count = 0;
  while (text != nullptr && fscanf(text.get(), "%lx %lu %*s", &address, &count) == 2)
    counts[address] += count;
  return counts;
}

class Addresses final : public BlockCountConsumer {
 public:
  void OnCounts(const ThreadStay*, const BlockCounts& counts) override {
    for (const BlockUse& use : counts.uses) {
      uint64_t address = use.block.address;
      for (unsigned i = 0; i < use.count; ++i) {
        counts_[address] += use.times;
        address += use.block.lengths[i];
      }
    }
  }
  const ByAddress& counts() const { return counts_; }

 private:
  ByAddress counts_;
};

// Recordings that lost nothing, with all their streams.
std::map<std::string, std::vector<TrueDigest>> Whole() {
  std::map<std::string, std::vector<TrueDigest>> recordings;
  for (const TrueDigest& truth : TrueDigests())
    if (truth.IsStream() && !truth.recording.ends_with("-ovf"))
      recordings[truth.recording].push_back(truth);
  return recordings;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, streams] : Whole()) names.push_back(name);
  return names;
}

class CountsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CountsTest, AreWhatTheProgramExecuted) {
  const ByAddress truth = TrueCounts(GetParam());
  ASSERT_FALSE(truth.empty());
  const std::vector<TrueDigest> streams = Whole()[GetParam()];
  for (const unsigned threads : {1U, 3U}) {
    Addresses told;
    uint64_t lost = 0;
    for (const TrueDigest& of_stream : streams) {
      Result<GeneratedStream> stream = LoadGenerated(of_stream.recording, of_stream.Number());
      ASSERT_TRUE(stream) << stream.error().message();
      DecodeInput input = stream->Input();
      input.threads = threads;
      const std::unique_ptr<Decoder> decoder = Engine("native");
      const Result<FlowSummary> sum = decoder->Count(input, told);
      ASSERT_TRUE(sum) << sum.error().message();
      lost += sum->bytes_lost;
    }
    EXPECT_EQ(lost, 0u);
    EXPECT_EQ(told.counts().size(), truth.size());
    EXPECT_EQ(told.counts(), truth) << threads << " threads";
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CountsTest);
INSTANTIATE_TEST_SUITE_P(Recordings, CountsTest, ::testing::ValuesIn(Names()),
                         [](const ::testing::TestParamInfo<std::string>& which) {
                           return TestName(which.param);
                         });

TEST(SharedTracesForCountsTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
