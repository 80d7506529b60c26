// SPDX-License-Identifier: MIT
#include "replay/coverage/process_queue.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace flowback {
namespace {

// Requests by signals go to the recording thread; fault signals go to the thread that caused them.
sigset_t Requests() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&signals, fault);
  return signals;
}

}  // namespace

// A thread has the signal mask of its maker.
ProcessQueue::ProcessQueue(Count count) : count_(std::move(count)) {
  const sigset_t requests = Requests();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &requests, &before);
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (const std::system_error&) {
    // Where the system gives no thread more, whoever puts something in counts it.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProcessQueue::~ProcessQueue() {
  {
    const std::scoped_lock lock(mutex_);
    failed_ = failed_ || !ends_;  // the counts are not needed
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Status ProcessQueue::Put(const std::string& recording) {
  if (!thread_.joinable()) {
    CountAndRemove(recording);
    return status_;
  }
  std::error_code ignored;
  const auto size = std::filesystem::file_size(recording, ignored);
  const uint64_t bytes = ignored ? 0 : size;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failed_ || waiting_.empty() || !IsFull(); });
  waiting_.push_back({recording, bytes});
  waiting_bytes_ += bytes;
  changed_.notify_all();
  return status_;
}

Status ProcessQueue::Finish() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (thrown_) std::rethrow_exception(thrown_);
  return status_;
}

void ProcessQueue::Work() {
  for (;;) {
    std::string recording;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      recording = waiting_.front().recording;
    }
    CountAndRemove(recording);
    const std::scoped_lock lock(mutex_);
    waiting_bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
    changed_.notify_all();
  }
}

void ProcessQueue::CountAndRemove(const std::string& recording) {
  CountOne(recording);
  std::error_code ignored;
  std::filesystem::remove_all(std::filesystem::path(recording).parent_path(), ignored);
}

void ProcessQueue::CountOne(const std::string& recording) {
  {
    const std::scoped_lock lock(mutex_);
    if (failed_) return;
  }
  Status counted;
  std::exception_ptr thrown;
  try {
    counted = count_(recording);
  } catch (...) {
    thrown = std::current_exception();
    counted = Fail(ErrorCode::kSystem, "out of memory");
  }
  const std::scoped_lock lock(mutex_);
  failed_ = !counted;
  status_ = std::move(counted);
  thrown_ = thrown;
}

}  // namespace flowback
