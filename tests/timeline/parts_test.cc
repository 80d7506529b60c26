// SPDX-License-Identifier: MIT
// What a timeline is made of, with more of each than a recording has.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "replay/threads/class_spans.h"
#include "replay/timeline/call_tree.h"
#include "replay/timeline/duration_counts.h"
#include "replay/timeline/kept_calls.h"
#include "replay/timeline/time_strip.h"

namespace flowback {
namespace {

// Against all durations, sorted.
TEST(DurationCountsTest, QuantilesAreRightToAThirtySecond) {
  std::mt19937_64 random(7);
  for (const size_t count : {1u, 2u, 3u, 100u, 5000u}) {
    DurationCounts counts;
    DurationCounts halves[2];
    std::vector<uint64_t> all;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t duration = random() >> (random() % 64);
      all.push_back(duration);
      counts.Add(duration);
      halves[i % 2].Add(duration);
    }
    std::ranges::sort(all);
    halves[0].Add(halves[1]);
    for (const CallDurations& told : {counts.Take(), halves[0].Take()}) {
      EXPECT_EQ(told.count, count);
      EXPECT_EQ(told.min, all.front());
      EXPECT_EQ(told.max, all.back());
      const uint64_t median = all[(count - 1) / 2];
      const uint64_t p99 = all[count - 1 - (count - 1) / 100];
      EXPECT_LE(told.median, median);
      EXPECT_GE(told.median, median - median / 32 - 1);
      EXPECT_LE(told.p99, p99);
      EXPECT_GE(told.p99, p99 - p99 / 32 - 1);
    }
  }
  EXPECT_EQ(DurationCounts().Take().count, 0u);
}

// More pauses than are kept: memory is bounded, each class keeps its time, nothing overlaps.
TEST(ClassSpansTest, AreCondensedWithoutLoss) {
  TimeAccount account;
  account.spans.emplace();
  std::mt19937_64 random(3);
  ClassTimes truth{};
  uint64_t at = account.begin = 1000;
  for (size_t i = 0; i < 5 * kMostClassSpans; ++i) {
    const uint64_t end = at + random() % 9;
    const auto kind = static_cast<TimeClass>(random() % std::size(kAllTimeClasses));
    truth[static_cast<size_t>(kind)] += end - at;
    AddSpan(*account.spans, {.kind = kind,
                             .begin = at,
                             .begin_lo = at,
                             .begin_hi = at,
                             .end = end,
                             .end_lo = end,
                             .end_hi = end});
    at = end;
    ASSERT_LE(account.spans->spans.size(), kMostClassSpans);
  }
  account.end = at + 50;
  CompleteSpans(account, TimeClass::kOffCpu);
  truth[static_cast<size_t>(TimeClass::kOffCpu)] += 50;
  EXPECT_TRUE(account.spans->condensed);
  ClassTimes told{};
  uint64_t reached = account.begin;
  for (const ClassSpan& span : account.spans->spans) {
    EXPECT_EQ(span.begin, reached);
    told[static_cast<size_t>(span.kind)] += span.end - span.begin;
    reached = span.end;
  }
  EXPECT_EQ(reached, account.end);
  EXPECT_EQ(told, truth);
}

// Callers that are found later go around what was there, path by path.
TEST(CallTreeTest, CallersFoundLaterGoAround) {
  CallTree tree;
  const auto call = [&](uint32_t parent, uint32_t function, uint64_t time) {
    const uint32_t node = tree.Child(parent, function);
    ++tree.Of(node).count;
    tree.Of(node).self.time += time;
    tree.Of(node).own[0] += time;
    return node;
  };
  for (int segment = 0; segment < 3; ++segment) {
    uint32_t root = tree.NewRoot();
    call(call(root, 1, 5), 2, 7);
    root = tree.PutUnder(root, 3);
    call(root, 1, 2);
    tree.Merge(root, 0);
  }
  const std::vector<CallPath> paths = tree.Paths(1000);
  std::vector<std::string> told;
  for (const CallPath& path : paths) {
    std::string name;
    for (const CallPath* one = &path; one != &paths[0]; one = &paths[one->parent])
      name = std::to_string(one->function) + "/" + name;
    told.push_back(name + " " + std::to_string(path.sums.count) + " " +
                   std::to_string(path.sums.self.time) + " " + std::to_string(path.sums.total));
  }
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<std::string>{" 0 0 42", "1/ 3 6 6", "3/ 0 0 36", "3/1/ 3 15 36",
                                            "3/1/2/ 3 21 21"}));
  // The nodes of segments are used again.
  EXPECT_LE(tree.size(), paths.size() + 1);
  const std::vector<CallSums> functions = tree.ByFunction(4);
  EXPECT_EQ(functions[1].total, 42u);
  EXPECT_EQ(functions[1].count, 6u);
}

