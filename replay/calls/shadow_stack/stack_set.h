// SPDX-License-Identifier: MIT
// The stacks of one thread: the one that it is on, and those that it left and may come back to.
//
// A return address alone shows that a thread comes back to a stack, and several stacks may have
// been left at the same place: fibres that all yield in one function. Then the one that was left
// first is taken, which is right where they take turns. If it was the wrong one, a later return
// leads to another stack's caller. So the calls that were left since are kept: then they are put
// back, and the right stack is found by them. If that one has been taken for another meanwhile, the
// two exchange what they have done since.
//
//   guessed   main loop | body A | yield        yield returned: kept in `left`
//   another   main loop | body B | yield        the next return goes into body B: it was this one
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/calls/shadow_stack/call_counts.h"
#include "replay/calls/shadow_stack/saved_places.h"

namespace flowback {

class CallReader;  // replay/calls/shadow_stack/call_bytes.h
class CallWriter;

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
  // There may be stacks that were left before the flow begins, or where it was lost.
  bool has_unseen = true;

  // Calls of the current stack.
  std::vector<Call>& calls() { return active_->calls; }
  const std::vector<Call>& calls() const { return active_->calls; }
  uint32_t number() const { return active_->number; }
  bool announced() const { return active_->announced; }
  bool HasReturnTo(uint64_t address) const {
    return active_->counts.HasReturnTo(active_->calls, address);
  }
  bool HasFunction(uint64_t id) const { return active_->counts.HasFunction(active_->calls, id); }
  // Returns the depth of the innermost call of the function, or of the innermost handler that
  // resumes there; calls().size(): not found.
  size_t DepthOfFunction(uint64_t id) const;
  size_t DepthOfHandler(uint64_t resume) const;

  Call Entered(CallEntry entry, uint64_t ip, const AddressSpace* space) const;
  void Push(const Call& call);
  // These two do not call the listener. REQUIRES: HasRoom.
  [[gnu::always_inline]] void PushUsual(uint64_t ip, uint64_t site, uint64_t return_address,
                                        uint64_t function, const AddressSpace* space) {
    calls().push_back({.entry_ip = ip,
                       .site = site,
                       .return_address = return_address,
                       .resume = 0,
                       .function = function,
                       .tsc = now.tsc,
                       .bounds = now.bounds,
                       .instructions_before = now.instructions,
                       .elsewhere_before = active_->elsewhere,
                       .self = 0,
                       .space = space,
                       .entry = CallEntry::kCall,
                       .via_stub = false,
                       .is_stub = false,
                       .stack_use = 0,
                       .kept_in = 0});
  }
  // Returns the instructions since the call's entry, of what it called too. REQUIRES: !HasGuess.
  [[gnu::always_inline]] uint64_t PopUsual() {
    const Call& call = calls().back();
    const uint64_t elsewhere = active_->elsewhere - call.elsewhere_before;
    const uint64_t instructions = now.instructions - call.instructions_before - elsewhere;
    Drop();
    return instructions;
  }
  bool HasRoom() const { return calls().size() + parked_calls_ < CallStack::kMostCalls; }
  // Announces the innermost call to the listener, unless done.
  void Announce();
  void Pop(CallExit how);
  void PopTo(size_t depth, CallExit how);  // until `depth` calls are left
  // The innermost one is of another function from now on: a stub led there.
  void LeadOn(uint64_t function, uint64_t ip, const AddressSpace* space, bool is_stub);
  // All calls of all stacks. The thread is on its first one again.
  void Cut(CallExit how);
  void Clear();

  // There is no more to it than the calls of one stack (stack_leap.cc).
  bool IsSimple() const;
  // These two do not call the listener. REQUIRES: IsSimple.
  void KeepOnly(size_t count);
  void PushKnown(const Call& call) { Put(call); }

  // A call that was known, whose instructions are counted from here on.
  void EnterAgain(Call call);

  // The innermost call has noted that it may go on at `address` later (setjmp, the handler of an
  // exception).
  void Save(uint64_t address, bool pushed = false);
  SavedPlaces& saved() { return active_->saved; }
  const SavedPlaces& saved() const { return active_->saved; }

