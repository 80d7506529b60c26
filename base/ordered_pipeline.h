// SPDX-License-Identifier: MIT
// Work on several threads whose results leave in the order in which it was given.
//
// One thread adds jobs; workers take the oldest job that waits. A thread that finishes a job
// delivers all finished jobs at the front, so no thread is kept for that. When `in_flight` jobs are
// under way, the adding thread works on one itself: with two cores both are always busy, whichever
// side is slower, and memory is limited to `in_flight` jobs.
//
// What a step throws, std::bad_alloc, is thrown again by the adding thread's next Add or Finish.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"

namespace flowback {

// Whether jobs may be worked on side by side, or only one after the other: then a thread's work
// goes on beside the adding of jobs alone.
enum class WorkOrder : uint8_t { kAny, kOneByOne };

// `Job` is default-constructible. Add, Take and Finish belong to one thread.
template <class Job>
class OrderedPipeline {
 public:
  struct Steps {
    // Worker numbers go from 0, the adding thread, to `threads` - 1; one is on one thread only.
    std::function<void(Job&, size_t worker)> work;
    // On any thread, but never twice at a time, and in the order of Add.
    std::function<void(Job&)> deliver;
  };

  // `threads` counts the adding one: with 1 nothing is started. REQUIRES: both are at least 1.
  OrderedPipeline(unsigned threads, size_t in_flight, WorkOrder order, Steps steps)
      : threads_(threads), in_flight_(in_flight), order_(order), steps_(std::move(steps)) {}

  // Drops what nobody has begun to work on.
  ~OrderedPipeline() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }
  OrderedPipeline(const OrderedPipeline&) = delete;
  OrderedPipeline& operator=(const OrderedPipeline&) = delete;

  // A job to fill: one that has been delivered, as it was then, or a new one.
  std::unique_ptr<Job> Take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return std::make_unique<Job>();
    std::unique_ptr<Job> job = std::move(free_.back());
    free_.pop_back();
    return job;
  }

  void Add(std::unique_ptr<Job> job) {
    StartWorkers();
    std::unique_lock lock(mutex_);
    slots_.push_back({.job = std::move(job)});
    changed_.notify_all();
    while (slots_.size() >= in_flight_) Help(lock);
  }

  // Returns when everything has been delivered.
  void Finish() {
    std::unique_lock lock(mutex_);
    while (!slots_.empty()) Help(lock);
  }

 private:
  struct Slot {
    std::unique_ptr<Job> job;
    bool done = false;
  };

  // A listing of a few lines is done before a thread has started.
  void StartWorkers() {
    if (++added_ != 2) return;
    StartThreads(workers_, threads_ - 1, [this](size_t number) { Run(number + 1); });
  }

  void Run(size_t worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || MayWork(); });
      if (stopped_) return;
      try {
        Work(lock, worker);
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        failure_ = std::current_exception();
        stopped_ = true;
        changed_.notify_all();
        return;
      }
    }
  }

  void Help(std::unique_lock<std::mutex>& lock) {
    if (failure_) std::rethrow_exception(failure_);
    if (MayWork())
      Work(lock, 0);
    else
      changed_.wait(lock);
  }

  bool MayWork() const {
    return begun_ < slots_.size() && (order_ == WorkOrder::kAny || working_ == 0);
  }

  void Work(std::unique_lock<std::mutex>& lock, size_t worker) {
    Slot& slot = slots_[begun_];  // stays in its place: a deque changes at its ends only
    ++begun_;
    ++working_;
    lock.unlock();
    steps_.work(*slot.job, worker);
    lock.lock();
    --working_;
    slot.done = true;
    Deliver(lock);
    changed_.notify_all();
  }

  void Deliver(std::unique_lock<std::mutex>& lock) {
    if (delivering_) return;
    delivering_ = true;
    while (!slots_.empty() && slots_.front().done) {
      std::unique_ptr<Job> job = std::move(slots_.front().job);
      lock.unlock();
      steps_.deliver(*job);
      lock.lock();
      slots_.pop_front();
      --begun_;
      free_.push_back(std::move(job));
      changed_.notify_all();
    }
    delivering_ = false;
  }

  const unsigned threads_;
  const size_t in_flight_;
  const WorkOrder order_;
  const Steps steps_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot> slots_;  // in order; the front is delivered next
  size_t begun_ = 0;        // slots at the front whose work has begun or is done
  size_t working_ = 0;
  bool delivering_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;  // of a worker
  std::vector<std::unique_ptr<Job>> free_;
  size_t added_ = 0;  // of the adding thread

  std::vector<std::jthread> workers_;  // the last member: they end before the others go
};

}  // namespace flowback
