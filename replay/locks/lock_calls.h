// SPDX-License-Identifier: MIT
// How often a thread called functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace flowback {

// By the function's number, and the address of the call.
struct HashOfCall {
  size_t operator()(const std::pair<uint32_t, uint64_t>& call) const {
    return static_cast<size_t>((call.second ^ uint64_t{call.first} << 48) * 0x9e3779b97f4a7c15);
  }
};
using CallCounts = std::unordered_map<std::pair<uint32_t, uint64_t>, uint64_t, HashOfCall>;

// Counts them. Calls go to the same few places again and again, so their counts are found by a
// small table. Not thread-safe.
class LockCalls {
 public:
  LockCalls() = default;
  LockCalls(const LockCalls&) = delete;
  LockCalls& operator=(const LockCalls&) = delete;

  void Add(uint32_t function, uint64_t site) {
    const std::pair call(function, site);
    Found& found = found_[HashOfCall()(call) >> kShift];
    if (found.count == nullptr || found.call != call) found = {call, &counts_[call]};
    ++*found.count;
  }
  // Returns the counts, and begins anew.
  CallCounts Take() {
    found_ = {};
    return std::exchange(counts_, {});
  }

 private:
  static constexpr size_t kFound = 4096;
  static constexpr unsigned kShift = 52;  // leaves as many bits as kFound needs

  struct Found {
    std::pair<uint32_t, uint64_t> call;
    uint64_t* count = nullptr;  // in counts_, where it stays
  };

  CallCounts counts_;
  std::array<Found, kFound> found_{};
};

}  // namespace flowback
