// SPDX-License-Identifier: MIT
// Usual calls and returns that come together equal those that come one by one.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "flowback/replay/symbolizer.h"
#include "replay/timeline/thread_timeline_builder.h"

namespace flowback {
namespace {

constexpr uint64_t kBegin = 1000;

// A thread that mostly executes.
TimeAccount AccountOf(std::mt19937_64& random, uint64_t end) {
  TimeAccount account;
  account.begin = kBegin;
  account.end = end;
  account.spans.emplace();
  for (uint64_t at = kBegin; at < end;) {
    const bool runs = random() % 4 != 0;
    const uint64_t until = std::min(end, at + 1 + random() % (runs ? end / 8 : 50));
    account.spans->spans.push_back({.kind = runs ? TimeClass::kExecuting : TimeClass::kKernel,
                                    .begin = at,
                                    .begin_lo = at - random() % 5,
                                    .begin_hi = at + random() % 5,
                                    .end = until,
                                    .end_lo = until - random() % 5,
                                    .end_hi = until + random() % 5});
    at = until;
  }
  return account;
}

// Calls and returns as a flow may have them: times that are not known, that stand, that lie outside
// of their bounds or of the life; bounds that hold for one or for many.
std::vector<UsualMove> SomeMoves(std::mt19937_64& random, size_t count) {
  std::vector<UsualMove> moves;
  UsualMove at{.instructions = 5, .tsc = kBegin, .bounds = {kBegin - 9, kBegin + 60}};
  size_t depth = 1;
  for (size_t i = 0; i < count; ++i) {
    at.instructions += random() % 40;
    at.tsc += random() % 3 == 0 ? 0 : random() % 12;
    if (random() % 9 == 0) at.bounds = {at.tsc - random() % 20, at.tsc + random() % 90};
    if (random() % 200 == 0) at.bounds = {};
    at.enters = depth < 2 || random() % 2 == 0;
    depth += at.enters ? 1 : -1;
    at.entry = random() % 50 == 0 ? CallEntry::kTailCall : CallEntry::kCall;
    at.value = at.enters ? 1 + random() % 6 : random() % 1000;
    at.entry_ip = at.enters ? at.value * 64 : 0;
    moves.push_back(at);
    if (random() % 100 == 0) moves.back().tsc = 0;
    if (random() % 300 == 0) at.tsc += 2000;  // a kernel's time
  }
  return moves;
}

struct Told {
  ThreadTimeline thread;
  uint64_t cut_calls = 0;
  std::vector<CallPath> paths;
};

// `together`: so many at a time; 0: each as a call or return.
Told Tell(const std::vector<UsualMove>& moves, const TimeAccount& account,
          const TimelineOptions& options, size_t together) {
  Symbolizer symbolizer;
  FunctionTable functions(symbolizer);
  const BuilderPlan plan{.unit = TimeUnit(TimeConversion{.shift = 3, .mult = 9, .zero = 7}),
                         .options = options,
                         .functions = functions,
                         .most_calls = 40};
  ThreadTimelineBuilder teller(plan, &account,
                               TimeStrip(account.begin, account.end, options.columns));
  Call first;
  first.entry = CallEntry::kRunning;
  first.function = 9;
  first.tsc = kBegin;
  teller.OnEnter(first, 0);
  for (size_t i = 0; i < moves.size() && together != 0; i += together)
    teller.OnUsual(std::span(moves).subspan(i, std::min(together, moves.size() - i)), nullptr);
  for (const UsualMove& move : moves) {
    if (together != 0) break;
    Call call;
    call.entry_ip = move.entry_ip;
    call.function = move.value;
    call.tsc = move.tsc;
    call.bounds = move.bounds;
    call.instructions_before = move.instructions;
    if (move.enters)
      teller.OnEnter(call, 1);
    else
      teller.OnExit(1, {.entry = move.entry,
                        .how = CallExit::kReturn,
                        .time = {move.tsc, move.bounds},
                        .instructions = move.value,
                        .thread_instructions = move.instructions});
  }
  Told told;
  teller.EndLife();
  teller.Finish(told.thread);
  told.cut_calls = teller.tree().CutCalls();
  told.paths = teller.tree().Paths(~uint64_t{0});
  return told;
}

void ExpectSame(const Told& a, const Told& b) {
  ASSERT_EQ(a.paths.size(), b.paths.size());
  for (size_t i = 0; i < a.paths.size(); ++i) {
    const CallSums& one = a.paths[i].sums;
    const CallSums& other = b.paths[i].sums;
    EXPECT_EQ(a.paths[i].function, b.paths[i].function);
    EXPECT_EQ(a.paths[i].parent, b.paths[i].parent);
    EXPECT_EQ(one.count, other.count);
    EXPECT_EQ(one.partial, other.partial);
    EXPECT_EQ(one.self.time, other.self.time);
    EXPECT_EQ(one.self.lo, other.self.lo);
    EXPECT_EQ(one.self.hi, other.self.hi);
    EXPECT_EQ(one.own, other.own);
    EXPECT_EQ(one.self_instructions, other.self_instructions);
    EXPECT_EQ(one.durations.min, other.durations.min);
    EXPECT_EQ(one.durations.median, other.durations.median);
    EXPECT_EQ(one.durations.p99, other.durations.p99);
    EXPECT_EQ(one.durations.max, other.durations.max);
  }
  ASSERT_EQ(a.thread.calls.size(), b.thread.calls.size());
  for (size_t i = 0; i < a.thread.calls.size(); ++i) {
    const TimelineCall& one = a.thread.calls[i];
    const TimelineCall& other = b.thread.calls[i];
    EXPECT_EQ(one.begin, other.begin);
    EXPECT_EQ(one.begin_lo, other.begin_lo);
    EXPECT_EQ(one.end_hi, other.end_hi);
    EXPECT_EQ(one.end, other.end);
    EXPECT_EQ(one.instructions, other.instructions);
    EXPECT_EQ(one.function, other.function);
    EXPECT_EQ(one.depth, other.depth);
    EXPECT_EQ(one.entry, other.entry);
  }
  EXPECT_EQ(a.thread.calls_left_out, b.thread.calls_left_out);
  EXPECT_EQ(a.cut_calls, b.cut_calls);
  ASSERT_EQ(a.thread.strip.size(), b.thread.strip.size());
  for (size_t i = 0; i < a.thread.strip.size(); ++i) {
    EXPECT_EQ(a.thread.strip[i].times, b.thread.strip[i].times);
    EXPECT_EQ(a.thread.strip[i].function, b.thread.strip[i].function);
    EXPECT_EQ(a.thread.strip[i].function_time, b.thread.strip[i].function_time);
  }
}

TEST(UsualMovesTest, AreTheCallsOneByOne) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::vector<UsualMove> moves = SomeMoves(random, 4000);
    // In the account's unit; some threads end ahead of their flow.
    const uint64_t last = 7 + moves.back().tsc * 9 / 8;
    const TimeAccount account = AccountOf(random, seed % 5 == 4 ? last - last / 4 : last + 100);
    TimelineOptions options{.columns = seed % 3 * 50};
    if (seed % 4 == 1) options.span = {.begin = last / 3, .end = last / 2};
    if (seed % 7 == 2) options.most_paths = 20;
    const Told each = Tell(moves, account, options, 0);
    EXPECT_GT(each.paths.size(), 5u);
    for (const size_t together : {1u, 7u, 256u, 4000u}) {
      SCOPED_TRACE(together);
      ASSERT_NO_FATAL_FAILURE(ExpectSame(Tell(moves, account, options, together), each));
    }
  }
}

}  // namespace
}  // namespace flowback
