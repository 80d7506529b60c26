// SPDX-License-Identifier: MIT
// Executes a trip with values that are not known but named: registers and memory as they were when
// the trip began.
//
// A trip may be executed again and again, each time from the state in which the last one ended. If
// no other thread writes to memory, that is what the thread does as long as its conditions hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "decode/instruction/effects.h"
#include "replay/locks/loops/trip.h"
#include "replay/locks/loops/trip_values.h"

namespace flowback {

// An instruction of a trip.
struct TripInstruction {
  uint64_t address = 0;
  uint64_t next = 0;  // where the trip went on
  bool taken = false;
  // A conditional jump would have led to another instruction of the trip if it had gone the other
  // way: it does not leave the loop.
  bool stays = false;
  std::vector<MachineStep> steps{};
};

// A condition that the trip met.
struct TripCondition {
  ValueId value = 0;  // 1 where the condition holds; of an indirect jump its target
  uint64_t next = 0;  // an indirect jump's target
  bool taken = false;
  bool indirect = false;
  bool stays = false;
  int depth = 0;  // calls between the trip's begin and it; negative: returns
};

// A compare and swap, or an exclusive store.
struct TripAttempt {
  ValueId decides = 0;  // the flags of the comparison, or the status of the store
  bool exclusive = false;
};
enum class Outcome : uint8_t { kUnknown, kDone, kFailed };

struct TripAccess {
  ValueId base = 0;
  uint64_t offset = 0;
  uint8_t bytes = 0;
  bool atomic = false;
  bool stores = false;
  bool changes = false;  // it stores another value than memory had
  bool exclusive = false;
  bool swaps = false;  // a compare and swap that worked, with another value
  uint64_t load = 0;   // its number, where each load is a value of its own
};

// The log of one execution of a trip.
struct TripLog {
  std::vector<TripCondition> conditions;
  std::vector<TripAttempt> attempts;
  std::vector<TripAccess> accesses;  // of memory that is not the stack
  bool pauses = false;
  bool atomic = false;
  bool stores = false;       // to memory that is not the stack, other than atomically
  bool sleeps = false;       // a system call that lets time pass
  bool asks_kernel = false;  // a system call other than those that let time pass
};

// Not thread-safe.
class TripState {
 public:
  TripState(TripValues& values, CodeMode mode);

  // Loads of the same memory are the same value only where the trip proves it; otherwise each load
  // is a value of its own. Outcomes are those of the trip's attempts, in order; none: not known.
  void Execute(std::span<const TripInstruction> trip, bool each_load_apart,
               std::span<const Outcome> outcomes, TripLog& log);

  ValueId RegisterValue(uint8_t number) const { return registers_[number]; }
  // Returns the current value in memory.
  ValueId MemoryValue(ValueId base, uint64_t offset, unsigned bytes);
  bool IsStack(ValueId base, uint64_t offset) const;
  // Whether the stack pointer is another one than at the begin: functions return, or call.
  bool MovesStack() const;

 private:
  struct Stored {
    ValueId value = 0;
    unsigned bytes = 0;
  };
  using Key = std::pair<ValueId, uint64_t>;

  void Take(const MachineStep& step, const TripInstruction& instruction, TripLog& log);
  void Load(const MachineStep& step, TripLog& log);
  void Store(const MachineStep& step, TripLog& log);
  void Try(const MachineStep& step, TripLog& log);
  void AskKernel(const MachineStep& step, TripLog& log);
  void SetMemory(const TripValues::Place& place, unsigned bytes, ValueId value);
  void NoteAccess(const TripValues::Place& place, const MachineStep& step, TripLog& log);
  bool Swaps(ValueId decides, ValueId old, ValueId made) const;
  void NoteChange(const TripValues::Place& place, bool changes, TripLog& log);
  ValueId Read(const StepOperand& operand);
  void Write(const StepOperand& operand, ValueId value);
  ValueId AddressOf(const StepAddress& memory);
  Outcome OutcomeOf(size_t attempt) const;

  TripValues& values_;
  CodeMode mode_;
  std::array<ValueId, step_register::kCount> registers_{};
  std::map<Key, Stored> memory_;
  std::span<const Outcome> outcomes_;
  uint64_t sources_ = 0;  // clocks, random numbers and stores tried so far
  uint64_t kernel_ = 0;   // system calls of this execution
  bool each_load_apart_ = false;
  uint64_t loads_ = 0;
  int depth_ = 0;
};

}  // namespace flowback
