// SPDX-License-Identifier: MIT
// Steps by source line, forward and backward: what debuggers call next, step and finish.
//
//   10  int sum = 0;                 Next goes from the begin of a line to the begin of the line
//   11  for (int i = 0; i < 3; ++i)  that the thread came to then, in the same call or further out.
//   12    sum += Part(i);            Calls on the way are run through, or gone into. Back goes the
//                                    same way: to the begin of the line that executed before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/replay/source_lines.h"
#include "replay/debug/machine.h"
#include "replay/debug/replayed_stacks.h"

namespace flowback {

// Whether a call on the way is run through, or gone into where its function has source lines.
enum class CallsOnTheWay : uint8_t { kOver, kInto };

// Used by one thread.
class SourceSteps {
 public:
  // All must outlive it.
  SourceSteps(Session& session, ReplayedMachine& machine, ReplayedStacks& stacks)
      : session_(session), machine_(machine), stacks_(stacks) {}

  // The thread goes on to the next line, or until a mark stops it. Code without lines counts as one
  // line with the function that it is in. Errors: as ReplayedStacks::At.
  Result<MachineStop> Next(size_t thread, CallsOnTheWay calls, const StopMarks& marks,
                           const KeepOn& keep_on);
  // Back to the begin of the line at hand, or, from there, of the line before; over calls.
  Result<MachineStop> Back(size_t thread, const StopMarks& marks, const KeepOn& keep_on);
  // Until the innermost call has returned, or is unwound.
  Result<MachineStop> Out(size_t thread, const StopMarks& marks, const KeepOn& keep_on);

 private:
  // A thread between two instructions.
  struct Here {
    uint64_t number = 0;
    uint64_t pc = 0;
    const AddressSpace* space = nullptr;
    uint32_t stack = 0;
    std::vector<Call> calls;  // the outermost first
    SourcePlace place;
  };
  // Where a thread is, as seen from a call that it was in.
  enum class Relation : uint8_t { kSame, kDeeper, kReplaced, kLeft };
  // What one movement is about.
  struct Way {
    size_t thread = 0;
    CallsOnTheWay calls = CallsOnTheWay::kOver;
    const StopMarks& marks;
    const KeepOn& keep_on;
  };
  using Stop = std::optional<MachineStop>;  // empty: nothing has stopped it, it goes on

  Result<Here> Look(size_t thread);
  static Relation RelationOf(const Here& from, const Here& now);
  SourcePlace PlaceAt(const AddressSpace* space, uint64_t pc) const;
  // Addresses that are stepped through as one.
  AddressRange RangeOf(const Here& here) const;
  static bool IsInlinedDeeper(const SourcePlace& place, const SourcePlace& than);
  static MachineStop Done(size_t thread) { return {.thread = thread}; }

  bool IsNextLine(const Way& way, const Here& from, const Here& now);
  Result<Stop> PassCalls(const Way& way, const Here& from, Here& now, Relation& relation);
  Result<Stop> GoInto(const Way& way, Here& now);
  bool HasName(const Here& here) const;
  bool IsInResolver(const Here& here) const;
  Result<Stop> PassResolver(const Way& way, Here& now);
  Status LookAgain(const Way& way, Here& now);
  Result<Stop> PassProlog(const Way& way, const Here& entered);
  // Until the call at that depth has been left.
  Result<Stop> RunOut(const Way& way, const Here& from, size_t depth);
  Result<Stop> RunOutToLines(const Way& way, Here& now);
  Result<bool> IsGone(const Way& way, const Here& from, size_t depth, uint64_t number);
  Status GoToEndOf(const Way& way, const Here& from, size_t depth, uint64_t gone);
  std::optional<size_t> Only(const Way& way) const;

  // source_steps_back.cc
  bool MayChangeCall(const CursorInstruction& instruction) const;
  Result<Stop> StepBack(const Way& way, const Here& from, Here& now, Relation& relation);
  Result<Stop> RunBackOut(const Way& way, Here& now, size_t depth);
  Result<Stop> RunBackTo(const Way& way, uint64_t number);
  Result<MachineStop> BackToBegin(const Way& way, const Here& line);

  Session& session_;
  ReplayedMachine& machine_;
  ReplayedStacks& stacks_;
};

}  // namespace flowback
