// SPDX-License-Identifier: MIT
#include "replay/calls/shadow_stack/stack_set.h"

#include <algorithm>
#include <iterator>

namespace flowback {
namespace {

// Guesses of a stack; if there are more, the outermost counts as certain.
constexpr size_t kMostGuesses = 64;
// The number of a stack's innermost calls that the flow can go back into, by a return or otherwise.
constexpr size_t kMostListed = 16;
// With more stacks, or calls, it is not asked at each return whether a guess has proved right.
constexpr size_t kMostCompared = 64;

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
  if (!active_->counts.HasResume(all, resume)) return all.size();
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

void StackSet::Push(const Call& call) {
  if (!HasRoom()) Cut(CallExit::kLost);
  Put(call);
  active_->announced = false;
}

void StackSet::Announce() {
  if (active_->announced || calls().empty()) return;
  active_->announced = true;
  listener_->OnEnter(calls().back(), calls().size() - 1);
}

void StackSet::Pop(CallExit how) {
  const Call call = calls().back();
  Drop();
  if (HasGuess()) active_->Note(call, calls().size());
  const uint64_t elsewhere = active_->elsewhere - call.elsewhere_before;
  listener_->OnExit(call, calls().size(), how,
                    now.instructions - call.instructions_before - elsewhere, {now.tsc, now.bounds});
}

void StackSet::PopTo(size_t depth, CallExit how) {
  while (calls().size() > depth) Pop(how);
}

void StackSet::LeadOn(uint64_t function, uint64_t ip, const AddressSpace* space, bool is_stub) {
  Call& call = calls().back();
  active_->counts.ChangeFunction(calls(), function);
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
  active_->guesses.clear();
}

void StackSet::Clear() {
  active_ = std::make_unique<Stack>();
  parked_.clear();
  for (Places* places : {&by_return_, &inside_, &saved_}) places->clear();
  parked_calls_ = 0;
  numbers_ = 1;
  compared_ = 0;
  now = {};
  has_unseen = true;
}

void StackSet::Save(uint64_t address, bool pushed) {
  if (calls().empty()) return;
  active_->saved.Add({.depth = calls().size() - 1,
                      .address = address,
                      .self = calls().back().self,
                      .pushed = pushed});
}

// By what a parked stack is found.
void StackSet::List(const Stack& stack, Turn turn, bool add) {
  const auto list = [&](Places& places, uint64_t address) {
    if (add)
      places.insert({address, turn});
    else
      places.erase({address, turn});
  };
  const size_t most = std::min(stack.calls.size(), kMostListed);
  for (size_t i = 0; i < most; ++i)
    list(i == 0 ? by_return_ : inside_, stack.FromWithin(i)->return_address);
  const std::vector<SavedPlace>& saved = stack.saved.all();
  const size_t listed = std::min(saved.size(), kMostListed);
  for (size_t i = 0; i < listed; ++i) list(saved_, saved[saved.size() - 1 - i].address);
}

void StackSet::ParkAs(Turn turn) {
  active_->left_at = now.instructions;
  parked_calls_ += calls().size();
  List(*active_, turn, true);
  parked_.emplace(turn, std::move(active_));
  active_ = nullptr;
}

void StackSet::Activate(Parked::iterator stack) {
  const std::vector<Call>& its = stack->second->calls;
  parked_calls_ -= its.size();
  List(*stack->second, stack->first, false);
  active_ = std::move(stack->second);
  active_->elsewhere += now.instructions - active_->left_at;
  parked_.erase(stack);
  listener_->OnSwitch(number());
}

void StackSet::Forget(Parked::iterator stack, CallExit how) {
  std::unique_ptr<Stack> own = std::move(active_);
  Activate(stack);
  Announce();
  active_->guesses.clear();
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
  const bool taken = MayBeTaken(address, first->second);
  const Turn parked = first->second;
  const auto stack = parked_.find(parked);
  Park();
  Activate(stack);
  if (several || like_own || taken || has_unseen) AddGuess(++guesses_, *active_, 0, parked, turns_);
}

// Whether a stack that goes on at `address` may have been gone on with by mistake.
bool StackSet::MayBeTaken(uint64_t address, Turn but) const {
  if (parked_.size() > kMostCompared) return guesses_ != 0;
  const auto is_at = [&](const Stack& stack) {
    return std::ranges::any_of(stack.guesses, [&](const Guess& guess) {
      if (!guess.left.empty()) return guess.left.front().return_address == address;
      return guess.depth > 0 && stack.calls[guess.depth - 1].return_address == address;
    });
  };
  return is_at(*active_) || std::ranges::any_of(parked_, [&](const auto& each) {
           return each.first != but && is_at(*each.second);
         });
}

StackSet::Parked::iterator StackSet::FirstIn(const Places& places, uint64_t address) {
  const auto first = places.lower_bound({address, 0});
  const bool found = address != 0 && first != places.end() && first->first == address;
  return found ? parked_.find(first->second) : parked_.end();
}

bool StackSet::SwitchInto(uint64_t address) {
  const auto stack = FirstIn(inside_, address);
  if (stack == parked_.end()) return false;
  Park();
  Activate(stack);
  active_->guesses.clear();
  while (calls().back().return_address != address) Pop(CallExit::kUnwound);
  return true;
}

bool StackSet::SwitchIntoSaved(uint64_t address) {
  const auto stack = FirstIn(saved_, address);
  if (stack == parked_.end()) return false;
  const auto next = saved_.upper_bound({address, stack->first});
  const bool several = next != saved_.end() && next->first == address;
  const Turn parked = stack->first;
  Park();
  Activate(stack);
  active_->guesses.clear();
  SavedPlaces& saved = active_->saved;
  const size_t place = saved.Find(address, calls().size(), [](const SavedPlace&) { return true; });
  saved.SetUsed(place);
  PopTo(saved.all()[place].depth + 1, CallExit::kUnwound);
  if (several || has_unseen) AddGuess(++guesses_, *active_, 0, parked, turns_);
  return true;
}

void StackSet::SwitchToNew() {
  Park();
  active_ = std::make_unique<Stack>();
  active_->number = numbers_++;
  listener_->OnSwitch(number());
  if (parked_.size() > CallStack::kMostStacks) Forget(parked_.begin(), CallExit::kLost);
}

const Call* StackSet::Content::FromWithin(size_t i) const {
  return i < calls.size() ? &calls[calls.size() - 1 - i] : nullptr;
}

// The innermost call has been left, so that there are `depth`.
void StackSet::Content::Note(const Call& call, size_t depth) {
  for (Guess& guess : guesses) {
    if (depth >= guess.depth) continue;
    guess.depth = depth;
    guess.left.push_back(call);
  }
  if (guesses.size() > kMostGuesses) guesses.erase(guesses.begin());
}

void StackSet::Content::Leave(size_t count) {
  for (; count > 0; --count) {
    const Call call = calls.back();
    calls.pop_back();
    Note(call, calls.size());
  }
}

StackSet::Content StackSet::Stack::Before(size_t guess) const {
  if (guess == kNoGuess) return *this;
  const Guess& made = guesses[guess];
  Content before;
  before.calls.assign(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(made.depth));
  before.calls.insert(before.calls.end(), made.left.rbegin(), made.left.rend());
  before.guesses.assign(guesses.begin(), guesses.begin() + static_cast<ptrdiff_t>(guess));
  for (size_t i = 0; i < before.guesses.size() && i < made.left_below.size(); ++i) {
    Guess& older = before.guesses[i];
    if (older.left.size() <= made.left_below[i]) continue;
    older.depth += older.left.size() - made.left_below[i];
    older.left.resize(made.left_below[i]);
  }
  // After an exchange what was left since is not known of each guess by itself: none is of more
  // calls than there are, nor of more than one further in.
  size_t most = before.calls.size();
  for (size_t i = before.guesses.size(); i > 0; --i)
    before.guesses[i - 1].depth = most = std::min(before.guesses[i - 1].depth, most);
  return before;
}

std::vector<StackGuess> StackSet::Short(const std::vector<Guess>& guesses) {
  std::vector<StackGuess> result;
  result.reserve(guesses.size());
  for (const Guess& guess : guesses)
    result.push_back({guess.number, guess.depth, guess.left.size()});
  return result;
}

// The calls that are there are those of `before`, but for `left` of the innermost.
void StackSet::AddGuess(uint64_t number, const Content& before, size_t left, Turn parked,
                        Turn since) {
  Guess guess{.number = number,
              .depth = calls().size(),
              .left = {before.calls.rbegin(), before.calls.rbegin() + static_cast<ptrdiff_t>(left)},
              .parked = parked,
              .since = since,
              .left_below = {}};
  for (const Guess& older : before.guesses) guess.left_below.push_back(older.left.size());
  active_->guesses.push_back(std::move(guess));
}

// A stack on which what has returned since the guess would have gone on at `address`. If it has
// been gone on with meanwhile, by a guess too, then that must have been possible with this one.
std::optional<StackSet::Other> StackSet::FindOther(const Guess& guess, const Content& before,
                                                   uint64_t address, bool guessed) {
  const size_t left = guess.left.size();
  const auto is_like = [&](const Content& other, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const Call* own = before.FromWithin(i);
      const Call* its = other.FromWithin(i);
      if (own == nullptr || its == nullptr || own->return_address != its->return_address)
        return false;
    }
    return true;
  };
  for (auto stack = parked_.begin(); stack != parked_.end(); ++stack) {
    const Stack& each = *stack->second;
    for (size_t i = guessed ? 0 : kNoGuess; guessed ? i < each.guesses.size() : i == kNoGuess;
         ++i) {
      const Turn parked = guessed ? each.guesses[i].parked : stack->first;
      const bool in_time =
          parked < guess.since && (!guessed || guess.parked < each.guesses[i].since);
      if (in_time) {
        Content other = each.Before(i);
        const Call* next = other.FromWithin(left);
        const size_t its_left = guessed ? each.guesses[i].left.size() : 0;
        if (next != nullptr && next->return_address == address &&
            is_like(other, std::max(left, its_left)))
          return Other{stack, i, std::move(other)};
      }
      if (!guessed) break;
    }
  }
  return std::nullopt;
}

std::optional<StackSet::Other> StackSet::FindOther(size_t guess, uint64_t address) {
  const Content before = active_->Before(guess);
  for (const bool guessed : {false, true})
    if (auto other = FindOther(active_->guesses[guess], before, address, guessed)) return other;
  return std::nullopt;
}

// A call that was known. Its first entry has been closed.
void StackSet::EnterAgain(Call call) {
  call.self = 0;
  call.tsc = now.tsc;
  call.bounds = now.bounds;
  call.instructions_before = now.instructions;
  call.elsewhere_before = active_->elsewhere;
  Put(call);
  listener_->OnEnter(call, calls().size() - 1);
}

// The thread is on a stack with those calls, in truth.
void StackSet::Become(Content content) {
  active_->guesses.clear();
  const auto is_same = [](const Call& a, const Call& b) {
    return a.entry_ip == b.entry_ip && a.return_address == b.return_address &&
           a.instructions_before == b.instructions_before;
  };
  const size_t most = std::min(calls().size(), content.calls.size());
  size_t same = 0;
  while (same < most && is_same(calls()[same], content.calls[same])) ++same;
  PopTo(same, CallExit::kReturn);
  while (calls().size() < content.calls.size()) EnterAgain(content.calls[calls().size()]);
  active_->guesses = std::move(content.guesses);
}

// What the thread did on this stack since the guess it did on the other one, and the reverse.
void StackSet::Exchange(size_t index, Other other) {
  const Guess guess = active_->guesses[index];
  const Stack& its = *other.stack->second;
  const Content own = active_->Before(index);
  const bool guessed = other.guess != kNoGuess;
  const Guess its_guess = guessed ? its.guesses[other.guess] : Guess();
  guesses_ += 2;
  const uint64_t next = guesses_;
  listener_->OnCorrection(guess.number, next, its.number,
                          {other.before.calls, Short(other.before.guesses)});
  if (guessed)
    listener_->OnCorrection(its_guess.number, next - 1, number(), {own.calls, Short(own.guesses)});
  const std::vector<Call> above(
      its.calls.begin() + static_cast<ptrdiff_t>(guessed ? its_guess.depth : its.calls.size()),
      its.calls.end());
  std::vector<Guess> guesses_above;
  if (guessed)
    guesses_above.assign(its.guesses.begin() + static_cast<ptrdiff_t>(other.guess) + 1,
                         its.guesses.end());
  Content mine = own;
  mine.Leave(its_guess.left.size());
  Become(std::move(mine));
  if (guessed) AddGuess(next - 1, own, its_guess.left.size(), guess.parked, its_guess.since);
  const size_t depth = calls().size();
  for (const Call& call : above) EnterAgain(call);
  for (Guess& each : guesses_above) {
    each.depth = each.depth - its_guess.depth + depth;
    each.left_below.clear();
    for (const Guess& older : active_->guesses) each.left_below.push_back(older.left.size());
    active_->guesses.push_back(std::move(each));
  }
  const Turn turn = other.stack->first;
  std::unique_ptr<Stack> left = std::move(active_);
  left->left_at = now.instructions;
  Activate(other.stack);
  std::swap(left, active_);
  ParkAs(guessed ? turn : guess.parked);
  active_ = std::move(left);
  Content right = other.before;
  right.Leave(guess.left.size());
  Become(std::move(right));
  AddGuess(next, other.before, guess.left.size(), guessed ? its_guess.parked : turn, guess.since);
  Pop(CallExit::kReturn);
}

// However a flow uses its stacks, no more comparisons are made than it has instructions.
bool StackSet::MayCompare() {
  constexpr uint64_t kAhead = uint64_t{1} << 20;
  compared_ += parked_.size() + 1;
  return compared_ < kAhead + now.instructions;
}

bool StackSet::Correct(uint64_t address) {
  for (size_t i = active_->guesses.size(); i > 0; --i) {
    if (active_->guesses[i - 1].depth < calls().size() || !MayCompare()) return false;
    if (auto other = FindOther(i - 1, address)) {
      Exchange(i - 1, *std::move(other));
      return true;
    }
  }
  return false;
}

// Whether a stack, as it was when it was left before a guess, would have returned as the calls that
// were left since, and then to `address`.
bool StackSet::MayBe(const Guess& guess, uint64_t address, const Stack& stack, size_t which,
                     Turn parked) const {
  if (parked >= guess.since) return false;
  const Content other = stack.Before(which);
  const size_t certain =
      other.calls.size() - (other.guesses.empty() ? 0 : other.guesses.back().depth);
  for (size_t i = 0; i <= guess.left.size(); ++i) {
    if (i >= certain && i < other.calls.size()) return true;  // it may be another's itself
    const Call* its = other.FromWithin(i);
    const uint64_t to = i < guess.left.size() ? guess.left[i].return_address : address;
    if (its == nullptr || its->return_address != to) return false;
  }
  return true;
}

// Checks any stack but the guessed one.
bool StackSet::MayBeOther(size_t index, uint64_t address) const {
  if (has_unseen) return true;
  const Guess& guess = active_->guesses[index];
  for (size_t i = 0; i < active_->guesses.size(); ++i)
    if (i != index && MayBe(guess, address, *active_, i, active_->guesses[i].parked)) return true;
  return std::ranges::any_of(parked_, [&](const auto& each) {
    const Stack& stack = *each.second;
    if (MayBe(guess, address, stack, kNoGuess, each.first)) return true;
    for (size_t i = 0; i < stack.guesses.size(); ++i)
      if (MayBe(guess, address, stack, i, stack.guesses[i].parked)) return true;
    return false;
  });
}

// The flow returns to `address`, as it would on the stack that was guessed: where it would not on
// any other, that is certain.
void StackSet::Confirm(uint64_t address) {
  std::vector<Guess>& guesses = active_->guesses;
  for (size_t i = guesses.size(); i > 0 && guesses[i - 1].depth >= calls().size(); --i) {
    if (parked_.size() > kMostCompared || guesses[i - 1].left.size() > kMostCompared ||
        !MayCompare())
      return;
    if (MayBeOther(i - 1, address)) continue;
    listener_->OnCertain(guesses[i - 1].number);
    const auto at = static_cast<ptrdiff_t>(i - 1);
    for (size_t j = i; j < guesses.size(); ++j)
      if (i - 1 < guesses[j].left_below.size())
        guesses[j].left_below.erase(guesses[j].left_below.begin() + at);
    guesses.erase(guesses.begin() + at);
  }
}

}  // namespace flowback
