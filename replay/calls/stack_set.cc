// SPDX-License-Identifier: MIT
#include "replay/calls/stack_set.h"

#include <algorithm>
#include <iterator>

namespace flowback {
namespace {

// A stack that may be a wrong guess is kept in mind until so many calls were left.
constexpr size_t kMostLeft = 256;

}  // namespace

size_t StackSet::DepthOfFunction(uint64_t id) const {
  const std::vector<Call>& all = calls();
  if (!HasFunction(id)) return all.size();
  size_t depth = all.size();
  while (depth > 0 && all[depth - 1].function != id) --depth;
  return depth == 0 ? all.size() : depth - 1;
}

size_t StackSet::DepthOfHandler(uint64_t resume) const {
  const std::vector<Call>& all = calls();
  if (!active_->resumes.Has(resume)) return all.size();
  size_t depth = all.size();
  while (depth > 0 && all[depth - 1].resume != resume) --depth;
  return depth == 0 ? all.size() : depth - 1;
}

Call StackSet::Entered(CallEntry entry, uint64_t ip, const AddressSpace* space) const {
  Call call;
  call.entry = entry;
  call.entry_ip = ip;
  call.space = space;
  call.tsc = now.tsc;
  call.bounds = now.bounds;
  call.instructions_before = now.instructions;
  call.elsewhere_before = active_->elsewhere;
  return call;
}

void StackSet::Put(const Call& call) {
  active_->return_addresses.Add(call.return_address);
  active_->functions.Add(call.function);
  active_->resumes.Add(call.resume);
  active_->calls.push_back(call);
}

void StackSet::Push(const Call& call) {
  if (calls().size() + parked_calls_ >= CallStack::kMostCalls) Cut(CallExit::kLost);
  Put(call);
  active_->announced = false;
}

void StackSet::Announce() {
  if (active_->announced || calls().empty()) return;
  active_->announced = true;
  listener_->OnEnter(calls().back(), calls().size() - 1);
}

Call StackSet::Take() {
  const Call call = calls().back();
  active_->return_addresses.Remove(call.return_address);
  active_->functions.Remove(call.function);
  active_->resumes.Remove(call.resume);
  calls().pop_back();
  while (!active_->saved.empty() && active_->saved.back().depth >= calls().size())
    active_->saved.pop_back();
  return call;
}

void StackSet::Note(const Call& call) {
  Guess& guess = active_->guess;
  if (calls().size() >= guess.depth) return;
  guess.depth = calls().size();
  guess.left.push_back(call);
  if (guess.left.size() > kMostLeft) guess = {};
}

void StackSet::Pop(CallExit how) {
  const Call call = Take();
  if (active_->guess.number != 0) Note(call);
  const uint64_t elsewhere = active_->elsewhere - call.elsewhere_before;
  listener_->OnExit(call, calls().size(), how,
                    now.instructions - call.instructions_before - elsewhere, {now.tsc, now.bounds});
}

void StackSet::PopTo(size_t depth, CallExit how) {
  while (calls().size() > depth) Pop(how);
}

void StackSet::LeadOn(uint64_t function, uint64_t ip, const AddressSpace* space, bool is_stub) {
  Call& call = calls().back();
  active_->functions.Remove(call.function);
  active_->functions.Add(function);
  call.function = function;
  call.entry_ip = ip;
  call.space = space;
  call.via_stub = true;
  call.is_stub = is_stub;
}

void StackSet::Cut(CallExit how) {
  if (!calls().empty()) {
    Announce();
    PopTo(0, how);
  }
  while (!parked_.empty()) Forget(parked_.begin(), how);
  if (number() != 0) {
    active_ = std::make_unique<Stack>();
    listener_->OnSwitch(0);
  }
  active_->guess = {};
}

void StackSet::Clear() {
  active_ = std::make_unique<Stack>();
  numbers_ = 1;
  now = {};
}

void StackSet::Save(uint64_t address) {
  if (calls().empty()) return;
  const size_t depth = calls().size() - 1;
  std::vector<Saved>& saved = active_->saved;
  for (size_t i = saved.size(); i > 0 && saved[i - 1].depth == depth; --i)
    if (saved[i - 1].address == address) return;
  saved.push_back({depth, address});
}

size_t StackSet::DepthOfSaved(uint64_t address) const {
  const std::vector<Saved>& saved = active_->saved;
  const auto found = std::find_if(saved.rbegin(), saved.rend(),
                                  [&](const Saved& each) { return each.address == address; });
  return found == saved.rend() ? calls().size() : found->depth;
}

void StackSet::Park() {
  active_->left_at = now.instructions;
  parked_calls_ += calls().size();
  if (!calls().empty()) by_return_.insert({calls().back().return_address, turns_});
  parked_.emplace(turns_++, std::move(active_));
  active_ = nullptr;
}

void StackSet::Activate(Parked::iterator stack) {
  const std::vector<Call>& its = stack->second->calls;
  parked_calls_ -= its.size();
  if (!its.empty()) by_return_.erase({its.back().return_address, stack->first});
  active_ = std::move(stack->second);
  active_->elsewhere += now.instructions - active_->left_at;
  parked_.erase(stack);
  listener_->OnSwitch(number());
}

void StackSet::Forget(Parked::iterator stack, CallExit how) {
  std::unique_ptr<Stack> own = std::move(active_);
  Activate(stack);
  Announce();
  active_->guess = {};
  PopTo(0, how);
  active_ = std::move(own);
  listener_->OnSwitch(number());
}

bool StackSet::LeftAt(uint64_t address) const {
  const auto first = by_return_.lower_bound({address, 0});
  return address != 0 && first != by_return_.end() && first->first == address;
}

void StackSet::SwitchTo(uint64_t address) {
  const auto first = by_return_.lower_bound({address, 0});
  const auto next = std::next(first);
  const bool several = next != by_return_.end() && next->first == address;
  const bool like_own = !calls().empty() && calls().back().return_address == address;
  const auto stack = parked_.find(first->second);
  Park();
  Activate(stack);
  active_->guess = {};
  if (several || like_own)
    active_->guess = {.number = ++guesses_, .depth = calls().size(), .left = {}};
}

bool StackSet::SwitchInto(uint64_t address) {
  const auto stack = std::ranges::find_if(
      parked_, [&](const auto& each) { return each.second->return_addresses.Has(address); });
  if (stack == parked_.end()) return false;
  Park();
  Activate(stack);
  active_->guess = {};
  while (calls().back().return_address != address) Pop(CallExit::kUnwound);
  return true;
}

bool StackSet::SwitchIntoSaved(uint64_t address) {
  const auto stack = std::ranges::find_if(parked_, [&](const auto& each) {
    return std::ranges::any_of(each.second->saved,
                               [&](const Saved& saved) { return saved.address == address; });
  });
  if (stack == parked_.end()) return false;
  Park();
  Activate(stack);
  active_->guess = {};
  PopTo(DepthOfSaved(address) + 1, CallExit::kUnwound);
  return true;
}

void StackSet::SwitchToNew() {
  Park();
  active_ = std::make_unique<Stack>();
  active_->number = numbers_++;
  listener_->OnSwitch(number());
  if (parked_.size() > CallStack::kMostStacks) Forget(parked_.begin(), CallExit::kLost);
}

// A stack whose innermost calls would have returned as those did that were left, and then to
// `address`.
StackSet::Parked::iterator StackSet::FindLike(const Guess& guess, uint64_t address) {
  const uint64_t first = guess.left.empty() ? address : guess.left.front().return_address;
  for (auto at = by_return_.lower_bound({first, 0}); at != by_return_.end() && at->first == first;
       ++at) {
    const auto stack = parked_.find(at->second);
    const std::vector<Call>& its = stack->second->calls;
    const size_t left = guess.left.size();
    if (its.size() <= left || its[its.size() - 1 - left].return_address != address) continue;
    bool alike = true;
    for (size_t i = 0; i < left && alike; ++i)
      alike = its[its.size() - 1 - i].return_address == guess.left[i].return_address;
    if (alike) return stack;
  }
  return parked_.end();
}

bool StackSet::Correct(uint64_t address) {
  if (active_->guess.number == 0 || calls().size() > active_->guess.depth) return false;
  const auto right = FindLike(active_->guess, address);
  if (right == parked_.end()) return false;
  const Guess guess = std::move(active_->guess);
  active_->guess = {};
  for (auto call = guess.left.rbegin(); call != guess.left.rend(); ++call) {
    Put(*call);
    listener_->OnEnter(*call, calls().size() - 1);
  }
  listener_->OnCorrection(guess.number, guesses_ + 1, right->second->number, right->second->calls);
  Park();
  Activate(right);
  active_->guess = {.number = ++guesses_, .depth = calls().size(), .left = {}};
  for (size_t i = 0; i <= guess.left.size(); ++i) Pop(CallExit::kReturn);
  return true;
}

}  // namespace flowback
