// SPDX-License-Identifier: MIT
#include "base/ordered_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace flowback {
namespace {

struct Job {
  int number = 0;
  int result = 0;
};
using Pipeline = OrderedPipeline<Job>;

struct PipelineShape {
  unsigned threads;
  size_t in_flight;
  WorkOrder order;
};

// Some jobs take longer than those behind them.
void Dawdle(int number) {
  if (number % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
}

class Ordered : public testing::TestWithParam<PipelineShape> {};

TEST_P(Ordered, ResultsLeaveInTheOrderOfTheJobs) {
  constexpr int kJobs = 500;
  const PipelineShape& shape = GetParam();
  std::vector<int> results;
  std::vector<int> worked;  // only written when jobs are worked on one by one
  {
    Pipeline pipeline(shape.threads, shape.in_flight, shape.order,
                      {.work =
                           [&](Job& job, size_t worker) {
                             EXPECT_LT(worker, shape.threads);
                             Dawdle(job.number);
                             job.result = job.number * 3;
                             if (shape.order == WorkOrder::kOneByOne) worked.push_back(job.number);
                           },
                       .deliver = [&](Job& job) { results.push_back(job.result); }});
    for (int i = 0; i < kJobs; ++i) {
      auto job = pipeline.Take();
      job->number = i;
      pipeline.Add(std::move(job));
    }
    pipeline.Finish();
    ASSERT_EQ(results.size(), static_cast<size_t>(kJobs));
  }
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(results[static_cast<size_t>(i)], 3 * i);
  for (size_t i = 0; i < worked.size(); ++i) EXPECT_EQ(worked[i], static_cast<int>(i));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Ordered,
    testing::Values(PipelineShape{1, 1, WorkOrder::kAny}, PipelineShape{1, 5, WorkOrder::kAny},
                    PipelineShape{2, 1, WorkOrder::kAny}, PipelineShape{2, 6, WorkOrder::kAny},
                    PipelineShape{5, 3, WorkOrder::kAny}, PipelineShape{8, 32, WorkOrder::kAny},
                    PipelineShape{1, 4, WorkOrder::kOneByOne},
                    PipelineShape{3, 2, WorkOrder::kOneByOne},
                    PipelineShape{4, 9, WorkOrder::kOneByOne}));

TEST(Window, BoundsTheJobsUnderWay) {
  constexpr size_t kInFlight = 4;
  std::atomic<size_t> under_way = 0;
  std::atomic<size_t> most = 0;
  Pipeline pipeline(3, kInFlight, WorkOrder::kAny,
                    {.work = [](Job& job, size_t) { Dawdle(job.number); },
                     .deliver = [&](Job&) { --under_way; }});
  for (int i = 0; i < 200; ++i) {
    auto job = pipeline.Take();
    job->number = i;
    most = std::max<size_t>(most, ++under_way);
    pipeline.Add(std::move(job));
  }
  pipeline.Finish();
  EXPECT_EQ(under_way, 0u);
  EXPECT_LE(most, kInFlight);
  EXPECT_GT(most, 1u);
}

// With one thread nothing is started: all work is the caller's.
TEST(OneThread, WorksItself) {
  const auto self = std::this_thread::get_id();
  size_t delivered = 0;
  Pipeline pipeline(1, 3, WorkOrder::kAny,
                    {.work = [&](Job&, size_t) { EXPECT_EQ(std::this_thread::get_id(), self); },
                     .deliver =
                         [&](Job&) {
                           EXPECT_EQ(std::this_thread::get_id(), self);
                           ++delivered;
                         }});
  for (int i = 0; i < 10; ++i) pipeline.Add(pipeline.Take());
  pipeline.Finish();
  EXPECT_EQ(delivered, 10u);
}

// Where the caller is slow the others do the work, and deliver it before Finish.
TEST(Workers, DeliverWhileTheCallerIsBusy) {
  std::atomic<int> delivered = 0;
  Pipeline pipeline(2, 100, WorkOrder::kAny,
                    {.work = [](Job&, size_t worker) { EXPECT_EQ(worker, 1u); },
                     .deliver = [&](Job&) { ++delivered; }});
  for (int i = 0; i < 4; ++i) pipeline.Add(pipeline.Take());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (delivered < 4 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(delivered, 4);
}

TEST(Drop, EndsWithoutDeliveringTheRest) {
  std::atomic<int> delivered = 0;
  {
    Pipeline pipeline(
        2, 1000, WorkOrder::kAny,
        {.work = [](Job&, size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); },
         .deliver = [&](Job&) { ++delivered; }});
    for (int i = 0; i < 900; ++i) pipeline.Add(pipeline.Take());
  }
  EXPECT_LT(delivered, 900);
}

TEST(Jobs, AreUsedAgain) {
  std::vector<const Job*> seen;
  Pipeline pipeline(
      1, 1, WorkOrder::kAny,
      {.work = [&](Job& job, size_t) { seen.push_back(&job); }, .deliver = [](Job&) {}});
  for (int i = 0; i < 5; ++i) pipeline.Add(pipeline.Take());
  for (const Job* job : seen) EXPECT_EQ(job, seen.front());
}

}  // namespace
}  // namespace flowback
