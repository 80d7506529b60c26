// SPDX-License-Identifier: MIT
// A queue of processes' recordings. A thread of the queue counts one after the other, while the
// command goes on, and then removes them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "flowback/base/error.h"

namespace flowback {

class ProcessQueue {
 public:
  // Called by the thread of the queue.
  using Count = std::function<Status(const std::string& recording)>;

  explicit ProcessQueue(Count count);
  ~ProcessQueue();
  ProcessQueue(const ProcessQueue&) = delete;
  ProcessQueue& operator=(const ProcessQueue&) = delete;

  // Adds a recording, which has a folder of its own. Waits while the queue is full, so that a
  // command cannot create recordings faster than they are counted. Errors: counting's; after one,
  // further recordings are removed without being counted.
  Status Put(const std::string& recording);
  // Waits until all are counted. Throws what counting threw.
  Status Finish();

 private:
  struct Waiting {
    std::string recording;
    uint64_t bytes = 0;
  };

  bool IsFull() const { return waiting_.size() >= kMostWaiting || waiting_bytes_ >= kMostBytes; }
  void Work();
  void CountAndRemove(const std::string& recording);
  void CountOne(const std::string& recording);

  static constexpr size_t kMostWaiting = 64;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  const Count count_;
  std::mutex mutex_;  // for the members below
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  uint64_t waiting_bytes_ = 0;
  bool ends_ = false;
  bool failed_ = false;
  Status status_;
  std::exception_ptr thrown_;
  std::thread thread_;
};

}  // namespace flowback
