// SPDX-License-Identifier: MIT
// An overview says of times and instructions what the whole timeline says, and of functions nearly
// that.
#include "replay/timeline/overview.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replay/flow/space_names.h"
#include "replay/timeline/kept_times.h"
#include "tests/code/temporary_folder.h"
#include "tests/golden/engines.h"
#include "tests/golden/opened_timeline.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

// Segments as small as a command makes them, and one behind the other counted in full.
const FlowIndex::Options kFine{.segment_bytes = 512, .sample = 1};

class OverviewTest : public ::testing::TestWithParam<PerfRecording> {
 protected:
  void Open(const Change& change = {}) {
    opened_ = std::make_unique<OpenedTimeline>(GetParam(), change);
    ASSERT_TRUE(opened_->sources);
    decoder_ = Engine("native");
  }
  TimedIndex Index(const FlowIndex::Options& options, const IndexCache& cache = {}) {
    Result<TimedIndex> index = OpenTimedIndex(opened_->perf.recording, *opened_->perf.code,
                                              *opened_->perf.inputs, *decoder_, options, cache);
    EXPECT_TRUE(index) << index.error().message();
    return *std::move(index);
  }

  std::unique_ptr<OpenedTimeline> opened_;
  std::unique_ptr<Decoder> decoder_;
};

void ExpectSameSpans(const ClassSpans& got, const ClassSpans& expected) {
  EXPECT_EQ(got.condensed, expected.condensed);
  ASSERT_EQ(got.spans.size(), expected.spans.size());
  for (size_t i = 0; i < got.spans.size(); ++i) {
    EXPECT_EQ(got.spans[i].kind, expected.spans[i].kind);
    for (const auto time : {&ClassSpan::begin, &ClassSpan::begin_lo, &ClassSpan::begin_hi,
                            &ClassSpan::end, &ClassSpan::end_lo, &ClassSpan::end_hi})
      ASSERT_EQ(got.spans[i].*time, expected.spans[i].*time) << i;
  }
}

// How near they must be.
struct Nearness {
  bool bounds = true;     // what is proven of sums is the same
  bool estimates = true;  // so are all times; else they are near
};

// But for what was executed.
void ExpectSameTimes(const TimeAccounts& got, const TimeAccounts& expected, Nearness how = {}) {
  EXPECT_EQ(got.nanoseconds, expected.nanoseconds);
  std::vector<const TimeAccount*> of_lives;
  for (const TimeAccount& account : expected.threads)
    if (account.lifetime() != 0) of_lives.push_back(&account);
  size_t compared = 0;
  for (const TimeAccount& account : got.threads) {
    if (account.lifetime() == 0) continue;
    ASSERT_LT(compared, of_lives.size());
    const TimeAccount& same = *of_lives[compared++];
    SCOPED_TRACE(account.tid);
    EXPECT_EQ(account.tid, same.tid);
    EXPECT_EQ(account.pid, same.pid);
    EXPECT_EQ(account.stream, same.stream);
    EXPECT_EQ(account.begin, same.begin);
    EXPECT_EQ(account.end, same.end);
    EXPECT_EQ(account.off_cpu_told, same.off_cpu_told);
    if (how.estimates) {
      EXPECT_EQ(account.causes, same.causes);
    }
    for (const TimeClass kind : kAllTimeClasses) {
      const auto near = how.estimates ? 0.0 : static_cast<double>(account.lifetime()) / 1000;
      EXPECT_NEAR(static_cast<double>(account.Of(kind).time),
                  static_cast<double>(same.Of(kind).time), near)
          << Name(kind);
      if (!how.bounds) continue;
      EXPECT_EQ(account.Of(kind).lo, same.Of(kind).lo) << Name(kind);
      EXPECT_EQ(account.Of(kind).hi, same.Of(kind).hi) << Name(kind);
    }
    if (how.estimates) ExpectSameSpans(*account.spans, *same.spans);
  }
  EXPECT_EQ(compared, of_lives.size());
}

