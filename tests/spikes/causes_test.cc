// SPDX-License-Identifier: MIT
#include "replay/spikes/causes/causes.h"

#include <gtest/gtest.h>

#include "tests/spikes/cause_data.h"

namespace flowback {
namespace {

constexpr uint32_t kRoot = PathTree::kRoot;

double SumOf(const Causes& causes) {
  double sum = causes.rest;
  for (const Cause& part : causes.parts) sum += part.extra;
  return sum;
}

TEST(Causes, NameTheOutermostRarePath) {
  CauseData data;
  const uint32_t work = data.Call(kRoot, 1);
  const uint32_t slow_path = data.Call(work, 2);
  const uint32_t inside = data.Call(slow_path, 3);
  for (int i = 0; i < 100; ++i)
    data.Add(false, {{kRoot, CostOf(1, 50)}, {work, CostOf(1, 500)}}, {});
  for (int i = 0; i < 4; ++i)
    data.Add(true,
             {{kRoot, CostOf(1, 50)},
              {work, CostOf(1, 500)},
              {slow_path, CostOf(1, 100)},
              {inside, CostOf(10, 9900)}},
             {});
  const Causes causes = data.Find();
  ASSERT_EQ(causes.parts.size(), 1);
  const Cause& cause = causes.parts.front();
  EXPECT_EQ(cause.kind, CauseKind::kCallee);
  EXPECT_EQ(cause.node, slow_path);
  EXPECT_EQ(cause.inside, inside);
  EXPECT_EQ(cause.slow_with, 4);
  EXPECT_EQ(cause.normal_with, 0);
  EXPECT_DOUBLE_EQ(cause.extra, 40'000);
  EXPECT_DOUBLE_EQ(SumOf(causes), causes.extra);
}

TEST(Causes, CountCallsThatAreMore) {
  CauseData data;
  const uint32_t step = data.Call(kRoot, 1);
  for (int i = 0; i < 50; ++i)
    data.Add(false, {{kRoot, CostOf(1, 50)}, {step, CostOf(10, 1000)}}, {});
  for (int i = 0; i < 5; ++i)
    data.Add(true, {{kRoot, CostOf(1, 50)}, {step, CostOf(1000, 100'000)}}, {});
  const Cause cause = data.Find().parts.at(0);
  EXPECT_EQ(cause.kind, CauseKind::kCalls);
  EXPECT_DOUBLE_EQ(cause.slow_count, 1000);
  EXPECT_DOUBLE_EQ(cause.normal_count, 10);
}

TEST(Causes, NameTheBranchThatNormalOnesDoNotTake) {
  CauseData data;
  const auto [taken, not_taken] = data.Branch(0x1000);
  for (int i = 0; i < 100; ++i) data.Add(false, {{kRoot, CostOf(1, 50)}}, {{not_taken, 1}});
  for (int i = 0; i < 5; ++i) data.Add(true, {{kRoot, CostOf(1, 5000)}}, {{taken, 1}});
  const Cause cause = data.Find().parts.at(0);
  EXPECT_EQ(cause.kind, CauseKind::kBranch);
  EXPECT_EQ(cause.edge, taken);
}

// A helper that the rare way calls again and again is no second reason.
TEST(Causes, FoldCallsIntoTheBranchThatLeadsToThem) {
  CauseData data;
  const auto [taken, not_taken] = data.Branch(0x1000);
  const uint32_t helper = data.Call(kRoot, 1);
  for (int i = 0; i < 100; ++i) data.Add(false, {{kRoot, CostOf(1, 50)}}, {{not_taken, 1}});
  for (int i = 0; i < 5; ++i)
    data.Add(true, {{kRoot, CostOf(1, 5000)}, {helper, CostOf(900, 6000)}}, {{taken, 1}});
  const Causes causes = data.Find();
  ASSERT_EQ(causes.parts.size(), 1);
  EXPECT_EQ(causes.parts.front().kind, CauseKind::kBranch);
  EXPECT_DOUBLE_EQ(SumOf(causes), causes.extra);
}

TEST(Causes, NameTheLoopWithMoreTrips) {
  CauseData data;
  const auto [again, done] = data.Branch(0x1000, true);
  for (uint64_t i = 0; i < 100; ++i)
    data.Add(false, {{kRoot, CostOf(1, 500)}}, {{again, 100 + i % 7}, {done, 1}});
  for (int i = 0; i < 5; ++i)
    data.Add(true, {{kRoot, CostOf(1, 50'000)}}, {{again, 10'000}, {done, 1}});
  const Cause cause = data.Find().parts.at(0);
  EXPECT_EQ(cause.kind, CauseKind::kTrips);
  EXPECT_EQ(cause.edge, again);
  EXPECT_DOUBLE_EQ(cause.slow_count, 10'000);
}

// Two loops that two kinds of slow instances go round: the way to the larger one is not that to the
// other.
TEST(Causes, NameTheBranchThatLeadsToTheLoop) {
  CauseData data;
  const auto [to_callee, past_callee] = data.Branch(0x1000);
  const auto [to_loop, past_loop] = data.Branch(0x1100);
  const auto [again, done] = data.Branch(0x1200, true);
  for (int i = 0; i < 100; ++i)
    data.Add(false, {{kRoot, CostOf(1, 50)}}, {{past_callee, 1}, {past_loop, 1}});
  for (int i = 0; i < 7; ++i)
    data.Add(true, {{kRoot, CostOf(1, 60)}, {data.Call(kRoot, 2), CostOf(1, 8000)}},
             {{to_callee, 1}, {past_loop, 1}});
  for (int i = 0; i < 6; ++i)
    data.Add(true, {{kRoot, CostOf(1, 9000)}},
             {{past_callee, 1}, {to_loop, 1}, {again, 3000}, {done, 1}});
  const Causes causes = data.Find();
  ASSERT_EQ(causes.parts.size(), 2);
  for (const Cause& cause : causes.parts)
    if (cause.kind == CauseKind::kBranch) {
      EXPECT_EQ(cause.edge, to_loop);
    }
  EXPECT_EQ(causes.parts.back().kind, CauseKind::kBranch);
}

// Three calls that the same instances make are made because of one branch.
TEST(Causes, FoldWhatTheSameInstancesCallIntoTheBranch) {
  CauseData data;
  const auto [taken, not_taken] = data.Branch(0x1000);
  for (int i = 0; i < 100; ++i) data.Add(false, {{kRoot, CostOf(1, 50)}}, {{not_taken, 1}});
  for (int i = 0; i < 5; ++i)
    data.Add(true,
             {{kRoot, CostOf(1, 60)},
              {data.Call(kRoot, 1, 0x1010), CostOf(1, 4000)},
              {data.Call(kRoot, 2, 0x1020), CostOf(1, 3000)},
              {data.Call(kRoot, 3, 0x1030), CostOf(1, 2000)}},
             {{taken, 1}});
  const Causes causes = data.Find();
  ASSERT_EQ(causes.parts.size(), 1);
  EXPECT_EQ(causes.parts[0].kind, CauseKind::kBranch);
  EXPECT_EQ(causes.parts[0].edge, taken);
  EXPECT_EQ(causes.parts[0].slow_with, 5);
  EXPECT_DOUBLE_EQ(causes.parts[0].extra, 45'000);
}

TEST(Causes, TellMoreTimeWithoutMoreInstructions) {
  CauseData data;
  const auto cost = [](uint64_t time) {
    PathCost spent = CostOf(1, 100);
    spent.times[static_cast<size_t>(TimeClass::kExecuting)] = time;
    return spent;
  };
  for (int i = 0; i < 100; ++i) data.Add(false, {{kRoot, cost(100)}}, {});
  data.Add(true, {{kRoot, cost(9000)}}, {});
  EXPECT_EQ(data.Find(InstanceMeasure::kTime).parts.at(0).kind, CauseKind::kSlower);
}

TEST(Causes, TellSystemCallsApart) {
  CauseData data;
  const uint32_t read = data.SystemCall(kRoot, 0);
  const uint32_t sleep = data.SystemCall(kRoot, 35);
  const auto cost = [](uint64_t time) {
    PathCost spent = CostOf(1, 0);
    spent.times[static_cast<size_t>(TimeClass::kKernel)] = time;
    return spent;
  };
  for (int i = 0; i < 100; ++i) data.Add(false, {{read, cost(100)}}, {});
  for (int i = 0; i < 4; ++i) data.Add(true, {{read, cost(5100)}, {sleep, cost(9000)}}, {});
  const Causes causes = data.Find(InstanceMeasure::kKernel);
  ASSERT_EQ(causes.parts.size(), 2);
  EXPECT_EQ(causes.parts[0].kind, CauseKind::kSystemCall);
  EXPECT_EQ(causes.parts[0].node, sleep);
  EXPECT_EQ(causes.parts[1].kind, CauseKind::kSystemTime);
}

}  // namespace
}  // namespace flowback
