// SPDX-License-Identifier: MIT
// Steps by source line backward.
#include <algorithm>
#include <utility>

#include "replay/debug/source_steps.h"

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
    if (relation != Relation::kSame) from = now;
    if (!now.place.known()) continue;
    if (IsInlinedDeeper(now.place, from.place)) continue;
    return BackToBegin(way, now);
  }
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
  if (way.marks.losses && stop.loss) stop.reason = Reason::kLoss;
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

// To the first instruction that executed of the line at hand, calls within it included.
Result<MachineStop> SourceSteps::BackToBegin(const Way& way, const Here& line) {
  const StopMarks none;
  const Way quiet{.thread = way.thread, .calls = way.calls, .marks = none, .keep_on = way.keep_on};
  Here now = line;
  for (;;) {
    const uint64_t first = now.number;
    const auto stay = [&] {
      machine_.ToInstruction(way.thread, first);
      return Done(way.thread);
    };
    Relation relation = Relation::kSame;
    const Result<Stop> stepped = StepBack(quiet, line, now, relation);
    if (!stepped) return Fail(stepped.error());
    if (*stepped && (*stepped)->reason == Reason::kInterrupted) return **stepped;
    if (*stepped) return stay();
    if (relation == Relation::kDeeper) {
      const Call& call = now.calls[line.calls.size()];
      // A call that took another one's place by a jump was made where that returns to.
      const uint64_t made_at = call.resume != 0           ? call.resume
                               : call.return_address != 0 ? call.return_address - 1
                                                          : call.site;
      const bool is_of_line = made_at != 0 && PlaceAt(line.space, made_at).SameLineAs(line.place);
      if (!is_of_line) return stay();
      const Result<Stop> ran = RunBackOut(way, now, line.calls.size());
      if (!ran) return Fail(ran.error());
      if (*ran) return **ran;
      relation = RelationOf(line, now);
    }
    if (relation != Relation::kSame || !now.place.SameLineAs(line.place)) return stay();
  }
}

}  // namespace flowback
