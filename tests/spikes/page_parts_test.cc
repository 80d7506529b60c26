// SPDX-License-Identifier: MIT
// What a page of spikes keeps of many instances and of many call paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "replay/spikes/spikes.h"
#include "replay/writers/spikes/page_instances.h"
#include "replay/writers/spikes/page_paths.h"

namespace flowback {
namespace {

// Instances one after the other on several threads. Every `every`th is slow.
class ManyInstances {
 public:
  ManyInstances(uint32_t count, uint32_t threads, uint32_t every) : threads_(recording_) {
    for (uint32_t i = 0; i < count; ++i) {
      Instance instance;
      instance.thread = i % threads;
      instance.tid = static_cast<int32_t>(100 + instance.thread);
      instance.begin.time = 1'000'000 + uint64_t{i} * 500;
      instance.instructions = i % every == every - 1 ? 1'000'000 + i : 1000 + i % 97;
      instance.end.time = instance.begin.time + 100;
      instance.state = i % 50 == 20 ? InstanceState::kLost : InstanceState::kWhole;
      report.instances.push_back(instance);
      if (instance.state == InstanceState::kWhole) report.sorted.push_back(instance.instructions);
    }
    std::ranges::sort(report.sorted);
    report.measure = InstanceMeasure::kInstructions;
    report.distribution = DistributionOf(report.sorted);
    report.slowness = {.reason = Slowness::Reason::kAsked, .threshold = 5000, .slow = 1};
    for (const Instance& instance : report.instances) {
      report.slow += report.GroupOf(instance) == InstanceGroup::kSlow ? 1 : 0;
      report.normal += report.GroupOf(instance) == InstanceGroup::kNormal ? 1 : 0;
    }
    view.report = &report;
    view.threads = &threads_;
  }

  SpikeReport report;
  SpikesView view;

