// SPDX-License-Identifier: MIT
#include "replay/calls/shadow_stack/stack_leap.h"

#include <algorithm>

#include "replay/calls/shadow_stack/call_flow.h"

namespace flowback {

bool StackSet::IsSimple() const {
  return active_->number == 0 && active_->guesses.empty() && active_->elsewhere == 0 &&
         parked_.empty();
}

void StackSet::KeepOnly(size_t count) {
  while (calls().size() > count) Drop();
  active_->announced = true;
}

bool CallStack::Impl::MayLeap() const {
  return stacks_.IsSimple() && stacks_.announced() && !stop_.active && inherited_.empty() &&
         !stacks_.calls().empty() && goes_on_in_.empty();
}

// A place was saved just now if its call has executed little since, which is unknown after skipped
// flow. A call's use of the stack pointer matters when it returns.
size_t CallStack::Impl::NoLeapBelow() const {
  size_t below = 0;
  const std::vector<Call>& all = stacks_.calls();
  for (const SavedPlace& place : stacks_.saved().all())
    if (all[place.depth].self - place.self <= kFewSince) below = std::max(below, place.depth + 1);
  for (size_t depth = below; depth < all.size(); ++depth)
    if ((all[depth].stack_use & kOfItsCall) != 0) below = depth + 1;
  return below;
}

// A call that copied its stack pointer to the frame pointer may have done so in what was passed
// over. Where unknown calls were entered is not known, so no block of theirs is taken for the
// first.
bool CallStack::Impl::GoOnBehind(const StackLeap& leap) {
  constexpr uint32_t kKept = uint32_t{1} << kFramePointer;
  if (leap.lowest < calls().size()) {
    const Call& lowest = calls()[leap.lowest];
    const bool is_it = lowest.return_address == leap.lowest_return;
    const uint64_t function = functions_.Find(space_, leap.lowest_address).id;
    if (is_it && lowest.function != function) return false;
  }
  stop_ = Stop();
  stacks_.KeepOnly(leap.keep);
  stacks_.now.instructions = leap.instructions;
  if (leap.keep != 0) calls()[leap.keep - 1].kept_in |= kKept;
  for (const StackLeap::Unknown& unknown : leap.unknown) {
    Call call = stacks_.Entered(CallEntry::kRunning, 0, space_);
    call.return_address = unknown.return_address;
    call.function = functions_.Find(space_, unknown.address).id;
    call.kept_in = kKept;
    stacks_.PushKnown(call);
  }
  return true;
}

void CallStack::Impl::BeginAnew(const AddressSpace* space, uint64_t address,
                                uint64_t instructions) {
  space_ = space;
  GoOnBehind({.keep = 0,
              .unknown = {{.return_address = 0, .address = address}},
              .lowest = SIZE_MAX,
              .lowest_return = 0,
              .lowest_address = 0,
              .instructions = instructions});
}

size_t StackLeaper::NoLeapBelow(const CallStack& stack) { return stack.impl_->NoLeapBelow(); }
bool StackLeaper::MayLeap(const CallStack& stack) { return stack.impl_->MayLeap(); }
void StackLeaper::BeginAnew(CallStack& stack, const AddressSpace* space, uint64_t address,
                            uint64_t instructions) {
  stack.impl_->BeginAnew(space, address, instructions);
}
bool StackLeaper::Leap(CallStack& stack, const StackLeap& leap) {
  return stack.impl_->GoOnBehind(leap);
}

}  // namespace flowback
