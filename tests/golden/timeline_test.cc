// SPDX-License-Identifier: MIT
// Timelines of the generated recordings: the law, and the truth about times and instructions.
#include "flowback/replay/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decode/pt/packets/packet.h"
#include "flowback/replay/player.h"
#include "replay/timeline/thread_timeline_builder.h"
#include "tests/golden/engines.h"
#include "tests/golden/opened_timeline.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/golden/time_truth.h"

namespace flowback::golden {
namespace {

class TimelineTest : public ::testing::TestWithParam<PerfRecording> {
 protected:
  void Open(const Change& change = {}) {
    opened_ = std::make_unique<OpenedTimeline>(GetParam(), change);
    ASSERT_TRUE(opened_->sources);
  }
  Timeline Make(const TimelineOptions& options = {}) { return opened_->Make(options); }

  std::unique_ptr<OpenedTimeline> opened_;
};

TimeAccount* AccountOf(std::vector<TimeAccount>& accounts, int32_t tid) {
  const auto found = std::ranges::find(accounts, tid, &TimeAccount::tid);
  return found == accounts.end() ? nullptr : &*found;
}

// The account of times comes from another pass, which knows nothing of calls.
TEST_P(TimelineTest, EachMomentIsInOneCall) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const Timeline timeline = Make({.columns = 100, .spans = true});
  Result<FlowAccounts> accounts =
      AccountFlow(opened_->perf.recording, *opened_->perf.inputs, *Engine("native"));
  ASSERT_TRUE(accounts);
  for (const ThreadTimeline& thread : timeline.threads) {
    const TimeAccount* account = AccountOf(accounts->times.threads, thread.tid);
    if (thread.tid < 0 || account == nullptr) continue;
    EXPECT_EQ(thread.end - thread.begin, account->lifetime());
    for (const TimeClass kind : kAllTimeClasses)
      EXPECT_EQ(thread.times[static_cast<size_t>(kind)], account->Of(kind).time) << Name(kind);
    EXPECT_EQ(thread.instructions, account->instructions);
    ASSERT_FALSE(thread.paths.empty());
    const CallSums& root = thread.paths.front().sums;
    EXPECT_EQ(root.total, account->lifetime());
    EXPECT_EQ(root.executing, account->Of(TimeClass::kExecuting).time);
    EXPECT_EQ(root.instructions, account->instructions);
    uint64_t at = thread.begin;
    for (const ClassSpan& span : thread.spans) {
      EXPECT_EQ(span.begin, at);
      EXPECT_LE(span.begin_lo, span.begin);
      EXPECT_GE(span.end_hi, span.end);
      at = span.end;
    }
    EXPECT_EQ(at, thread.end);
    ClassTimes columns{};
    for (const StripColumn& column : thread.strip)
      for (size_t i = 0; i < columns.size(); ++i) columns[i] += column.times[i];
    EXPECT_EQ(columns, thread.times);
  }
}

TEST_P(TimelineTest, CallsNestAndLieInTheirBounds) {
  ASSERT_NO_FATAL_FAILURE(Open());
  for (const ThreadTimeline& thread : Make().threads) {
    std::map<uint32_t, std::vector<const TimelineCall*>> open;
    for (const TimelineCall& call : thread.calls) {
      EXPECT_LE(call.begin_lo, call.begin);
      EXPECT_GE(call.begin_hi, call.begin);
      EXPECT_LE(call.end_lo, call.end);
      EXPECT_GE(call.end_hi, call.end);
      EXPECT_GE(call.begin, thread.begin);
      EXPECT_LE(call.end, thread.end);
      EXPECT_GE(call.duration(), thread.shortest);
      if (call.stack != 0) continue;
      std::vector<const TimelineCall*>& outer = open[call.stack];
      while (!outer.empty() && outer.back()->depth >= call.depth) outer.pop_back();
      if (!outer.empty() && outer.back()->end > call.begin) {
        EXPECT_LE(outer.back()->begin, call.begin);
        EXPECT_GE(outer.back()->end, call.end) << call.begin << " depth " << call.depth;
      }
      outer.push_back(&call);
    }
  }
}

TEST_P(TimelineTest, DoesNotDependOnThreads) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const auto told = [&](unsigned threads) {
    return opened_->BytesOf(
        Make({.threads = threads, .in_flight = threads - 1, .columns = 100, .spans = true}));
  };
  const std::vector<uint8_t> one = told(1);
  EXPECT_FALSE(one.empty());
  for (const unsigned threads : {2U, 3U}) EXPECT_TRUE(told(threads) == one) << threads;
}