 private:
  Recording recording_;
  Threads threads_;
};

uint64_t StandFor(const PageInstances& page) {
  uint64_t sum = 0;
  for (const PageInstance& each : page.shown) sum += each.stands_for;
  return sum;
}

std::set<uint32_t> Numbers(const PageInstances& page) {
  std::set<uint32_t> numbers;
  for (const PageInstance& each : page.shown) numbers.insert(each.number);
  return numbers;
}

TEST(PageInstances, FewAreAllShown) {
  const ManyInstances many(5000, 3, 100);
  const PageInstances page = ChooseInstances(many.view);
  EXPECT_EQ(page.columns, 0u);
  EXPECT_EQ(page.shown.size(), 5000u);
  EXPECT_EQ(Numbers(page).size(), 5000u);
  ASSERT_EQ(page.rows.size(), 3u);
  EXPECT_EQ(page.rows[0].instances + page.rows[1].instances + page.rows[2].instances, 5000u);
}

TEST(PageInstances, OfManyAllSlowOnesAreKeptAndTheRestIsBounded) {
  const ManyInstances many(SpikeReport::kMostInstances, 7, 1000);
  const PageLimits limits;
  const PageInstances page = ChooseInstances(many.view);
  EXPECT_GT(page.columns, 0u);
  EXPECT_EQ(StandFor(page), many.report.instances.size());
  EXPECT_EQ(Numbers(page).size(), page.shown.size());
  EXPECT_LE(page.shown.size(), limits.slow + 3 * limits.cells + limits.bars);
  size_t slow = 0;
  for (const PageInstance& each : page.shown) {
    if (many.report.GroupOf(many.report.instances[each.number]) != InstanceGroup::kSlow) continue;
    EXPECT_EQ(each.stands_for, 1u);
    ++slow;
  }
  EXPECT_EQ(slow, many.report.slow);
}

TEST(PageInstances, WhereNearlyAllAreSlowTheLargestAreKept) {
  const ManyInstances many(300'000, 2, 2);
  const PageLimits limits;
  const PageInstances page = ChooseInstances(many.view);
  EXPECT_EQ(StandFor(page), many.report.instances.size());
  EXPECT_LE(page.shown.size(), limits.slow + 3 * limits.cells + limits.bars);
  const std::set<uint32_t> numbers = Numbers(page);
  std::vector<uint32_t> slow;
  for (uint32_t i = 0; i < many.report.instances.size(); ++i)
    if (many.report.GroupOf(many.report.instances[i]) == InstanceGroup::kSlow) slow.push_back(i);
  ASSERT_GT(slow.size(), limits.slow);
  std::ranges::sort(slow, std::greater<>(),
                    [&](uint32_t i) { return many.report.instances[i].instructions; });
  for (size_t i = 0; i < limits.slow; ++i) EXPECT_TRUE(numbers.contains(slow[i]));
}

TEST(PageInstances, ThreadsBeyondTheRowsShareOne) {
  const ManyInstances many(60'000, 500, 1000);
  const PageLimits limits;
  const PageInstances page = ChooseInstances(many.view);
  ASSERT_EQ(page.rows.size(), limits.rows);
  EXPECT_EQ(page.rows.back().name, "461 other threads");
  EXPECT_EQ(page.rows.back().instances, 461u * 120);
  EXPECT_EQ(StandFor(page), many.report.instances.size());
  EXPECT_LE(page.shown.size(), limits.slow + 3 * limits.cells + limits.bars);
}

TEST(PageInstances, BarsHaveEveryComparedInstanceOnceAndTheirLargestIsShown) {
  const ManyInstances many(200'000, 4, 700);
  const PageInstances page = ChooseInstances(many.view);
  uint64_t normal = 0;
  uint64_t slow = 0;
  const std::set<uint32_t> numbers = Numbers(page);
  for (const PageBar& bar : page.bars) {
    normal += bar.normal;
    slow += bar.slow;
    if (bar.normal + bar.slow != 0) {
      EXPECT_TRUE(numbers.contains(bar.largest));
    }
  }
  EXPECT_EQ(normal, many.report.normal);
  EXPECT_EQ(slow, many.report.slow);
}

TEST(PageInstances, NoneAtAll) {
  const ManyInstances many(0, 1, 10);
  const PageInstances page = ChooseInstances(many.view);
  EXPECT_TRUE(page.shown.empty());
  EXPECT_TRUE(page.bars.empty());
}

InstancePath CallOf(uint32_t parent, uint32_t function) {
  InstancePath path;
  path.parent = parent;
  path.kind = PathKind::kCall;
  path.function = function;
  return path;
}

TEST(PagePaths, AreBoundedAndNothingIsLeftOut) {
  SpikeReport report;
  report.slow_sums.instances = 2;
  report.normal_sums.instances = 3;
  // A wide tree: each of 200 calls makes 100 more, of which each makes one.
  for (uint32_t i = 0; i < 200; ++i) {
    const uint32_t one = report.paths.Find(CallOf(PathTree::kRoot, i));
    for (uint32_t j = 0; j < 100; ++j) {
      const uint32_t two = report.paths.Find(CallOf(one, 1000 + j));
      const uint32_t three = report.paths.Find(CallOf(two, 5000));
      const PathCost cost{.entries = 1, .instructions = 1 + i * j % 7, .times = {}};
      report.slow_sums.Add(three, cost, 1);
      report.normal_sums.Add(two, cost, 2);
    }
  }
  report.slow_sums.Add(PathTree::kRoot, {.entries = 2, .instructions = 50, .times = {}}, 1);
  const PagePaths page = ChoosePaths(report);
  EXPECT_LE(page.paths.size(), 2 * PagePaths::kMost);
  ASSERT_EQ(page.place_of.size(), report.paths.nodes().size());
  EXPECT_FALSE(page.paths.front().is_rest);
  for (uint32_t i = 1; i < page.paths.size(); ++i) EXPECT_LT(page.paths[i].parent, i);
  for (const GroupSums* sums : {&report.slow_sums, &report.normal_sums}) {
    uint64_t all = 0;
    for (const PathSums& each : sums->paths) all += each.cost.instructions;
    uint64_t shown = 0;
    for (const PathCost& each : page.Sum(CostsByNode(report, *sums))) shown += each.instructions;
    EXPECT_EQ(shown, all);
  }
}

TEST(PagePaths, LargeOnesStayApart) {
  SpikeReport report;
  const uint32_t large = report.paths.Find(CallOf(PathTree::kRoot, 1));
  const uint32_t inside = report.paths.Find(CallOf(large, 2));
  const uint32_t small = report.paths.Find(CallOf(PathTree::kRoot, 3));
  const uint32_t below = report.paths.Find(CallOf(small, 4));
  report.slow_sums.Add(inside, {.entries = 1, .instructions = 1'000'000, .times = {}}, 1);
  report.slow_sums.Add(below, {.entries = 1, .instructions = 3, .times = {}}, 1);
  const PagePaths page = ChoosePaths(report);
  ASSERT_EQ(page.paths.size(), 4u);
  EXPECT_EQ(page.place_of[inside], 2u);
  EXPECT_EQ(page.paths[2].parent, page.place_of[large]);
  EXPECT_TRUE(page.paths[3].is_rest);
  EXPECT_EQ(page.place_of[small], 3u);
  EXPECT_EQ(page.place_of[below], 3u);
}

}  // namespace
}  // namespace flowback
