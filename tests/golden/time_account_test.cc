// SPDX-License-Identifier: MIT
// The law of conservation of time on every generated recording: the six classes add up to the life
// of each thread, and the truth lies within their bounds.
#include "flowback/replay/time_account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "decode/pt/packets/packet.h"
#include "tests/golden/engines.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/golden/time_truth.h"
#include "tests/support/flow_of.h"

namespace flowback::golden {
namespace {

enum class Timing : uint8_t { kAsRecorded, kNoCyc, kTscOnly };

// Leaves out timing packets: so a recording with other options would look.
Change Without(Timing timing) {
  if (timing == Timing::kAsRecorded) return {};
  return [timing](const Stream& stream) {
    std::vector<uint8_t> rest;
    pt::PebsState pebs;
    pt::Packet packet;
    for (size_t at = 0; at < stream.bytes.size();) {
      const Bytes bytes = stream.bytes.subspan(at);
      const pt::ReadResult size = pt::ReadPacket(bytes, pebs, packet);
      if (!size) break;
      const bool drop = std::holds_alternative<pt::Cyc>(packet) ||
                        (timing == Timing::kTscOnly && std::holds_alternative<pt::Mtc>(packet));
      if (!drop) rest.insert(rest.end(), bytes.begin(), bytes.begin() + *size);
      at += *size;
    }
    return rest;
  };
}

// Includes recordings with losses by overflows.
std::vector<PerfRecording> AllRecordings() {
  std::vector<PerfRecording> recordings = PerfRecordings();
  for (const TrueDigest& truth : TrueDigests())
    if (!truth.IsStream() && truth.recording.ends_with("-ovf"))
      recordings.push_back({truth.recording, {truth}});
  return recordings;
}

class Accounted {
 public:
  void Run(const PerfRecording& truth, Timing timing, unsigned threads, const char* engine) {
    ASSERT_NO_FATAL_FAILURE(OpenPerf(truth, Without(timing), opened_));
    opened_.inputs->set_threads(threads, 0);
    const std::unique_ptr<Decoder> decoder = Engine(engine);
    Result<FlowAccounts> accounts = AccountFlow(opened_.recording, *opened_.inputs, *decoder);
    ASSERT_TRUE(accounts) << accounts.error().message();
    accounts_ = std::move(accounts->times);
    for (const Stream& stream : opened_.recording.streams) {
      const Result<FlowSummary> alone = decoder->Summarize(opened_.inputs->For(stream));
      ASSERT_TRUE(alone) << alone.error().message();
      EXPECT_EQ(accounts->summaries[stream.index].digest, alone->digest) << stream.index;
    }
  }

  const TimeAccounts& accounts() const { return accounts_; }
  const TimeConversion& time() const { return opened_.recording.time; }

