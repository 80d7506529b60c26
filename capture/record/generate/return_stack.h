// SPDX-License-Identifier: MIT
// The call stack that return compression works on.  [SDM "Return Compression"]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace flowback::record {

// 64 deep; the oldest address falls out.
class CompressionStack {
 public:
  void Push(uint64_t address) {
    top_ = (top_ + 1) % kDepth;
    addresses_[top_] = address;
    if (size_ < kDepth) ++size_;
  }
  std::optional<uint64_t> Pop() {
    if (size_ == 0) return std::nullopt;
    const uint64_t address = addresses_[top_];
    top_ = (top_ + kDepth - 1) % kDepth;
    --size_;
    return address;
  }
  // Pops when the top is `address`.
  bool PopIf(uint64_t address) {
    if (size_ == 0 || addresses_[top_] != address) return false;
    Pop();
    return true;
  }
  void Clear() { size_ = 0; }

 private:
  static constexpr size_t kDepth = 64;
  std::array<uint64_t, kDepth> addresses_{};
  size_t top_ = 0;
  size_t size_ = 0;
};

}  // namespace flowback::record