  // Whether a stack that was left goes on at `address` when its innermost call returns.
  bool LeftAt(uint64_t address) const;
  // Goes to the one of them that was left first. REQUIRES: LeftAt.
  void SwitchTo(uint64_t address);
  // Goes to a stack with a call that returns to `address`, or has saved it, and leaves the calls
  // further in. False: no stack has such a call.
  bool SwitchInto(uint64_t address);
  bool SwitchIntoSaved(uint64_t address);
  void SwitchToNew();
  // The flow returns to `address`, as the innermost call's caller on the stack that was guessed
  // would not. True: another one was meant; it is there now, and has returned.
  bool Correct(uint64_t address);
  bool HasGuess() const { return !active_->guesses.empty(); }
  void Confirm(uint64_t address);
  std::vector<StackGuess> guesses() const { return Short(active_->guesses); }
  uint64_t guess_count() const { return guesses_; }

  // All of it (stack_bytes.cc).
  void Write(CallWriter& out) const;
  // REQUIRES: as it was made, or behind Clear. Where the reader is not ok() afterwards, only Clear
  // may follow.
  void Read(CallReader& in);

 private:
  using Turn = uint64_t;  // counts how often a stack was left
  // That a stack went on here is guessed: of the calls below `depth`, and of those left since.
  struct Guess {
    uint64_t number = 0;
    size_t depth = 0;                // calls that are as they were
    std::vector<Call> left;          // the others, the innermost first
    Turn parked = 0;                 // when it had been left
    Turn since = 0;                  // when it was gone on with
    std::vector<size_t> left_below;  // sizes of `left` of the guesses further out, then
  };
  // Calls and their guesses, the outermost first.
  struct Content {
    std::vector<Call> calls;
    std::vector<Guess> guesses;

    void Leave(size_t count);
    void Note(const Call& call, size_t depth);
    const Call* FromWithin(size_t i) const;
  };
  struct Stack : Content {
    uint32_t number = 0;
    CallCounts counts;
    SavedPlaces saved;
    bool announced = true;
    uint64_t elsewhere = 0;  // instructions on other stacks since this one was first gone to
    uint64_t left_at = 0;    // instructions of the thread

    // Returns the content before the guess of that index; without one, the current content.
    Content Before(size_t guess) const;
  };
  using Parked = std::map<Turn, std::unique_ptr<Stack>>;

  static constexpr size_t kNoGuess = SIZE_MAX;
  // Another stack, and which guess of it, that the thread may have been on instead.
  struct Other {
    Parked::iterator stack;
    size_t guess = kNoGuess;
    Content before;
  };

  using Places = std::set<std::pair<uint64_t, Turn>>;

  static void Write(CallWriter& out, const Stack& stack);
  static std::unique_ptr<Stack> ReadStack(CallReader& in);
  static void ReadGuesses(CallReader& in, Stack& stack);
  void List(const Stack& stack, Turn turn, bool add);
  Parked::iterator FirstIn(const Places& places, uint64_t address);
  void Park() { ParkAs(turns_++); }
  void ParkAs(Turn turn);
  void Activate(Parked::iterator stack);
  void Forget(Parked::iterator stack, CallExit how);
  static std::vector<StackGuess> Short(const std::vector<Guess>& guesses);
  void Put(const Call& call) { active_->calls.push_back(call); }
  // The innermost call.
  [[gnu::always_inline]] void Drop() {
    active_->counts.Remove(calls());
    calls().pop_back();
    active_->saved.Shorten(calls().size());
  }
  void AddGuess(uint64_t number, const Content& before, size_t left, Turn parked, Turn since);
  std::optional<Other> FindOther(size_t guess, uint64_t address);
  std::optional<Other> FindOther(const Guess& guess, const Content& before, uint64_t address,
                                 bool guessed);
  bool MayBeTaken(uint64_t address, Turn but) const;
  bool MayBe(const Guess& guess, uint64_t address, const Stack& stack, size_t which,
             Turn parked) const;
  bool MayBeOther(size_t index, uint64_t address) const;
  bool MayCompare();
  void Become(Content content);
  void Exchange(size_t guess, Other other);

  CallListener* listener_;
  std::unique_ptr<Stack> active_ = std::make_unique<Stack>();
  Parked parked_;
  // Return addresses of each parked stack's innermost call, of some of those around it, and what
  // its calls have saved.
  Places by_return_;
  Places inside_;
  Places saved_;
  Turn turns_ = 0;
  uint32_t numbers_ = 1;
  uint64_t guesses_ = 0;
  size_t parked_calls_ = 0;
  uint64_t compared_ = 0;  // stacks
};

}  // namespace flowback