// Two halves are the whole.
TEST_P(TimelineTest, SpansAddUp) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const Timeline whole = Make();
  const uint64_t middle = whole.begin + (whole.end - whole.begin) / 2;
  const Timeline first = Make({.span = {.begin = 0, .end = middle}});
  const Timeline second = Make({.span = {.begin = middle, .end = UINT64_MAX}});
  for (size_t i = 0; i < whole.times.size(); ++i)
    EXPECT_EQ(first.times[i] + second.times[i], whole.times[i]);
  std::map<std::string, uint64_t> self;
  for (const Timeline* part : {&first, &second})
    for (size_t i = 0; i < part->functions.size(); ++i)
      self[part->functions[i].name + part->functions[i].file] += part->by_function[i].self.time;
  for (size_t i = 0; i < whole.functions.size(); ++i)
    self[whole.functions[i].name + whole.functions[i].file] -= whole.by_function[i].self.time;
  for (const auto& [name, rest] : self) EXPECT_EQ(rest, 0u) << name;
}

// With few paths and calls to keep nothing is lost but the detail.
TEST_P(TimelineTest, KeepsTheLawInLittleMemory) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const Timeline timeline = Make({.most_paths = 20, .most_calls = 32});
  EXPECT_LE(timeline.paths.size(), 20u);
  const Timeline whole = Make();
  ASSERT_EQ(timeline.by_function.size(), whole.by_function.size());
  for (size_t i = 0; i < whole.by_function.size(); ++i) {
    const CallSums& few = timeline.by_function[i];
    const CallSums& all = whole.by_function[i];
    SCOPED_TRACE(whole.functions[i].name);
    EXPECT_EQ(few.count, all.count);
    EXPECT_EQ(few.partial, all.partial);
    EXPECT_EQ(few.own, all.own);
    EXPECT_EQ(few.total, all.total);
    EXPECT_EQ(few.self_instructions, all.self_instructions);
    EXPECT_EQ(few.instructions, all.instructions);
    EXPECT_EQ(few.durations.count, all.durations.count);
    EXPECT_EQ(few.durations.median, all.durations.median);
  }
  for (size_t i = 0; i < whole.threads.size(); ++i) {
    EXPECT_EQ(timeline.threads[i].times, whole.threads[i].times);
    EXPECT_EQ(timeline.threads[i].paths[0].sums.instructions,
              whole.threads[i].paths[0].sums.instructions);
    EXPECT_EQ(timeline.threads[i].calls.size() + timeline.threads[i].calls_left_out,
              whole.threads[i].calls.size() + whole.threads[i].calls_left_out);
  }
}

// Each `step` bytes one is another; and where `times` is asked for, time-stamps go back and forth.
Change Damage(size_t step, bool times) {
  return [step, times](const Stream& stream) {
    std::vector<uint8_t> bytes(stream.bytes.begin(), stream.bytes.end());
    uint64_t random = 88172645463325252u + step;
    const auto next = [&] {
      random ^= random << 13;
      random ^= random >> 7;
      return random ^= random << 17;
    };
    for (size_t at = step; step != 0 && at < bytes.size(); at += step)
      bytes[at] = static_cast<uint8_t>(next());
    pt::PebsState pebs;
    pt::Packet packet;
    for (size_t at = 0; times && at < bytes.size();) {
      const pt::ReadResult size = pt::ReadPacket(Bytes(bytes).subspan(at), pebs, packet);
      if (!size) break;
      if (std::holds_alternative<pt::Tsc>(packet) && next() % 2 == 0)
        bytes[at + 2 + next() % 3] ^= static_cast<uint8_t>(1 + next() % 255);
      at += *size;
    }
    return bytes;
  };
}

void ExpectLaw(const Timeline& timeline) {
  EXPECT_TRUE(CheckTimeline(timeline));
  for (const ThreadTimeline& thread : timeline.threads) {
    if (thread.paths.empty()) continue;
    EXPECT_EQ(thread.paths[0].sums.total, thread.end - thread.begin) << thread.tid;
    EXPECT_EQ(thread.paths[0].sums.instructions, thread.instructions) << thread.tid;
  }
}