// The pass that makes an index skips most of the flow without delivering its blocks.
TEST_P(OverviewTest, TimesOfTheFirstPassAreThoseOfADecode) {
  for (const bool damaged : {false, true}) {
    SCOPED_TRACE(damaged);
    ASSERT_NO_FATAL_FAILURE(Open(damaged ? Damaged(1 << 14) : Change()));
    Result<FlowAccounts> accounts =
        AccountFlow(opened_->perf.recording, *opened_->perf.inputs, *decoder_, true);
    ASSERT_TRUE(accounts);
    for (const FlowIndex::Options& options : {FlowIndex::Options(), kFine}) {
      const TimedIndex index = Index(options);
      ASSERT_TRUE(index.times);
      // When damage was met is estimated from what was gone through, which the two do not do alike.
      ExpectSameTimes(index.times->accounts, accounts->times, {.estimates = !damaged});
      uint64_t losses = 0;
      for (const LossSum& loss : index.times->losses) losses += loss.count;
      uint64_t counted = 0;
      for (const TimeAccount& account : accounts->times.threads) counted += account.losses;
      EXPECT_EQ(losses, counted);
    }
  }
}

TEST_P(OverviewTest, KeptTimesAreThoseThatWereMade) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const TemporaryFolder folder;
  const IndexCache cache{.folder = folder.path(), .worth_milliseconds = 0, .key = "one"};
  EXPECT_FALSE(LoadTimes(opened_->perf.recording, *opened_->perf.inputs, cache));
  const TimedIndex made = Index({}, cache);
  ASSERT_TRUE(made.times);
  EXPECT_FALSE(Index({}, cache).times);  // it decodes nothing
  const auto kept = LoadTimes(opened_->perf.recording, *opened_->perf.inputs, cache);
  ASSERT_TRUE(kept);
  ExpectSameTimes(kept->accounts, made.times->accounts, {.bounds = false});
  EXPECT_EQ(kept->losses.size(), made.times->losses.size());
  IndexCache other = cache;
  other.key = "two";
  const Result<FlowTimes> decoded =
      FindTimes(opened_->perf.recording, *opened_->perf.inputs, *decoder_, other);
  ASSERT_TRUE(decoded);
  ExpectSameTimes(decoded->accounts, made.times->accounts);
  EXPECT_TRUE(LoadTimes(opened_->perf.recording, *opened_->perf.inputs, other));
  // A timeline of the calls is the same with them.
  const TimelineOptions options{.columns = 50, .spans = true};
  Result<Timeline> timeline =
      MakeTimeline(*opened_->sources, opened_->played, options, kept->accounts);
  ASSERT_TRUE(timeline);
  EXPECT_TRUE(opened_->BytesOf(*timeline) ==
              opened_->BytesOf(opened_->Make(options, opened_->played)));
}

void ExpectSameThreads(const Timeline& got, const Timeline& whole) {
  EXPECT_EQ(got.begin, whole.begin);
  EXPECT_EQ(got.end, whole.end);
  EXPECT_EQ(got.times, whole.times);
  ASSERT_EQ(got.threads.size(), whole.threads.size());
  for (size_t i = 0; i < got.threads.size(); ++i) {
    const ThreadTimeline& thread = got.threads[i];
    const ThreadTimeline& same = whole.threads[i];
    SCOPED_TRACE(thread.tid);
    EXPECT_EQ(thread.tid, same.tid);
    EXPECT_EQ(thread.begin, same.begin);
    EXPECT_EQ(thread.end, same.end);
    EXPECT_EQ(thread.times, same.times);
    EXPECT_EQ(thread.causes, same.causes);
    EXPECT_EQ(thread.losses, same.losses);
    ASSERT_EQ(thread.strip.size(), same.strip.size());
    for (size_t column = 0; column < thread.strip.size(); ++column)
      EXPECT_EQ(thread.strip[column].times, same.strip[column].times) << column;
  }
}

std::map<std::string, double> SharesByName(const Timeline& timeline, uint64_t all) {
  std::map<std::string, double> shares;
  for (size_t i = 0; i < timeline.functions.size(); ++i)
    shares[timeline.functions[i].name] +=
        static_cast<double>(timeline.by_function[i].self_instructions) / static_cast<double>(all);
  return shares;
}

uint64_t InstructionsOf(const Timeline& timeline) {
  uint64_t all = 0;
  for (const ThreadTimeline& thread : timeline.threads) all += thread.instructions;
  return all;
}