TEST(CallTreeTest, ARecursionCountsOnce) {
  CallTree tree;
  uint32_t node = 0;
  for (int depth = 0; depth < 10; ++depth) {
    node = tree.Child(node, 0);
    tree.Of(node).own[0] = tree.Of(node).self.time = 10;
    tree.Of(node).count = 1;
  }
  const std::vector<CallSums> sums = SumsByFunction(tree.Paths(1000), 1);
  EXPECT_EQ(sums[0].total, 100u);
  EXPECT_EQ(sums[0].count, 10u);
  EXPECT_EQ(sums[0].self.time, 100u);
}

// Random calls: a loop calls few functions, most of the rest are rare.
CallTree SomeCalls(uint64_t seed, std::vector<uint32_t>* open = nullptr) {
  std::mt19937_64 random(seed);
  CallTree tree(true);
  std::vector<uint32_t> way{0};
  for (int i = 0; i < 6000; ++i) {
    const uint64_t kind = random() % 5;
    if (way.size() > 1 && (kind < 2 || way.size() > 40)) {
      way.pop_back();
      continue;
    }
    const uint64_t rare = random() % 16;
    way.push_back(tree.Child(way.back(), static_cast<uint32_t>(rare == 0 ? random() % 30 : kind)));
    NodeCounts& counts = tree.Of(way.back());
    ++counts.count;
    counts.instructions += 1 + random() % 20;
    counts.self.time += 3;
    counts.own[1] += 2;
    counts.durations.Add(random() % 1000);
    counts.cycles.likely += 5;
    counts.cycles.enclosed += 5;
    counts.cycles.around_hi += 2;
  }
  if (open != nullptr) *open = way;
  return tree;
}

void ExpectSameFunctions(const std::vector<CallSums>& a, const std::vector<CallSums>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(a[i].count, b[i].count);
    EXPECT_EQ(a[i].self.time, b[i].self.time);
    EXPECT_EQ(a[i].own, b[i].own);
    EXPECT_EQ(a[i].total, b[i].total);
    EXPECT_EQ(a[i].executing, b[i].executing);
    EXPECT_EQ(a[i].self_instructions, b[i].self_instructions);
    EXPECT_EQ(a[i].instructions, b[i].instructions);
    EXPECT_EQ(a[i].cycles.likely, b[i].cycles.likely);
    EXPECT_EQ(a[i].cycles.hi, b[i].cycles.hi);
    EXPECT_EQ(a[i].durations.count, b[i].durations.count);
    EXPECT_EQ(a[i].durations.median, b[i].durations.median);
    EXPECT_EQ(a[i].durations.max, b[i].durations.max);
  }
}

// "f g h", of the functions from the root to the path.
std::string WayTo(const std::vector<CallPath>& paths, const CallPath& path) {
  if (&path == &paths.front()) return {};
  return WayTo(paths, paths[path.parent]) + " " +
         (path.is_cut ? "cut" : std::to_string(path.function));
}

TEST(CallTreeTest, CutsTheCheapestPathsAndSaysWhere) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const size_t most : {1u, 2u, 3u, 10u, 100u, 500u}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << most << " paths");
      const CallTree whole = SomeCalls(seed);
      CallTree tree = SomeCalls(seed);
      tree.Cut(most);
      EXPECT_LE(tree.size(), std::max<size_t>(most, 2));
      ExpectSameFunctions(tree.ByFunction(30), whole.ByFunction(30));
      std::map<std::string, const CallPath*> all;
      const std::vector<CallPath> all_paths = whole.Paths(~uint64_t{0});
      const std::vector<CallPath> paths = tree.Paths(~uint64_t{0});
      for (const CallPath& path : all_paths) all[WayTo(all_paths, path)] = &path;
      uint64_t cheapest = ~uint64_t{0};
      uint64_t calls = 0;
      for (const CallPath& path : paths) {
        calls += path.is_cut ? path.sums.count : 0;
        if (path.is_cut) continue;
        const CallPath& same = *all.at(WayTo(paths, path));
        EXPECT_FALSE(path.at_least);
        EXPECT_EQ(path.sums.count, same.sums.count);
        EXPECT_EQ(path.sums.total, same.sums.total);
        EXPECT_EQ(path.sums.self_instructions, same.sums.self_instructions);
        EXPECT_EQ(path.sums.instructions, same.sums.instructions);
        cheapest = std::min(cheapest, path.sums.instructions);
        all.erase(WayTo(paths, path));
      }
      EXPECT_EQ(calls, tree.CutCalls());
      for (const auto& [way, path] : all) EXPECT_LE(path->sums.instructions, cheapest) << way;
    }
  }
}