 private:
  OpenedPerf opened_;
  TimeAccounts accounts_;
};

void ExpectSums(const TimeAccounts& accounts) {
  for (const TimeAccount& account : accounts.threads) {
    EXPECT_EQ(account.Sum(), account.lifetime()) << account.tid;
    uint64_t caused = 0;
    for (const auto& [cause, time] : account.causes) caused += time;
    EXPECT_EQ(caused, account.Of(TimeClass::kLost).time + account.Of(TimeClass::kUndecodable).time);
    for (const TimeShare& share : account.shares) {
      EXPECT_LE(share.lo, share.time) << account.tid;
      EXPECT_GE(share.hi, share.time) << account.tid;
    }
  }
}

void Print(const PerfRecording& recording, const TimeAccount& account) {
  std::printf("%s %d: life %llu", recording.name.c_str(), account.tid,
              static_cast<unsigned long long>(account.lifetime()));
  for (const TimeClass kind : kAllTimeClasses)
    if (const TimeShare& share = account.Of(kind); share.time != 0)
      std::printf(", %s %llu [%llu, %llu]", Name(kind), static_cast<unsigned long long>(share.time),
                  static_cast<unsigned long long>(share.lo),
                  static_cast<unsigned long long>(share.hi));
  std::printf("\n");
}

class TimeAccountTest : public ::testing::TestWithParam<PerfRecording> {};

TEST_P(TimeAccountTest, AgreesWithTheTruth) {
  Accounted accounted;
  ASSERT_NO_FATAL_FAILURE(accounted.Run(GetParam(), Timing::kAsRecorded, 1, "native"));
  ExpectSums(accounted.accounts());
  const std::string folder = (TracesFolder() / "generated" / GetParam().name).string();
  const std::map<int32_t, ThreadTruth> truths = ReadThreadTruth(folder);
  const auto ns = [&](uint64_t tsc) { return accounted.time().ToNanoseconds(tsc); };
  const auto duration = [&](uint64_t ticks) { return ns(ticks) - ns(0); };
  size_t compared = 0;
  for (const TimeAccount& account : accounted.accounts().threads) {
    Print(GetParam(), account);
    const auto digest = std::ranges::find(GetParam().threads, account.tid, [](const auto& truth) {
      return static_cast<int32_t>(truth.Number());
    });
    if (digest == GetParam().threads.end()) continue;
    ++compared;
    const bool overflows = GetParam().name.ends_with("-ovf");
    if (!overflows) {
      EXPECT_EQ(account.instructions, digest->digest.count);
      EXPECT_EQ(account.Of(TimeClass::kLost).time, 0u) << account.tid;
    }
    const ThreadTruth& truth = truths.at(account.tid);
    // Each of the two sides is rounded.
    const uint64_t slack = truth.stays.size() + 2;
    const TimeShare& executing = account.Of(TimeClass::kExecuting);
    const TimeShare& lost = account.Of(TimeClass::kLost);
    const uint64_t executed =
        duration(truth.executing - std::min(truth.executing, truth.overflowed));
    EXPECT_LE(executed, executing.hi + slack) << account.tid;
    EXPECT_GE(duration(truth.executing + truth.until_async - truth.overflowed) + slack,
              executing.lo)
        << account.tid;
    EXPECT_GE(duration(truth.overflowed) + slack, lost.lo) << account.tid;
    EXPECT_LE(duration(truth.overflowed), lost.hi + slack) << account.tid;
    EXPECT_EQ(account.Of(TimeClass::kUndecodable).time, 0u);
    EXPECT_EQ(account.Of(TimeClass::kFiltered).time, 0u);
    if (!account.off_cpu_told) continue;
    uint64_t away = 0;
    for (size_t i = 1; i < truth.stays.size(); ++i)
      away += ns(truth.stays[i].first) - ns(truth.stays[i - 1].second);
    away += ns(truth.stays.front().first) - account.begin;
    EXPECT_EQ(account.Of(TimeClass::kOffCpu).time, away) << account.tid;
  }
  EXPECT_EQ(compared, GetParam().threads.size());
}

bool Same(const TimeAccounts& one, const TimeAccounts& other) {
  const auto same = [](const TimeAccount& a, const TimeAccount& b) {
    const auto equal = [](const TimeShare& x, const TimeShare& y) {
      return x.time == y.time && x.lo == y.lo && x.hi == y.hi;
    };
    return a.tid == b.tid && a.begin == b.begin && a.end == b.end &&
           std::ranges::equal(a.shares, b.shares, equal) && a.causes == b.causes &&
           a.instructions == b.instructions && a.bytes == b.bytes && a.losses == b.losses;
  };
  return std::ranges::equal(one.threads, other.threads, same);
}

TEST_P(TimeAccountTest, DoesNotDependOnThreads) {
  Accounted serial;
  ASSERT_NO_FATAL_FAILURE(serial.Run(GetParam(), Timing::kAsRecorded, 1, "native"));
  Accounted parallel;
  ASSERT_NO_FATAL_FAILURE(parallel.Run(GetParam(), Timing::kAsRecorded, 3, "native"));
  EXPECT_TRUE(Same(serial.accounts(), parallel.accounts()));
}

std::string TimeText(const char* what, uint64_t offset, uint64_t tsc, const TscInterval& bounds) {
  return std::string(what) + " " + std::to_string(offset) + " " + std::to_string(tsc) + " [" +
         std::to_string(bounds.lo) + ", " + std::to_string(bounds.hi) + "]";
}

// Events and losses, as text.
std::vector<std::string> EventLines(const FlowSegment& flow) {
  std::vector<std::string> lines;
  ForEachItem(
      flow,
      [&](const TraceEvent& event) {
        lines.push_back(TimeText(Name(event.kind), event.offset, event.tsc, event.bounds));
      },
      [&](const DataLoss& loss) {
        lines.push_back(TimeText("lost", loss.begin, loss.tsc, loss.bounds));
        lines.push_back(TimeText("found", loss.end, loss.end_tsc, loss.end_bounds));
      });
  return lines;
}

TEST_P(TimeAccountTest, EventsHaveTheSameTimesWithoutTheBlocks) {
  OpenedPerf opened;
  ASSERT_NO_FATAL_FAILURE(OpenPerf(GetParam(), {}, opened));
  const std::unique_ptr<Decoder> decoder = Engine("native");
  for (const Stream& stream : opened.recording.streams) {
    DecodeInput input = opened.inputs->For(stream);
    input.times = true;
    const FlowSegment with = FlowOf(*decoder, input);
    input.blocks = false;
    const FlowSegment without = FlowOf(*decoder, input);
    EXPECT_EQ(without.instructions(), 0u);
    EXPECT_EQ(EventLines(with), EventLines(without));
  }
}

// With few timing packets it is not always known which thread ran: then time is lost, not given.
TEST_P(TimeAccountTest, AddsUpWhateverTheTiming) {
  for (const Timing timing : {Timing::kNoCyc, Timing::kTscOnly}) {
    Accounted accounted;
    ASSERT_NO_FATAL_FAILURE(accounted.Run(GetParam(), timing, 1, "native"));
    ExpectSums(accounted.accounts());
  }
}

TEST_P(TimeAccountTest, AddsUpWithTheReferenceEngine) {
  FLOWBACK_NEEDS_ENGINE(Engine("libipt"));
  if (GetParam().name.starts_with("big-")) GTEST_SKIP() << "slow";
  Accounted accounted;
  ASSERT_NO_FATAL_FAILURE(accounted.Run(GetParam(), Timing::kAsRecorded, 1, "libipt"));
  ExpectSums(accounted.accounts());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TimeAccountTest);
INSTANTIATE_TEST_SUITE_P(Recordings, TimeAccountTest, ::testing::ValuesIn(AllRecordings()),
                         [](const auto& test) { return TestName(test.param.name); });

TEST(TimeAccountFilesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
