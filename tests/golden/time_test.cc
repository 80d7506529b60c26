// SPDX-License-Identifier: MIT
// Times against the truth: every instruction of every generated recording whose true time is known
// executed within its bounds, and the best estimates are nearer to the truth than perf's.
//
// The limits are what perf 6.1 reached at the same instructions of the same file: `perf script
// --itrace=i0ns -F tid,time,ip --ns`, its n-th line of a thread compared with the true time of the
// thread's n-th instruction, both in nanoseconds, at the points that time_truth.h names. They are
// perf's figures, of all the recording's threads together; ours must not be above them for any
// stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "base/recorded/pt_config.h"
#include "tests/golden/engines.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"
#include "tests/golden/time_truth.h"

namespace flowback::golden {
namespace {

struct Error {
  double mean_ns = 0;
  double max_ns = 0;
};

// At the points of events.txt.gz.
const std::map<std::string, Error> kPerf = {
    {"big-gzip", {169.74, 333}},
    {"big-sqlite3", {163.63, 332}},
    {"coverage", {189.46, 332}},
    {"crash", {170.45, 332}},
    {"dlopen-aslr", {162.67, 332}},
    {"execs", {156.39, 333}},
    {"forks", {176.09, 332}},
    {"hello", {169.51, 328}},
    {"jit", {184.65, 332}},
    {"latency-cyc", {0.21, 1}},
    {"pool-perthread", {167.84, 333}},
    {"ptwrite", {191.75, 332}},
    {"recursion", {126.46, 314}},
    {"recursion-noretcomp", {126.46, 314}},
    {"retmix", {190.94, 332}},
    {"signals-async", {164.70, 333}},
    {"signals-events", {164.33, 333}},
    {"sort-long-tnt", {176.85, 326}},
    {"spin-cyc", {0.23, 1}},
    {"spin-switchwide-power", {177.55, 333}},
    {"strings", {184.40, 332}},
    {"switch-cyc", {0.28, 1}},
    {"traps", {179.35, 332}},
    {"vcalls", {153.12, 327}},
    {"vcalls-ovf", {15190.78, 48279}},
    {"vcalls-pebs", {153.12, 327}},
};
// At every instruction.
constexpr Error kPerfEveryInstructionOfHello = {163.51, 389};

// Looks at each instruction's time as it comes.
class TimeJudge final : public ExecutionConsumer {
 public:
  TimeJudge(TimeTruth truth, std::vector<OverflowGap> gaps, TimeConversion time, uint64_t period)
      : truth_(std::move(truth)), gaps_(std::move(gaps)), time_(time), period_(period) {}

  void OnBlock(const BlockRun& run) override {
    digest_.count += run.lengths.size();
    for (size_t i = 0; i < run.lengths.size(); ++i) OnInstruction(run.TscOf(i), run.BoundsOf(i));
  }
  void OnEvent(const TraceEvent& event) override {
    ExpectOrder(event.tsc, event.bounds);
    if (event.kind != EventKind::kOverflow) return;
    ASSERT_LT(overflows_, gaps_.size());
    index_ = gaps_[overflows_++].told_again;
  }
  void OnLoss(const DataLoss&) override {}

  void Judge(const std::string& name) const;
  uint64_t instructions() const { return digest_.count; }

 private:
  struct Tally {
    double sum = 0;
    double max = 0;
    size_t count = 0;
    void Add(double error) {
      sum += error;
      max = std::max(max, error);
      ++count;
    }
    double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
  };

  void OnInstruction(uint64_t tsc, const TscInterval& bounds) {
    ExpectOrder(tsc, bounds);
    CountWidth(bounds);
    while (next_ < truth_.points.size() && truth_.points[next_].index < index_) ++next_;
    if (next_ < truth_.points.size() && truth_.points[next_].index == index_)
      Compare(truth_.points[next_].tsc, tsc, bounds, at_points_);
    if (index_ < truth_.every.size()) Compare(truth_.every[index_], tsc, bounds, at_every_);
    ++index_;
  }

  void Compare(uint64_t truth, uint64_t tsc, const TscInterval& bounds, Tally& tally) {
    if (truth < bounds.lo || (bounds.hi != 0 && truth > bounds.hi)) {
      if (++outside_ <= 5)
        ADD_FAILURE() << "instruction " << index_ << " executed at " << truth << ", not in ["
                      << bounds.lo << ", " << bounds.hi << "]";
    }
    const auto ns = [this](uint64_t ticks) {
      return static_cast<double>(time_.ToNanoseconds(ticks));
    };
    tally.Add(std::abs(ns(truth) - ns(tsc)));
  }

  void ExpectOrder(uint64_t tsc, const TscInterval& bounds) {
    disorder_ += tsc < last_tsc_ || bounds.lo < last_lo_;
    disorder_ += tsc < bounds.lo || (bounds.hi != 0 && (bounds.hi < bounds.lo || tsc > bounds.hi));
    last_tsc_ = tsc;
    last_lo_ = bounds.lo;
  }