// How much of the time executing lies in columns of which both name the same function.
double AgreedStrips(const Timeline& got, const Timeline& whole) {
  constexpr auto kExecuting = static_cast<size_t>(TimeClass::kExecuting);
  uint64_t all = 0;
  uint64_t agreed = 0;
  for (size_t i = 0; i < got.threads.size(); ++i)
    for (size_t column = 0; column < got.threads[i].strip.size(); ++column) {
      const StripColumn& one = got.threads[i].strip[column];
      const StripColumn& other = whole.threads[i].strip[column];
      if (other.function == CallPath::kNoFunction) continue;
      all += one.times[kExecuting];
      if (one.function != CallPath::kNoFunction &&
          got.functions[one.function].name == whole.functions[other.function].name)
        agreed += one.times[kExecuting];
    }
  return all == 0 ? 1 : static_cast<double>(agreed) / static_cast<double>(all);
}

TEST_P(OverviewTest, SaysWhatTheWholeTimelineSays) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const TimelineOptions options{.columns = 60};
  const Timeline whole = opened_->Make(options, opened_->played);
  const uint64_t instructions = InstructionsOf(whole);
  for (const FlowIndex::Options& how : {FlowIndex::Options(), kFine}) {
    SCOPED_TRACE(how.sample);
    const TimedIndex index = Index(how);
    const Overview overview =
        MakeOverview(*opened_->sources, index.index, *index.times, opened_->played, options);
    EXPECT_TRUE(CheckTimeline(overview.timeline));
    ExpectSameThreads(overview.timeline, whole);
    for (size_t i = 0; i < whole.threads.size(); ++i)
      EXPECT_EQ(overview.timeline.threads[i].instructions, whole.threads[i].instructions);
    EXPECT_EQ(overview.instructions, instructions);
    EXPECT_GT(overview.told * 100, instructions * 90);
    EXPECT_LT(overview.told * 100, instructions * 110);
    std::map<std::string, double> told = SharesByName(overview.timeline, instructions);
    for (const auto& [name, share] : SharesByName(whole, instructions)) {
      // Only its call shows where a nameless function begins.
      if (name.starts_with("[anon")) continue;
      EXPECT_NEAR(told[name], share, 0.03) << name;
    }
    if (overview.stretches >= 10) {
      EXPECT_GT(AgreedStrips(overview.timeline, whole), 0.7);
    }
  }
}

TEST_P(OverviewTest, TellsOfThreadsAndSpansOfTime) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const TimedIndex index = Index(kFine);
  for (const ThreadFlow& flow : opened_->flows) {
    const TimelineOptions options{.columns = 40};
    const Overview one =
        MakeOverview(*opened_->sources, index.index, *index.times, {&flow}, options);
    const Timeline whole = opened_->Make(options, {&flow});
    ExpectSameThreads(one.timeline, whole);
    EXPECT_EQ(one.instructions, InstructionsOf(whole));
    EXPECT_LE(one.told, one.instructions + one.timeline.functions.size());
  }
  const Overview all =
      MakeOverview(*opened_->sources, index.index, *index.times, opened_->played, {});
  const uint64_t middle = all.timeline.begin + (all.timeline.end - all.timeline.begin) / 2;
  uint64_t both = 0;
  ClassTimes times{};
  for (const TimeSpan& span :
       {TimeSpan{.begin = 0, .end = middle}, TimeSpan{.begin = middle, .end = UINT64_MAX}}) {
    const TimelineOptions options{.span = span, .columns = 40};
    const Overview half =
        MakeOverview(*opened_->sources, index.index, *index.times, opened_->played, options);
    const Timeline whole = opened_->Make(options, opened_->played);
    EXPECT_EQ(half.timeline.times, whole.times);
    for (size_t i = 0; i < times.size(); ++i) times[i] += half.timeline.times[i];
    both += half.instructions;
    // A segment on both sides is shared by time.
    const auto told = static_cast<double>(InstructionsOf(whole));
    EXPECT_NEAR(static_cast<double>(half.instructions), told,
                0.05 * static_cast<double>(all.instructions) + 1000);
  }
  EXPECT_EQ(times, all.timeline.times);
  if (all.timeline.begin < all.timeline.end) {
    EXPECT_NEAR(static_cast<double>(both), static_cast<double>(all.instructions),
                static_cast<double>(2 * opened_->flows.size()));
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OverviewTest);
INSTANTIATE_TEST_SUITE_P(Recordings, OverviewTest, ::testing::ValuesIn([] {
                           std::vector<PerfRecording> all = PerfRecordings();
                           for (PerfRecording& one : OverflownPerfRecordings())
                             all.push_back(std::move(one));
                           return all;
                         }()),
                         [](const auto& test) { return TestName(test.param.name); });

}  // namespace
}  // namespace flowback::golden
