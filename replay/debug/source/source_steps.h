// SPDX-License-Identifier: MIT
// Steps by source line, forward and backward: what debuggers call next, step and finish.
//
//   10  int sum = 0;                 Next goes from the begin of a line to the begin of the line
//   11  for (int i = 0; i < 3; ++i)  that the thread came to then, in the same call or further out.
//   12    sum += Part(i);            Calls on the way are run through, or gone into. Back goes the
//                                    same way: to the begin of the line that executed before.
//
// A function that was inlined steps like one that was called. Where its code begins, the thread
// stands at the line that calls it first, and the frames of the inlined functions are hidden: going
// into the function shows the next one of them, and executes nothing.
//
// Code without lines is left: the step ends at a caller that has lines. Where no caller has any, or
// the thread never comes back to one, the step is one of an instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "flowback/replay/source_lines.h"
#include "replay/debug/machine/machine.h"
#include "replay/debug/source/inlined_lines.h"
#include "replay/debug/source/replayed_stacks.h"

namespace flowback {

// Whether a call on the way is run through, or gone into where its function has source lines.
enum class CallsOnTheWay : uint8_t { kOver, kInto };

// Used by one thread.
class SourceSteps {
 public:
  // All must outlive it.
  SourceSteps(Session& session, ReplayedMachine& machine, ReplayedStacks& stacks)
      : session_(session), machine_(machine), stacks_(stacks) {}

  // The thread goes on to the next line, or until a mark stops it. Errors: as ReplayedStacks::At.
  Result<MachineStop> Next(size_t thread, CallsOnTheWay calls, const StopMarks& marks,
                           const KeepOn& keep_on);
  // Back to the begin of the line at hand, or, from there, of the line before; over calls.
  Result<MachineStop> Back(size_t thread, const StopMarks& marks, const KeepOn& keep_on);
  // Until the innermost function that is shown has been left: an inlined one, or the call, by its
  // return or an exception.
  Result<MachineStop> Out(size_t thread, const StopMarks& marks, const KeepOn& keep_on);
  // One instruction, or with kOver all that it calls.
  Result<MachineStop> Instruction(size_t thread, CallsOnTheWay calls, const StopMarks& marks,
                                  const KeepOn& keep_on);

  // Returns how many of the innermost inlined frames at the thread's place are not shown.
  size_t Hidden(size_t thread);
  // Shows the thread's place so, until it moves.
  void Hide(size_t thread, size_t frames);
  void HideNothing() { hidden_.clear(); }

 private:
  // A thread between two instructions.
  struct Here {
    uint64_t number = 0;
    uint64_t pc = 0;
    const AddressSpace* space = nullptr;
    uint32_t stack = 0;
    std::vector<Call> calls;  // the outermost first
    SourcePlace place;
    size_t hidden = 0;

    // The line as the innermost function that is shown has it.
    SourcePlace View() const { return ViewOfLevels(place, place.frames.size() - hidden); }
  };
  // Where a thread is, as seen from a call that it was in.
  enum class Relation : uint8_t { kSame, kDeeper, kReplaced, kLeft };
  // The parameters of one movement.
  struct Way {
    size_t thread = 0;
    CallsOnTheWay calls = CallsOnTheWay::kOver;
    const StopMarks& marks;
    const KeepOn& keep_on;
  };
  using Stop = std::optional<MachineStop>;  // empty: nothing has stopped it, it goes on

  Result<Here> Look(size_t thread);
  static bool Continues(const Call& now, const Call& call);
  static Relation RelationOf(const Here& from, const Here& now);
  SourcePlace PlaceAt(const AddressSpace* space, uint64_t pc) const;
  // Addresses that are stepped through as one.
  AddressRange RangeOf(const Here& here) const;
  static MachineStop Done(size_t thread) { return {.thread = thread}; }

  bool IsNextLine(const Way& way, const Here& from, const Here& now);
  // Out of the addresses that are stepped through as one, and over or into the calls there.
  Result<Stop> StepOn(const Way& way, const Here& from, Here& now, Relation& relation);
  Result<MachineStop> NextFrom(const Way& way, const Here& from);
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
  Result<MachineStop> OutOfInlined(const Way& way, const Here& from);
  Result<bool> HasCallerWithLines(const Way& way, const Here& here);
  Result<bool> IsGone(const Way& way, const Here& from, size_t depth, uint64_t number);
  Status GoToEndOf(const Way& way, const Here& from, size_t depth, uint64_t gone);
  std::optional<size_t> Only(const Way& way) const;

  // source_steps_back.cc
  bool MayChangeCall(const CursorInstruction& instruction) const;
  Result<Stop> StepBack(const Way& way, const Here& from, Here& now, Relation& relation);
  Result<Stop> RunBackOut(const Way& way, Here& now, size_t depth);
  Result<Stop> RunBackTo(const Way& way, uint64_t number);
  Result<MachineStop> BackOutToLines(const Way& way, Here& now);
  Result<MachineStop> InstructionBack(const Way& way, const Here& from);
  static uint64_t MadeAt(const Call& call);
  Result<MachineStop> BackToBegin(const Way& way, const Here& line, const SourcePlace& view);

  Session& session_;
  ReplayedMachine& machine_;
  ReplayedStacks& stacks_;
  // Frames of a thread that stands before its instruction of that number.
  struct HiddenFrames {
    uint64_t number = 0;
    size_t frames = 0;
  };
  std::map<size_t, HiddenFrames> hidden_;
};

}  // namespace flowback
