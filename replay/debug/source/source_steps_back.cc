// SPDX-License-Identifier: MIT
// Steps by source line backward.
#include <algorithm>
#include <utility>

#include "replay/debug/source/source_steps.h"

namespace flowback {
namespace {

using Reason = MachineStop::Reason;
using Others = ReplayedMachine::Others;

}  // namespace

Result<MachineStop> SourceSteps::Back(size_t thread, const StopMarks& marks,
                                      const KeepOn& keep_on) {
  const Way way{.thread = thread, .marks = marks, .keep_on = keep_on};
  Result<Here> start = Look(thread);
  if (!start) return Fail(start.error());
  Here from = *std::move(start);
  Here now = from;
  if (!from.place.known()) {
    const Result<bool> may_come = HasCallerWithLines(way, from);
    if (!may_come) return Fail(may_come.error());
    return *may_come ? BackOutToLines(way, now) : InstructionBack(way, from);
  }
  for (;;) {
    Relation relation = Relation::kSame;
    const Result<Stop> stepped = StepBack(way, from, now, relation);
    if (!stepped) return Fail(stepped.error());
    if (*stepped) return **stepped;
    if (relation == Relation::kDeeper) {
      const Result<Stop> ran = RunBackOut(way, now, from.calls.size());
      if (!ran) return Fail(ran.error());
      if (*ran) return **ran;
      relation = RelationOf(from, now);
    }
    if (relation != Relation::kSame) {
      if (!now.place.known()) return BackOutToLines(way, now);
      return BackToBegin(way, now, now.View());
    }
    // No line begins where the compiler moved code among that of others, nor does Next stop there.
    if (!now.place.known() || !now.place.is_statement) continue;
    const size_t common = CommonLevels(now.place, from.View());
    return BackToBegin(way, now, ViewOfLevels(now.place, std::max<size_t>(common, 1)));
  }
}

// To the begin of the line that called what leads here. Where no caller has lines, to the call.
Result<MachineStop> SourceSteps::BackOutToLines(const Way& way, Here& now) {
  while (!now.place.known()) {
    const Result<bool> may_come = HasCallerWithLines(way, now);
    if (!may_come) return Fail(may_come.error());
    if (!*may_come || now.calls.empty()) return Done(way.thread);
    const Result<Stop> ran = RunBackOut(way, now, now.calls.size() - 1);
    if (!ran) return Fail(ran.error());
    if (*ran) return **ran;
  }
  return BackToBegin(way, now, now.View());
}

// One instruction, or a call and all that it executed.
Result<MachineStop> SourceSteps::InstructionBack(const Way& way, const Here& from) {
  Here now = from;
  Relation relation = Relation::kSame;
  Result<Stop> stepped = StepBack(way, from, now, relation);
  if (!stepped) return Fail(stepped.error());
  if (!*stepped && relation == Relation::kDeeper) stepped = RunBackOut(way, now, from.calls.size());
  if (!stepped) return Fail(stepped.error());
  return stepped->value_or(Done(way.thread));
}

// Whether the instruction that the thread stands at may have been the last of its call, or the
// first thing of another one came behind it.
bool SourceSteps::MayChangeCall(const CursorInstruction& instruction) const {
  switch (instruction.last) {
    case InstructionClass::kOther:
    case InstructionClass::kConditional:
      return false;
    case InstructionClass::kJump:
    case InstructionClass::kIndirectJump:
      return !session_.functions()
                  .Find(instruction.space, instruction.address)
                  .Holds(instruction.next);
    default:
      return instruction.last_of_run;
  }
}

// One instruction back. `now` is where it stands then, and `relation` what that is to `from`; in
// the call of `now`, unless that may have changed, only the place is looked up.
Result<SourceSteps::Stop> SourceSteps::StepBack(const Way& way, const Here& from, Here& now,
                                                Relation& relation) {
  MachineStop stop =
      machine_.Step(way.thread, Direction::kBackward, way.marks, way.keep_on, Others::kMayStop);
  stop.reason = ReasonOf(stop, way.marks);
  if (stop.reason != Reason::kStep) return Stop(stop);
  const MachineThread at = machine_.At(way.thread);
  const bool is_in_call = !now.calls.empty() && at.number >= now.calls.back().instructions_before;
  if (is_in_call && at.instruction.space == now.space && !MayChangeCall(at.instruction)) {
    now.number = at.number;
    now.pc = at.pc;
    if (now.pc < now.place.begin || now.pc >= now.place.end) now.place = PlaceAt(now.space, now.pc);
    relation = Relation::kSame;
    return Stop();
  }
  if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  relation = RelationOf(from, now);
  return Stop();
}

// From within a call to the instruction that made it. What a function jumped to took its place: the
// jump is gone back over, too.
Result<SourceSteps::Stop> SourceSteps::RunBackOut(const Way& way, Here& now, size_t depth) {
  while (now.calls.size() > depth) {
    const uint64_t entry = now.calls[depth].instructions_before;
    if (entry == 0)
      return Stop(machine_.Continue(Direction::kBackward, way.marks, Only(way), way.keep_on));
    if (!way.marks.empty()) {
      Result<Stop> ran = RunBackTo(way, entry - 1);
      if (!ran || *ran) return ran;
    }
    machine_.ToInstruction(way.thread, entry - 1);
    if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  }
  return Stop();
}

// Looks for the user's marks on the way back to an instruction.
Result<SourceSteps::Stop> SourceSteps::RunBackTo(const Way& way, uint64_t number) {
  const uint64_t begin = machine_.At(way.thread).number;
  const MachineStop stop =
      machine_.Continue(Direction::kBackward, way.marks, Only(way), way.keep_on);
  if (stop.reason == Reason::kInterrupted) return Stop(stop);
  const uint64_t reached = machine_.At(way.thread).number;
  const bool is_on_the_way = stop.reason != Reason::kBegin && reached > number && reached < begin;
  return is_on_the_way ? Stop(stop) : Stop();
}

// The place of the call. One that took another call's place by a jump was made where that returns
// to.
uint64_t SourceSteps::MadeAt(const Call& call) {
  if (call.resume != 0) return call.resume;
  return call.return_address != 0 ? call.return_address - 1 : call.site;
}

// To the first instruction that executed of the view's line, calls within it included.
Result<MachineStop> SourceSteps::BackToBegin(const Way& way, const Here& line,
                                             const SourcePlace& view) {
  const StopMarks none;
  const Way quiet{.thread = way.thread, .calls = way.calls, .marks = none, .keep_on = way.keep_on};
  Here now = line;
  uint64_t first = 0;
  size_t hidden = 0;
  const auto stay = [&] {
    machine_.ToInstruction(way.thread, first);
    Hide(way.thread, hidden);
    return Done(way.thread);
  };
  for (bool is_begin = true;; is_begin = now.place.is_statement) {
    if (is_begin) {
      first = now.number;
      hidden = now.place.frames.size() - view.frames.size();
    }
    Relation relation = Relation::kSame;
    const Result<Stop> stepped = StepBack(quiet, line, now, relation);
    if (!stepped) return Fail(stepped.error());
    if (*stepped && (*stepped)->reason == Reason::kInterrupted) return **stepped;
    if (*stepped) return stay();
    if (relation == Relation::kDeeper) {
      const uint64_t made_at = MadeAt(now.calls[line.calls.size()]);
      const bool is_of_line = made_at != 0 && IsOnLine(PlaceAt(line.space, made_at), view);
      if (!is_of_line) return stay();
      const Result<Stop> ran = RunBackOut(way, now, line.calls.size());
      if (!ran) return Fail(ran.error());
      if (*ran) return **ran;
      relation = RelationOf(line, now);
    }
    const bool is_moved = now.place.known() && !now.place.is_statement;
    if (relation != Relation::kSame || (!is_moved && !IsOnLine(now.place, view))) return stay();
  }
}

}  // namespace flowback