TEST_P(TimelineTest, KeepsTheLawOnDamage) {
  if (GetParam().name.starts_with("big-")) return;  // the others have all there is to damage
  for (const size_t step : {size_t{0}, size_t{97}, size_t{1009}})
    for (const bool times : {false, true}) {
      SCOPED_TRACE(step);
      ASSERT_NO_FATAL_FAILURE(Open(Damage(step, times)));
      ExpectLaw(Make({.columns = 50, .spans = true}));
    }
}

// A CallStack's output, in lines.
class CallNotes final : public CallListener, public PlayConsumer {
 public:
  CallNotes(FunctionFinder& finder, UsualCallDelivery wants)
      : wants_(wants), stack_(finder, *this) {}
  void OnBlocks(const BlockBatch& batch) override { stack_.OnBlocks(batch); }
  void OnBlock(const BlockRun& run) override { stack_.OnBlock(run); }
  void OnEvent(const TraceEvent& event) override { stack_.OnEvent(event); }
  void OnLoss(const DataLoss& loss) override { stack_.OnLoss(loss); }
  void OnThreadEnd(const ThreadFlow&, size_t) override { stack_.Finish(); }

  UsualCallDelivery WantsUsual() const override { return wants_; }
  void OnUsual(std::span<const UsualMove> moves, const AddressSpace* space) override {
    usual += moves.size();
    for (const UsualMove& move : moves)
      if (move.enters)
        Note({1, move.entry_ip, move.value, move.tsc, move.bounds.lo, move.bounds.hi,
              move.instructions, reinterpret_cast<uintptr_t>(space)});
      else
        Note({3, static_cast<uint64_t>(move.entry), move.value, move.tsc, move.bounds.lo,
              move.bounds.hi, move.instructions, 0});
  }
  void OnEnter(const Call& call, size_t) override {
    const bool is_call = call.entry == CallEntry::kCall;
    Note({uint64_t{is_call}, call.entry_ip, call.function, call.tsc, call.bounds.lo, call.bounds.hi,
          call.instructions_before, reinterpret_cast<uintptr_t>(call.space)});
  }
  void OnExit(const Call& call, size_t, CallExit how, uint64_t instructions,
              const ExitTime& time) override {
    const bool returns = how == CallExit::kReturn;
    Note({2 + uint64_t{returns}, static_cast<uint64_t>(call.entry), instructions, time.tsc,
          time.bounds.lo, time.bounds.hi, stack_.instructions(), 0});
  }
  void OnGap(const UntracedGap& gap, size_t depth) override { Note({4, gap.site, depth}); }
  void OnSwitch(uint32_t stack) override { Note({5, stack}); }

  std::vector<std::array<uint64_t, 8>> notes;
  uint64_t usual = 0;

 private:
  // As many as memory has room for.
  void Note(const std::array<uint64_t, 8>& note) {
    if (notes.size() < 1'000'000) notes.push_back(note);
  }
  const UsualCallDelivery wants_;
  CallStack stack_;
};

