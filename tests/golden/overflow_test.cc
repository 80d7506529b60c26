// SPDX-License-Identifier: MIT
// Recordings NAME-ovf lost instructions at internal buffer overflows; NAME is the same run without.
// gaps-cpuN.txt says for each overflow: how many instructions the packets before it prove, the
// number of the first lost one, and the number of the first one told again. So the flow must be
// that of NAME, instruction by instruction, with exactly [proven, told again) cut out each time.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/golden/engines.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/flow_of.h"

namespace flowback::golden {
namespace {

struct Gap {
  size_t proven = 0;
  size_t told_again = 0;
};

std::vector<Gap> ReadGaps(const GeneratedStream& stream, unsigned cpu) {
  std::vector<Gap> gaps;
  const std::filesystem::path folder = stream.folder;
  for (const auto& row : ReadTable(folder / ("gaps-cpu" + std::to_string(cpu) + ".txt")))
    gaps.push_back({std::stoull(row.at(0)), std::stoull(row.at(2))});
  return gaps;
}

std::vector<TrueDigest> Streams() {
  std::vector<TrueDigest> streams;
  for (const TrueDigest& truth : TrueDigests())
    if (truth.IsStream() && truth.recording.ends_with("-ovf")) streams.push_back(truth);
  return streams;
}

class OverflowTest : public ::testing::TestWithParam<std::tuple<TrueDigest, std::string>> {
 protected:
  void SetUp() override {
    const auto& [truth, engine] = GetParam();
    decoder_ = Engine(engine);
    FLOWBACK_NEEDS_ENGINE(decoder_);
    const std::string whole = truth.recording.substr(0, truth.recording.size() - 4);
    FlowSegment undisturbed;
    Decode(whole, undisturbed);
    whole_ = AddressesOf(undisturbed);
    Decode(truth.recording, told_);
    ASSERT_EQ(whole_.size(), truth.digest.count);
    ASSERT_TRUE(stream_);
    gaps_ = ReadGaps(*stream_, truth.Number());
    ASSERT_FALSE(gaps_.empty());
  }

  void Decode(const std::string& recording, FlowSegment& flow) {
    Result<GeneratedStream> stream = LoadGenerated(recording, std::get<0>(GetParam()).Number());
    ASSERT_TRUE(stream) << stream.error().message();
    stream_ = std::move(*stream);  // the code must stay as long as the flow
    SegmentRecorder recorder(flow);
    const Result<ByteAccount> account = decoder_->Decode(stream_->Input(), recorder);
    ASSERT_TRUE(account) << account.error().message();
    EXPECT_EQ(account->decoded + account->padding + account->lost, stream_->file->bytes().size());
  }

  // Returns, for each overflow among the losses, the number of instructions before it; other losses
  // must not occur.
  std::vector<uint64_t> Overflows() const {
    std::vector<uint64_t> overflows;
    ForEachItem(told_, [&](const DataLoss& loss, uint64_t before) {
      if (loss.cause == LossCause::kNoSync && loss.begin == 0) return;
      EXPECT_EQ(loss.cause, LossCause::kOverflow) << loss.detail;
      overflows.push_back(before);
    });
    return overflows;
  }

  std::unique_ptr<Decoder> decoder_;
  std::optional<GeneratedStream> stream_;  // the one with overflows
  std::vector<uint64_t> whole_;            // the addresses of what executed
  FlowSegment told_;
  std::vector<Gap> gaps_;
};

TEST_P(OverflowTest, LosesExactlyWhatTheGapsSay) {
  const std::vector<uint64_t> overflows = Overflows();
  ASSERT_EQ(overflows.size(), gaps_.size());
  std::vector<uint64_t> expected;
  size_t from = 0;
  for (size_t i = 0; i < gaps_.size(); ++i) {
    expected.insert(expected.end(), whole_.begin() + from, whole_.begin() + gaps_[i].proven);
    EXPECT_EQ(overflows[i], expected.size()) << "overflow " << i;
    from = gaps_[i].told_again;
  }
  expected.insert(expected.end(), whole_.begin() + from, whole_.end());
  const std::vector<uint64_t> addresses = AddressesOf(told_);
  ASSERT_EQ(addresses.size(), expected.size());
  const auto [told, truth] = std::ranges::mismatch(addresses, expected);
  EXPECT_EQ(told, addresses.end())
      << "first difference at instruction " << told - addresses.begin();
}

TEST_P(OverflowTest, ResumesWhereItSays) {
  const std::vector<uint64_t> addresses = AddressesOf(told_);
  size_t seen = 0;
  ForEachItem(told_, [&](const TraceEvent& event, uint64_t before) {
    if (event.kind != EventKind::kOverflow) return;
    ASSERT_LT(seen, gaps_.size());
    ASSERT_TRUE(event.has_ip);
    EXPECT_EQ(event.ip, whole_.at(gaps_[seen].told_again));
    ASSERT_LT(before, addresses.size());
    EXPECT_EQ(event.ip, addresses[before]);
    ++seen;
  });
  EXPECT_EQ(seen, gaps_.size());
}

std::string NameOf(const ::testing::TestParamInfo<OverflowTest::ParamType>& info) {
  const auto& [truth, engine] = info.param;
  return TestName(truth.recording + "_" + truth.who + "_" + engine);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OverflowTest);
INSTANTIATE_TEST_SUITE_P(Recordings, OverflowTest,
                         ::testing::Combine(::testing::ValuesIn(Streams()),
                                            ::testing::ValuesIn(kEngines)),
                         NameOf);

}  // namespace
}  // namespace flowback::golden
