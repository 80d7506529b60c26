// SPDX-License-Identifier: MIT
#include "replay/locks/atomic_uses.h"

#include "decode/instruction/atomic_access.h"

namespace flowback {
namespace {

// Whether the next block begins only after a packet with its address.
bool NeedsPacket(InstructionClass last) {
  return last != InstructionClass::kOther && last != InstructionClass::kJump &&
         last != InstructionClass::kCall;
}

}  // namespace

void AtomicUses::OnBlock(const LoopBlock& block, uint64_t begin, const ExitTime& time) {
  uint64_t at = block.address;
  for (size_t i = 0; block.atomic && i < block.lengths.size() && !atomics_.empty(); ++i) {
    const Bytes code = block.code.subspan(at - block.address, block.lengths[i]);
    if (IsAtomicAccess(code, block.mode)) {
      uses_.push_back({.address = atomics_.front(),
                       .position = begin + i,
                       .space = block.space,
                       .ip = at,
                       .time = time});
      atomics_.pop_front();
    }
    at += block.lengths[i];
  }
  if (block.last == InstructionClass::kFarCall && !futexes_.empty() && !block.lengths.empty())
    uses_.push_back({.address = futexes_.front(),
                     .position = begin + block.lengths.size() - 1,
                     .space = block.space,
                     .ip = block.end - block.lengths.back(),
                     .time = time,
                     .futex = true});
  if (NeedsPacket(block.last)) Forget();
}

}  // namespace flowback
