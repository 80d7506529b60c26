// SPDX-License-Identifier: MIT
// A queue that keeps its memory: what comes takes the place of what has gone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace flowback {

// Of a type that can be copied and made from nothing. Positions count from the front.
template <class T>
class Ring {
 public:
  using value_type = T;

  Ring() = default;
  // A copy has room for little more than there is.
  Ring(const Ring& other) { *this = other; }
  Ring& operator=(const Ring& other) {
    if (this == &other) return *this;
    items_.assign(other.size_ == 0 ? 0 : std::bit_ceil(other.size_), T());
    for (size_t i = 0; i < other.size_; ++i) items_[i] = other[i];
    first_ = 0;
    size_ = other.size_;
    return *this;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& operator[](size_t index) { return items_[(first_ + index) & (items_.size() - 1)]; }
  const T& operator[](size_t index) const { return items_[(first_ + index) & (items_.size() - 1)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  // REQUIRES: an item that is not in the ring.
  void push_back(const T& item) { Append() = item; }
  T& emplace_back() { return Append() = T{}; }
  void pop_front(size_t count = 1) {
    first_ = (first_ + count) & (items_.size() - 1);
    size_ -= count;
  }

 private:
  T& Append() {
    if (size_ == items_.size()) Grow();
    return (*this)[size_++];
  }
  void Grow() {
    std::vector<T> more(std::max(kLeast, 2 * items_.size()));
    for (size_t i = 0; i < size_; ++i) more[i] = (*this)[i];
    items_ = std::move(more);
    first_ = 0;
  }

  static constexpr size_t kLeast = 16;

  std::vector<T> items_ = std::vector<T>(kLeast);  // a power of two
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace flowback
