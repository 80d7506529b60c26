// SPDX-License-Identifier: MIT
// A stack of addresses that are not 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace flowback {

class AddressStack {
 public:
  AddressStack() = default;
  AddressStack(std::initializer_list<uint64_t> addresses) : AddressStack(std::span(addresses)) {}
  // The newest comes last.
  explicit AddressStack(std::span<const uint64_t> addresses) {
    for (const uint64_t address : addresses) Push(address);
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  uint64_t newest() const { return rooms_[size_]; }  // 0: the stack is empty
  std::span<const uint64_t> all() const { return std::span(rooms_).subspan(1, size_); }

  void Push(uint64_t address) { Exchange(false, address, true); }
  void Pop() { --size_; }  // REQUIRES: it is not empty
  // Takes the newest off, if `takes`, and then adds one, if `adds`. Without a branch, as a decoder
  // has thousands of either one behind the other, in no order that a processor could foresee.
  // REQUIRES: it is not empty, or not `takes`.
  [[gnu::always_inline]] void Exchange(bool takes, uint64_t address, bool adds) {
    const size_t left = size_ - size_t{takes};
    if (left + 1 == rooms_.size()) [[unlikely]]
      rooms_.resize(2 * rooms_.size());
    rooms_[left + 1] = address;
    size_ = left + size_t{adds};
  }

  friend bool operator==(const AddressStack& a, const AddressStack& b) {
    return std::ranges::equal(a.all(), b.all());
  }

 private:
  std::vector<uint64_t> rooms_ = {0, 0};  // the first holds none
  size_t size_ = 0;
};

}  // namespace flowback
