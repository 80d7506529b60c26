// SPDX-License-Identifier: MIT
// A queue whose items lie one behind the other in memory, and which keeps its memory: what comes
// takes the place of what has gone.
//
//   | gone | gone | front ... back | room |
//                 first_           end_   limit_
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace flowback {

// For types that can be copied and default-constructed. Positions count from the front. Adding an
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
    first_ = items_.data();
    end_ = limit_ = first_ + items_.size();
    return *this;
  }

  bool empty() const { return first_ == end_; }
  size_t size() const { return static_cast<size_t>(end_ - first_); }
  T* begin() { return first_; }
  T* end() { return end_; }
  const T* begin() const { return first_; }
  const T* end() const { return end_; }
  T& operator[](size_t index) { return first_[index]; }
  const T& operator[](size_t index) const { return first_[index]; }
  T& front() { return *first_; }
  const T& front() const { return *first_; }
  T& back() { return end_[-1]; }
  const T& back() const { return end_[-1]; }

  // REQUIRES: an item that is not in the queue.
  [[gnu::always_inline]] void push_back(const T& item) { Append() = item; }
  [[gnu::always_inline]] T& emplace_back() { return Append() = T{}; }
  // Appends an item with any content, which the caller must set in full: for large items.
  [[gnu::always_inline]] T& Append() {
    if (end_ == limit_) [[unlikely]]
      MakeRoom();
    return *end_++;
  }
  void clear() { first_ = end_ = items_.data(); }
  // REQUIRES: the queue has at least `count` items.
  void pop_front(size_t count = 1) {
    first_ += count;
    if (first_ == end_) first_ = end_ = items_.data();
  }

 private:
  // Each item is moved no more often, on average, than items have gone before it.
  [[gnu::noinline]] void MakeRoom() {
    const size_t count = size();
    const auto gone = static_cast<size_t>(first_ - items_.data());
    if (gone == 0 || gone < items_.size() / 2) {
      items_.resize(std::max(kLeast, 2 * (gone + count)));
      first_ = items_.data() + gone;
    }
    if (gone != 0) std::move(first_, first_ + count, items_.data());
    first_ = items_.data();
    end_ = first_ + count;
    limit_ = first_ + items_.size();
  }

  static constexpr size_t kLeast = 16;

  std::vector<T> items_;
  T* first_ = nullptr;
  T* end_ = nullptr;
  T* limit_ = nullptr;  // of items_
};

}  // namespace flowback
