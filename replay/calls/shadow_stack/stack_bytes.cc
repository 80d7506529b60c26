// SPDX-License-Identifier: MIT
// A model of calls as bytes, and back. What only helps to find something (counts, lists, pieces
// that were looked up) is made anew, so that there is nothing in it that could contradict the
// calls.
#include <utility>

#include "base/linux/linux_abi.h"
#include "replay/calls/shadow_stack/call_bytes.h"
#include "replay/calls/shadow_stack/call_flow.h"
#include "replay/calls/shadow_stack/stack_set.h"

namespace flowback {

void StackSet::Write(CallWriter& out, const Stack& stack) {
  out.Calls(stack.calls);
  out.Number(stack.guesses.size());
  for (const Guess& guess : stack.guesses) {
    out.Number(guess.number);
    out.Number(guess.depth);
    out.Calls(guess.left);
    out.Number(guess.parked);
    out.Number(guess.since);
    out.Number(guess.left_below.size());
    for (const size_t left : guess.left_below) out.Number(left);
  }
  out.Number(stack.saved.all().size());
  for (const SavedPlace& saved : stack.saved.all()) {
    out.Number(saved.depth);
    out.Number(saved.address);
    out.Number(saved.self);
    out.Number(saved.pushed);
    out.Number(saved.used);
  }
  out.Number(stack.number);
  out.Number(stack.announced);
  out.Number(stack.elsewhere);
  out.Number(stack.left_at);
}

void StackSet::Write(CallWriter& out) const {
  Write(out, *active_);
  out.Number(parked_.size());
  for (const auto& [turn, stack] : parked_) {
    out.Number(turn);
    Write(out, *stack);
  }
  out.Number(turns_);
  out.Number(numbers_);
  out.Number(guesses_);
  out.Number(compared_);
  out.Number(has_unseen);
  out.Number(now.instructions);
  out.Number(now.tsc);
  out.Bounds(now.tsc, now.bounds);
}

void StackSet::ReadGuesses(CallReader& in, Stack& stack) {
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    Guess guess;
    guess.number = in.Number();
    guess.depth = in.Number();
    guess.left = in.Calls();
    guess.parked = in.Number();
    guess.since = in.Number();
    for (size_t below = in.Count(); below != 0 && in.ok(); --below)
      guess.left_below.push_back(in.Number());
    if (guess.depth > stack.calls.size()) in.Fail();
    stack.guesses.push_back(std::move(guess));
  }
}

std::unique_ptr<StackSet::Stack> StackSet::ReadStack(CallReader& in) {
  auto stack = std::make_unique<Stack>();
  for (const Call& call : in.Calls()) stack->calls.push_back(call);
  ReadGuesses(in, *stack);
  size_t least = 0;
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    SavedPlace saved;
    saved.depth = in.Number();
    saved.address = in.Number();
    saved.self = in.Number();
    saved.pushed = in.Flag();
    saved.used = in.Flag();
    if (saved.depth < least || saved.depth >= stack->calls.size()) in.Fail();
    least = saved.depth;
    if (in.ok()) stack->saved.Add(saved);
  }
  stack->number = static_cast<uint32_t>(in.Number());
  stack->announced = in.Flag();
  stack->elsewhere = in.Number();
  stack->left_at = in.Number();
  return stack;
}

void StackSet::Read(CallReader& in) {
  active_ = ReadStack(in);
  for (size_t left = in.Count(); left != 0 && in.ok(); --left) {
    const Turn turn = in.Number();
    std::unique_ptr<Stack> stack = ReadStack(in);
    if (parked_.contains(turn)) in.Fail();
    if (!in.ok()) return;
    parked_calls_ += stack->calls.size();
    List(*stack, turn, true);
    parked_.emplace(turn, std::move(stack));
  }
  turns_ = in.Number();
  numbers_ = static_cast<uint32_t>(in.Number());
  guesses_ = in.Number();
  compared_ = in.Number();
  has_unseen = in.Flag();
  now.instructions = in.Number();
  now.tsc = in.Number();
  now.bounds = in.Bounds(now.tsc);
}

std::vector<uint8_t> CallStack::Impl::ToBytes(const SpaceNames& spaces) const {
  CallWriter out(spaces, functions_);
  stacks_.Write(out);
  out.Calls(inherited_);
  out.Number(searched_);
  out.Space(space_);
  // Which piece it was decides about the next jump, where pieces overlap.
  out.Space(piece_space_);
  out.Number(piece_ip_);
  out.Number(stop_.active);
  if (stop_.active) {
    for (const UntracedGap::Cause cause : {stop_.cause, stop_.gap.cause})
      out.Number(static_cast<uint64_t>(cause));
    for (const uint64_t number : {stop_.site, stop_.begin_tsc, stop_.expected, stop_.gap.site,
                                  stop_.gap.begin_tsc, stop_.gap.end_tsc})
      out.Number(number);
    out.Bounds(stop_.gap.begin_tsc, stop_.gap.begin_bounds);
    out.Number(stop_.gap.came_back);
    out.Number(stop_.gap.call_number ? uint64_t{*stop_.gap.call_number} + 1 : 0);
    out.Number(static_cast<uint64_t>(stop_.gap.call_abi));
  }
  return out.ok() ? out.Take() : std::vector<uint8_t>();
}

void CallStack::Impl::ReadFlow(CallReader& in) {
  inherited_ = in.Calls();
  searched_ = in.Number();
  space_ = in.Space();
  piece_space_ = in.Space();
  piece_ip_ = in.Number();
  piece_ = piece_space_ == nullptr ? FunctionPiece() : functions_.Find(piece_space_, piece_ip_);
  stop_ = Stop();
  stop_.active = in.Flag();
  if (!stop_.active) return;
  for (UntracedGap::Cause* cause : {&stop_.cause, &stop_.gap.cause}) {
    const uint64_t number = in.Number();
    if (number > static_cast<uint64_t>(UntracedGap::Cause::kFilter)) return in.Fail();
    *cause = static_cast<UntracedGap::Cause>(number);
  }
  for (uint64_t* number : {&stop_.site, &stop_.begin_tsc, &stop_.expected, &stop_.gap.site,
                           &stop_.gap.begin_tsc, &stop_.gap.end_tsc})
    *number = in.Number();
  stop_.gap.begin_bounds = in.Bounds(stop_.gap.begin_tsc);
  stop_.gap.came_back = in.Flag();
  stop_.gap.space = space_;
  if (const uint64_t behind = in.Number(); behind != 0)
    stop_.gap.call_number = static_cast<uint32_t>(behind - 1);
  const uint64_t abi = in.Number();
  if (abi > static_cast<uint64_t>(LinuxAbi::kAArch64)) return in.Fail();
  stop_.gap.call_abi = static_cast<LinuxAbi>(abi);
}

bool CallStack::Impl::FromBytes(Bytes bytes, const SpaceNames& spaces) {
  CallReader in(bytes, spaces, functions_);
  stacks_.Clear();
  stacks_.Read(in);
  ReadFlow(in);
  if (in.Done()) return true;
  stacks_.Clear();
  inherited_.clear();
  stop_ = Stop();
  searched_ = 0;
  space_ = piece_space_ = nullptr;
  piece_ = {};
  return false;
}

}  // namespace flowback