// The calls that a thread is in stay, and may be gone on with.
TEST(CallTreeTest, KeepsOpenCalls) {
  std::vector<uint32_t> open;
  CallTree tree = SomeCalls(3, &open);
  ASSERT_GT(open.size(), 3u);
  tree.Cut(2, UINT32_MAX, open);
  for (size_t i = 1; i < open.size(); ++i) EXPECT_EQ(tree.ParentOf(open[i]), open[i - 1]);
  EXPECT_LE(tree.size(), 2 * open.size());
}

// What comes back behind a cut says so, with all that it calls.
TEST(CallTreeTest, SaysWhichPathsMayHaveMore) {
  CallTree tree(true);
  const auto call = [&](uint32_t parent, uint32_t function, uint64_t instructions) {
    const uint32_t node = tree.Child(parent, function);
    ++tree.Of(node).count;
    tree.Of(node).instructions += instructions;
    return node;
  };
  const uint32_t top = call(0, 0, 1000);
  call(call(top, 1, 1), 2, 1);
  call(top, 3, 100);
  tree.Cut(4);
  call(call(top, 1, 500), 2, 500);
  std::map<std::string, std::pair<bool, uint64_t>> told;
  const std::vector<CallPath> paths = tree.Paths(~uint64_t{0});
  for (const CallPath& path : paths)
    told[WayTo(paths, path)] = {path.at_least, path.sums.instructions};
  EXPECT_EQ(told, (std::map<std::string, std::pair<bool, uint64_t>>{{"", {false, 2102}},
                                                                    {" 0", {false, 2102}},
                                                                    {" 0 1", {true, 1000}},
                                                                    {" 0 1 2", {true, 500}},
                                                                    {" 0 3", {false, 100}},
                                                                    {" 0 cut", {false, 2}}}));
  EXPECT_EQ(tree.ByFunction(4)[1].instructions, 1002u);
}

// A caller found behind a cut encloses what was cut.
TEST(CallTreeTest, ACallerFoundLaterEnclosesWhatWasCut) {
  for (const bool cut : {false, true}) {
    CallTree tree(true);
    uint32_t root = tree.NewRoot();
    for (uint32_t function = 0; function < 3; ++function) {
      const uint32_t node = tree.Child(tree.Child(root, 9), function);
      tree.Of(node).instructions = 10;
    }
    if (cut) tree.Cut(3);
    root = tree.PutUnder(root, 1);
    if (cut) tree.Cut(3);
    tree.Merge(root, 0);
    const std::vector<CallSums> sums = tree.ByFunction(10);
    EXPECT_EQ(sums[0].instructions, 10u);
    EXPECT_EQ(sums[1].instructions, 30u);  // its own 10 among them
    EXPECT_EQ(sums[2].instructions, 10u);
    EXPECT_EQ(sums[9].instructions, 30u);
  }
}

// The longest are kept, with all that they lie in.
TEST(KeptCallsTest, LetsGoOfTheShortest) {
  constexpr size_t kMost = 1000;
  KeptCalls kept(kMost);
  uint64_t time = 0;
  for (uint64_t outer = 0; outer < 2000; ++outer) {
    const uint64_t begin = time;
    for (uint64_t inner = 0; inner < 20; ++inner) {
      const uint64_t duration = (outer * 31 + inner * 17) % 97;
      kept.Add({.begin = time, .end = time + duration, .depth = 1});
      time += duration;
    }
    kept.Add({.begin = begin, .end = time, .depth = 0});
  }
  ThreadTimeline thread;
  kept.Take(thread);
  EXPECT_LE(thread.calls.size(), kMost);
  EXPECT_GE(thread.calls.size(), kMost / 4);
  EXPECT_EQ(thread.calls.size() + thread.calls_left_out, 2000u * 21);
  for (const TimelineCall& call : thread.calls) EXPECT_GE(call.duration(), thread.shortest);
}

TEST(TimeStripTest, ColumnsAddUp) {
  TimeStrip strip(100, 1100, 7);
  std::mt19937_64 random(5);
  uint64_t executing = 0;
  for (uint64_t at = 100; at < 1100;) {
    const uint64_t end = std::min<uint64_t>(1100, at + 1 + random() % 300);
    const bool runs = random() % 2 == 0;
    strip.Add(at, end, runs ? TimeClass::kExecuting : TimeClass::kKernel, 3, false);
    executing += runs ? end - at : 0;
    at = end;
  }
  uint64_t sum = 0;
  uint64_t told = 0;
  for (const StripColumn& column : strip.Take()) {
    uint64_t all = 0;
    for (const uint64_t time : column.times) all += time;
    EXPECT_NEAR(static_cast<double>(all), 1000.0 / 7, 1);
    EXPECT_EQ(column.function_time, column.times[0]);
    sum += all;
    told += column.times[0];
  }
  EXPECT_EQ(sum, 1000u);
  EXPECT_EQ(told, executing);
}

}  // namespace
}  // namespace flowback