TEST_P(TimelineTest, UsualCallsAreToldAsTheyWereOneByOne) {
  ASSERT_NO_FATAL_FAILURE(Open());
  Player player(opened_->sources->flow, {});
  CallNotes each(*opened_->functions, UsualCallDelivery::kEach);
  ASSERT_TRUE(player.Play(opened_->played, each));
  CallNotes together(*opened_->functions, UsualCallDelivery::kTogether);
  ASSERT_TRUE(player.Play(opened_->played, together));
  EXPECT_EQ(each.usual, 0u);
  EXPECT_EQ(together.notes, each.notes);
  if (GetParam().name.starts_with("big-")) {
    EXPECT_GT(together.usual, 100'000u);
  }
}

// The owner of each instruction's time, by the recording's own list of when each executed.
class TrueSelfTimes final : public CallListener, public PlayConsumer {
 public:
  TrueSelfTimes(Symbolizer& symbolizer, SymbolFunctions& finder, const TimeTruth& truth)
      : functions_(symbolizer), stack_(finder, *this), truth_(truth) {}
  void OnBlock(const BlockRun& run) override {
    stack_.Arrive(run);
    uint64_t ticks = std::exchange(in_stub_, 0);
    for (size_t i = 0; i < run.lengths.size(); ++i, ++index_)
      if (const auto before = TimeBefore(index_)) ticks += truth_.every[index_] - *before;
    // A stub's time is that of the function which it jumps to.
    const Call& call = stack_.calls().back();
    (call.is_stub ? in_stub_ : times_[functions_.NumberOf(call)]) += ticks;
    stack_.OnBlock(run);
  }
  void OnEvent(const TraceEvent& event) override {
    off_ = off_ || event.kind == EventKind::kStopped || event.kind == EventKind::kStoppedAsync;
    stack_.OnEvent(event);
  }
  void OnLoss(const DataLoss& loss) override { stack_.OnLoss(loss); }
  void OnEnter(const Call&, size_t) override {}
  void OnExit(const Call&, size_t, CallExit, uint64_t, const ExitTime&) override {}
  void OnGap(const UntracedGap&, size_t) override {}

  std::map<std::string, uint64_t> Take() {
    std::map<std::string, uint64_t> named;
    for (const auto& [number, time] : times_) named[functions_.all()[number].name] += time;
    return named;
  }
  uint64_t instructions() const { return index_; }

 private:
  // Nothing for the first one behind a pause: what lies before it is the kernel's.
  std::optional<uint64_t> TimeBefore(uint64_t index) {
    if (std::exchange(off_, false) || index == 0) return std::nullopt;
    return truth_.every[index - 1];
  }

  FunctionTable functions_;
  CallStack stack_;
  const TimeTruth& truth_;
  std::map<uint32_t, uint64_t> times_;  // ticks
  uint64_t in_stub_ = 0;
  uint64_t index_ = 0;
  bool off_ = true;
};

// The one recording with the time of every instruction.
class TimelineTruthTest : public TimelineTest {};

TEST_P(TimelineTruthTest, TrueSelfTimesLieInTheBounds) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const std::string folder = (TracesFolder() / "generated" / GetParam().name).string();
  const TimeTruth truth = ReadTimeTruth(folder, 1);
  ASSERT_FALSE(truth.every.empty());
  const Timeline timeline = Make();
  TrueSelfTimes times(*opened_->symbolizer, *opened_->functions, truth);
  Player player(opened_->sources->flow, {});
  ASSERT_TRUE(player.Play(opened_->played, times));
  EXPECT_EQ(times.instructions(), truth.every.size());
  // Ahead of the first instruction behind a pause executing begins a little earlier.
  std::map<std::string, TimeShare> told;
  for (size_t i = 0; i < timeline.functions.size(); ++i) {
    TimeShare& share = told[timeline.functions[i].name];
    share.lo += timeline.by_function[i].self.lo;
    share.hi += timeline.by_function[i].self.hi;
  }
  const TimeConversion& conversion = opened_->perf.recording.time;
  uint64_t compared = 0;
  for (const auto& [name, ticks] : times.Take()) {
    const uint64_t ns = conversion.ToNanoseconds(ticks) - conversion.ToNanoseconds(0);
    EXPECT_LE(ns, told[name].hi + 2) << name;
    EXPECT_GE(ns + ns / 100 + 100, told[name].lo) << name;
    ++compared;
  }
  EXPECT_GT(compared, 50u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TimelineTruthTest);
INSTANTIATE_TEST_SUITE_P(Recordings, TimelineTruthTest, ::testing::ValuesIn([] {
                           std::vector<PerfRecording> all = PerfRecordings();
                           std::erase_if(all, [](const auto& one) { return one.name != "hello"; });
                           return all;
                         }()),
                         [](const auto& test) { return TestName(test.param.name); });

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TimelineTest);
INSTANTIATE_TEST_SUITE_P(Recordings, TimelineTest, ::testing::ValuesIn([] {
                           std::vector<PerfRecording> all = PerfRecordings();
                           for (PerfRecording& one : OverflownPerfRecordings())
                             all.push_back(std::move(one));
                           return all;
                         }()),
                         [](const auto& test) { return TestName(test.param.name); });

TEST(TimelineFilesTest, ArePresent) { FLOWBACK_NEEDS_TRACES(); }

}  // namespace
}  // namespace flowback::golden
