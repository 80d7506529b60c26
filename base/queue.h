// SPDX-License-Identifier: MIT
// A queue whose items lie one behind the other in memory, and which keeps its memory: what comes
// takes the place of what has gone.
//
//   | gone | gone | front ... back | room |
//                 first_           end_
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace flowback {

// Of a type that can be copied and made from nothing. Positions count from the front. Adding an
// item may move the others; nothing else does.
template <class T>
class Queue {
 public:
  using value_type = T;

  Queue() = default;
  // A copy has room for what there is.
  Queue(const Queue& other) { *this = other; }
  Queue& operator=(const Queue& other) {
    if (this == &other) return *this;
    items_.assign(other.begin(), other.end());
    first_ = 0;
    end_ = items_.size();
    return *this;
  }

  bool empty() const { return first_ == end_; }
  size_t size() const { return end_ - first_; }
  T* begin() { return items_.data() + first_; }
  T* end() { return items_.data() + end_; }
  const T* begin() const { return items_.data() + first_; }
  const T* end() const { return items_.data() + end_; }
  T& operator[](size_t index) { return items_[first_ + index]; }
  const T& operator[](size_t index) const { return items_[first_ + index]; }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }
  T& back() { return items_[end_ - 1]; }
  const T& back() const { return items_[end_ - 1]; }

  // REQUIRES: an item that is not in the queue.
  void push_back(const T& item) { Append() = item; }
  T& emplace_back() { return Append() = T{}; }
  // REQUIRES: there are so many.
  void pop_front(size_t count = 1) {
    first_ += count;
    if (first_ == end_) first_ = end_ = 0;
  }

 private:
  T& Append() {
    if (end_ == items_.size()) [[unlikely]]
      MakeRoom();
    return items_[end_++];
  }
  // Each item is moved no more often, on average, than items have gone before it.
  void MakeRoom() {
    if (first_ == 0 || first_ < items_.size() / 2) items_.resize(std::max(kLeast, 2 * end_));
    std::move(begin(), end(), items_.begin());
    end_ -= std::exchange(first_, 0);
  }

  static constexpr size_t kLeast = 16;

  std::vector<T> items_;
  size_t first_ = 0;
  size_t end_ = 0;
};

}  // namespace flowback
