// SPDX-License-Identifier: MIT
// The stacks of one thread: the one that it is on, and those that it left and may come back to.
//
// Where a thread comes back to a stack is told by a return address alone, and several stacks may
// have been left at the same place: fibres that all yield in one function. Then the one that was
// left first is taken, which is right where they take turns. If it was the wrong one, a later
// return leads to another stack's caller. So the calls that were left since are kept, until they
// are put back and the right stack is found by them.
//
//   guessed   main loop | body A | yield        yield returned: kept in `left`
//   another   main loop | body B | yield        the next return goes into body B: it was this one
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/calls/count_table.h"

namespace flowback {

class StackSet {
 public:
  explicit StackSet(CallListener& listener) : listener_(&listener) {}

  // When and where the flow is; it changes between two calls as the owner reads on.
  struct Moment {
    uint64_t instructions = 0;
    uint64_t tsc = 0;
    TscInterval bounds;
  };
  Moment now;

  // Of the stack that the thread is on.
  std::vector<Call>& calls() { return active_->calls; }
  const std::vector<Call>& calls() const { return active_->calls; }
  uint32_t number() const { return active_->number; }
  bool announced() const { return active_->announced; }
  bool HasReturnTo(uint64_t address) const { return active_->return_addresses.Has(address); }
  bool HasFunction(uint64_t id) const { return active_->functions.Has(id); }
  // The depth of the innermost call of the function, or of the innermost handler that resumes
  // there; calls().size() when there is none.
  size_t DepthOfFunction(uint64_t id) const;
  size_t DepthOfHandler(uint64_t resume) const;

  Call Entered(CallEntry entry, uint64_t ip, const AddressSpace* space) const;
  void Push(const Call& call);
  // Tells the listener of the innermost call, if that has not been done.
  void Announce();
  void Pop(CallExit how);
  void PopTo(size_t depth, CallExit how);  // until `depth` calls are left
  // The innermost one is of another function from now on: a stub led there.
  void LeadOn(uint64_t function, uint64_t ip, const AddressSpace* space, bool is_stub);
  // All calls of all stacks. The thread is on its first one again.
  void Cut(CallExit how);
  void Clear();

  // The innermost call has noted that it may go on at `address` later (setjmp).
  void Save(uint64_t address);
  // The innermost call that did; calls().size(): none.
  size_t DepthOfSaved(uint64_t address) const;

  // Whether a stack that was left goes on at `address` when its innermost call returns.
  bool LeftAt(uint64_t address) const;
  // Goes to the one of them that was left first. REQUIRES: LeftAt.
  void SwitchTo(uint64_t address);
  // Goes to a stack of which some call returns to `address`, or has saved it, and leaves what is
  // further in. False: there is none.
  bool SwitchInto(uint64_t address);
  bool SwitchIntoSaved(uint64_t address);
  void SwitchToNew();
  // The flow returns to `address`, as the innermost call's caller on the stack that was guessed
  // would not. True: another one was meant; it is there now, and has returned.
  bool Correct(uint64_t address);
  StackGuess guess() const {
    const Guess& guess = active_->guess;
    return {guess.number, guess.depth, guess.left.size()};
  }

 private:
  struct Saved {
    size_t depth = 0;
    uint64_t address = 0;
  };
  // What was left on a stack that was taken for one of several.
  struct Guess {
    uint64_t number = 0;     // 0: nothing is
    size_t depth = 0;        // calls that are as they were
    std::vector<Call> left;  // the innermost first
  };
  struct Stack {
    uint32_t number = 0;
    std::vector<Call> calls;
    CountTable return_addresses;
    CountTable functions;
    CountTable resumes;
    std::vector<Saved> saved;  // by depth
    bool announced = true;
    uint64_t elsewhere = 0;  // instructions on other stacks since this one was first gone to
    uint64_t left_at = 0;    // instructions of the thread
    Guess guess;
  };
  using Turn = uint64_t;  // counts how often a stack was left
  using Parked = std::map<Turn, std::unique_ptr<Stack>>;

  void Park();
  void Activate(Parked::iterator stack);
  void Forget(Parked::iterator stack, CallExit how);
  void Put(const Call& call);
  Call Take();
  void Note(const Call& call);
  Parked::iterator FindLike(const Guess& guess, uint64_t address);

  CallListener* listener_;
  std::unique_ptr<Stack> active_ = std::make_unique<Stack>();
  Parked parked_;
  std::set<std::pair<uint64_t, Turn>> by_return_;  // of each parked stack's innermost call
  Turn turns_ = 0;
  uint32_t numbers_ = 1;
  uint64_t guesses_ = 0;
  size_t parked_calls_ = 0;
};

}  // namespace flowback
