// SPDX-License-Identifier: MIT
// One piece of memory for big tables of zeros, which is there where it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace flowback {

class ZeroedPool {
 public:
  // `size` bytes. Throws std::bad_alloc.
  explicit ZeroedPool(size_t size);
  ~ZeroedPool();
  ZeroedPool(const ZeroedPool&) = delete;
  ZeroedPool& operator=(const ZeroedPool&) = delete;

  // The next `count` of a type that is valid when all its bytes are zero. REQUIRED: they fit.
  template <class T>
  T* Take(size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
    static_assert(alignof(T) <= kAlignment);
    T* items = reinterpret_cast<T*>(memory_.data() + taken_);
    taken_ += SizeOf<T>(count);
    return items;
  }
  // What Take uses of the pool.
  template <class T>
  static constexpr size_t SizeOf(size_t count) {
    return (count * sizeof(T) + kAlignment - 1) & ~(kAlignment - 1);
  }

  // Makes all of it resident at once: for tables that fill up, where each page would cost a page
  // fault, or two when it is read before it is written. Where the system can't, nothing changes.
  // (Huge pages would be faster still, but if the system has no free ones, the search takes 30 ms.)
  void MakeResident();

 private:
  static constexpr size_t kAlignment = 64;

  std::span<uint8_t> memory_;
  size_t taken_ = 0;
};

}  // namespace flowback
