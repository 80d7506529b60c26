// SPDX-License-Identifier: MIT
// Which address each atomic operation and each futex call of a thread accessed, where the recording
// has that (EventKind::kLockAddress).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/locks/loops/loop_blocks.h"

namespace flowback {

struct AtomicUse {
  uint64_t address = 0;   // of the data
  uint64_t position = 0;  // the number of the thread's instructions before it
  const AddressSpace* space = nullptr;
  uint64_t ip = 0;  // of the instruction
  ExitTime time;    // when the last instruction of its block executed
  bool futex = false;
};

// One thread's uses. An address comes before the block with its operation, without a branch that
// needs a packet in between: an address left over after such a branch belongs to unknown code.
class AtomicUses {
 public:
  void OnAddress(uint64_t address, bool futex) { (futex ? futexes_ : atomics_).push_back(address); }
  // Whether an address still has no operation: the next block is to be passed on.
  bool waits() const { return !atomics_.empty() || !futexes_.empty(); }
  // `begin`: the number of the thread's instructions before the block.
  void OnBlock(const LoopBlock& block, uint64_t begin, const ExitTime& time);
  void Forget() {
    atomics_.clear();
    futexes_.clear();
  }
  // The uses since the last call, in order.
  std::vector<AtomicUse> Take() { return std::exchange(uses_, {}); }

 private:
  std::deque<uint64_t> atomics_;
  std::deque<uint64_t> futexes_;
  std::vector<AtomicUse> uses_;
};

}  // namespace flowback