  void CountWidth(const TscInterval& bounds) {
    if (bounds.hi == 0) {
      ++open_;
      return;
    }
    const uint64_t width = bounds.hi - bounds.lo;
    ++widths_[std::min<uint64_t>(width, widths_.size() - 1)];
    widest_ = std::max(widest_, width);
    wide_ += width > 2 * period_ + kRounding;
  }
  uint64_t MedianWidth() const {
    uint64_t all = 0;
    for (const uint64_t count : widths_) all += count;
    uint64_t seen = 0;
    for (size_t width = 0; width < widths_.size(); ++width)
      if ((seen += widths_[width]) * 2 >= all) return width;
    return 0;
  }

  static constexpr uint64_t kRounding = 3;  // ticks, at the two ends

  TimeTruth truth_;
  std::vector<OverflowGap> gaps_;
  TimeConversion time_;
  uint64_t period_;
  FlowDigest digest_;
  uint64_t index_ = 0;
  size_t overflows_ = 0;
  size_t next_ = 0;
  Tally at_points_;
  Tally at_every_;
  size_t outside_ = 0;
  size_t disorder_ = 0;
  size_t open_ = 0;
  size_t wide_ = 0;
  uint64_t widest_ = 0;
  std::array<uint64_t, 10'000> widths_{};
  uint64_t last_tsc_ = 0;
  uint64_t last_lo_ = 0;
};

void TimeJudge::Judge(const std::string& name) const {
  std::printf(
      "%s: %zu true times: error mean %.2f ns, max %.0f ns; bounds: median %llu ticks, "
      "widest %llu, open %zu\n",
      name.c_str(), at_points_.count + at_every_.count,
      at_every_.count != 0 ? at_every_.mean() : at_points_.mean(),
      std::max(at_points_.max, at_every_.max), static_cast<unsigned long long>(MedianWidth()),
      static_cast<unsigned long long>(widest_), open_);
  EXPECT_EQ(outside_, 0u) << "true times outside the bounds";
  EXPECT_EQ(disorder_, 0u) << "times that go back, or lie outside their own bounds";
  EXPECT_NE(at_points_.count, 0u);
  const auto perf = kPerf.find(name);
  ASSERT_NE(perf, kPerf.end()) << "measure perf's error for " << name;
  EXPECT_LE(at_points_.mean(), perf->second.mean_ns);
  EXPECT_LE(at_points_.max, perf->second.max_ns);
  if (!truth_.every.empty()) {
    EXPECT_LE(at_every_.mean(), kPerfEveryInstructionOfHello.mean_ns);
    EXPECT_LE(at_every_.max, kPerfEveryInstructionOfHello.max_ns);
  }
  if (!gaps_.empty()) return;
  EXPECT_EQ(open_, 0u);
  // Two MTC periods at most, but where branches are so rare that one TNT packet collects over more
  // than one MTC: cold code after a program's start.
  EXPECT_LE(widest_, 3 * period_ + kRounding);
  EXPECT_LE(wide_ * 1000, digest_.count) << "intervals of more than two MTC periods";
  EXPECT_LE(MedianWidth(), period_ + kRounding);
}

class TimeTest : public ::testing::TestWithParam<TrueDigest> {};

TEST_P(TimeTest, IsWithinItsBoundsAndNearerThanPerf) {
  const TrueDigest& truth = GetParam();
  Result<GeneratedStream> stream = LoadGenerated(truth.recording, truth.Number());
  ASSERT_TRUE(stream) << stream.error().message();
  DecodeInput input = stream->Input();
  input.times = true;
  const PtConfig& config = stream->config;
  ASSERT_TRUE(config.mtc_shift);
  const uint64_t period =
      (uint64_t{config.tsc_ctc_numerator} << *config.mtc_shift) / config.tsc_ctc_denominator;
  std::vector<OverflowGap> gaps;
  if (truth.recording.ends_with("-ovf")) gaps = ReadOverflowGaps(stream->folder, truth.Number());
  TimeJudge judge(ReadTimeTruth(stream->folder, truth.Number()), gaps, stream->time, period);
  const Result<ByteAccount> account = Engine("native")->Decode(input, judge);
  ASSERT_TRUE(account) << account.error().message();
  EXPECT_EQ(account->decoded + account->padding + account->lost, input.bytes.size());
  uint64_t lost = 0;
  for (size_t i = 0; i < gaps.size(); ++i) lost += gaps[i].told_again - gaps[i].proven;
  EXPECT_EQ(judge.instructions(), truth.digest.count - lost);
  judge.Judge(truth.recording);
}

std::vector<TrueDigest> Streams() {
  std::vector<TrueDigest> streams;
  for (const TrueDigest& truth : TrueDigests())
    if (truth.IsStream()) streams.push_back(truth);
  return streams;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TimeTest);
INSTANTIATE_TEST_SUITE_P(Recordings, TimeTest, ::testing::ValuesIn(Streams()),
                         [](const ::testing::TestParamInfo<TrueDigest>& which) {
                           return TestName(which.param.recording + "_" + which.param.who);
                         });

TEST(SharedTracesForTimesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
