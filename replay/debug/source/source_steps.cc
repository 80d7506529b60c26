// SPDX-License-Identifier: MIT
#include "replay/debug/source/source_steps.h"

#include <algorithm>
#include <utility>

namespace flowback {
namespace {

using Reason = MachineStop::Reason;
using Others = ReplayedMachine::Others;

}  // namespace

SourcePlace SourceSteps::PlaceAt(const AddressSpace* space, uint64_t pc) const {
  return space == nullptr ? SourcePlace() : session_.lines().Find(*space, pc);
}

Result<SourceSteps::Here> SourceSteps::Look(size_t thread) {
  const MachineThread at = machine_.At(thread);
  const auto stack = stacks_.At(machine_.index_number(thread), at.number);
  if (!stack) return Fail(stack.error());
  return Here{.number = at.number,
              .pc = at.pc,
              .space = at.instruction.space,
              .stack = (*stack)->stack,
              .calls = (*stack)->calls,
              .place = PlaceAt(at.instruction.space, at.pc),
              .hidden = Hidden(thread)};
}

// The same call, or what took its place by a jump: it returns to where that would have.
bool SourceSteps::Continues(const Call& now, const Call& call) {
  if (now.instructions_before == call.instructions_before) return true;
  return now.entry == CallEntry::kTailCall && now.return_address == call.return_address &&
         now.instructions_before > call.instructions_before;
}

SourceSteps::Relation SourceSteps::RelationOf(const Here& from, const Here& now) {
  const size_t depth = from.calls.size();
  if (now.stack != from.stack || now.calls.size() < depth) return Relation::kLeft;
  if (depth != 0) {
    const Call& before = from.calls[depth - 1];
    const Call& same = now.calls[depth - 1];
    if (!Continues(same, before)) return Relation::kLeft;
    if (same.instructions_before != before.instructions_before) return Relation::kReplaced;
  }
  return now.calls.size() == depth ? Relation::kSame : Relation::kDeeper;
}

AddressRange SourceSteps::RangeOf(const Here& here) const {
  if (here.place.known() && here.place.end > here.pc) return {here.place.begin, here.place.end};
  const FunctionPiece piece = session_.functions().Find(here.space, here.pc);
  if (piece.Holds(here.pc)) return {piece.begin, piece.end};
  return {here.pc, here.pc + 1};
}

// Marks of others count; what this adds to them, of one thread alone, need not stop the others.
std::optional<size_t> SourceSteps::Only(const Way& way) const {
  if (way.marks.addresses.empty() && !way.marks.events) return way.thread;
  return std::nullopt;
}

Result<MachineStop> SourceSteps::Next(size_t thread, CallsOnTheWay calls, const StopMarks& marks,
                                      const KeepOn& keep_on) {
  const Way way{.thread = thread, .calls = calls, .marks = marks, .keep_on = keep_on};
  const Result<Here> from = Look(thread);
  if (!from) return Fail(from.error());
  if (calls == CallsOnTheWay::kInto && from->hidden > 0) {
    Hide(thread, from->hidden - 1);
    return Done(thread);
  }
  if (from->place.known()) return NextFrom(way, *from);
  const Result<bool> may_come = HasCallerWithLines(way, *from);
  if (!may_come) return Fail(may_come.error());
  if (!*may_come) return Instruction(thread, calls, marks, keep_on);
  const MachineMoment origin = machine_.moment();
  const Result<MachineStop> stop = NextFrom(way, *from);
  if (!stop || stop->reason != Reason::kEnd) return stop;
  machine_.To(origin);
  return Instruction(thread, calls, marks, keep_on);
}

Result<SourceSteps::Stop> SourceSteps::StepOn(const Way& way, const Here& from, Here& now,
                                              Relation& relation) {
  const MachineStop stop =
      machine_.StepOut(way.thread, RangeOf(now), way.marks, way.keep_on, Others::kMayStop);
  if (stop.reason != Reason::kStep) return Stop(stop);
  if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  relation = RelationOf(from, now);
  if (relation != Relation::kDeeper && relation != Relation::kReplaced) return Stop();
  return PassCalls(way, from, now, relation);
}

Result<MachineStop> SourceSteps::NextFrom(const Way& way, const Here& from) {
  Here now = from;
  for (;;) {
    Relation relation{};
    const Result<Stop> stopped = StepOn(way, from, now, relation);
    if (!stopped) return Fail(stopped.error());
    if (*stopped) return **stopped;
    if (relation == Relation::kLeft) {
      const Result<Stop> ran = RunOutToLines(way, now);
      if (!ran) return Fail(ran.error());
      return ran->value_or(Done(way.thread));
    }
    if (relation == Relation::kSame && IsNextLine(way, from, now)) return Done(way.thread);
  }
}

// Whether a step that began at `from` ends there. Where code begins that is inlined into the line,
// the line comes first; into the line at hand, a step goes into the inlined function or over it.
bool SourceSteps::IsNextLine(const Way& way, const Here& from, const Here& now) {
  if (!now.place.known() || !now.place.is_statement || now.pc != now.place.begin) return false;
  const SourcePlace view = from.View();
  const size_t levels = now.place.frames.size();
  size_t shown = std::max<size_t>(CommonLevels(now.place, view), 1);
  if (IsOnLine(now.place, view)) {
    if (levels == shown || way.calls == CallsOnTheWay::kOver) return false;
    ++shown;
  }
  if (now.place.frames[levels - shown].line == 0) return false;
  Hide(way.thread, levels - shown);
  return true;
}

// The thread has entered a call: goes into it, or on to where it has been left.
Result<SourceSteps::Stop> SourceSteps::PassCalls(const Way& way, const Here& from, Here& now,
                                                 Relation& relation) {
  if (way.calls == CallsOnTheWay::kInto) {
    Result<Stop> entered = GoInto(way, now);
    if (!entered || *entered) return entered;
  }
  const size_t depth = from.calls.size() - (relation == Relation::kReplaced ? 1 : 0);
  if (now.calls.size() > depth) {
    Result<Stop> ran = RunOut(way, now, depth);
    if (!ran || *ran) return ran;
  }
  if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  relation = RelationOf(from, now);
  return Stop();
}

// A stub leads on to the function itself. Code without lines is not entered.
Result<SourceSteps::Stop> SourceSteps::GoInto(const Way& way, Here& now) {
  constexpr int kMostStubs = 8;
  for (int i = 0; i < kMostStubs; ++i) {
    const FunctionPiece piece = session_.functions().Find(now.space, now.pc);
    if (!piece.is_stub) break;
    const MachineStop stop = machine_.StepOut(way.thread, {piece.begin, piece.end}, way.marks,
                                              way.keep_on, Others::kMayStop);
    if (stop.reason != Reason::kStep) return Stop(stop);
    if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  }
  Result<Stop> resolved = PassResolver(way, now);
  if (!resolved || *resolved) return resolved;
  const bool is_handler = !now.calls.empty() && now.calls.back().entry == CallEntry::kHandler;
  if (!now.place.known() || is_handler) return Stop();
  return PassProlog(way, now);
}

bool SourceSteps::HasName(const Here& here) const {
  return here.space == nullptr || here.place.known() ||
         session_.symbols().Find(*here.space, here.pc).has_value();
}

// Whether the thread is where the dynamic linker finds the function that a stub leads to: by name,
// or, where the linker has no names, because it is the linker's.
bool SourceSteps::IsInResolver(const Here& here) const {
  if (here.space == nullptr) return false;
  if (const auto symbol = session_.symbols().Find(*here.space, here.pc))
    return symbol->name.starts_with("_dl_runtime_resolve");
  const CodeMapping* mapping = here.space->Find(here.pc);
  return mapping != nullptr && mapping->section->name().contains("ld-linux");
}

// At the first call of a function of a library, the stub leads to the dynamic linker, over code at
// the table's begin that has no name. The linker finds the function and jumps there.
Result<SourceSteps::Stop> SourceSteps::PassResolver(const Way& way, Here& now) {
  constexpr int kMostUnnamed = 8;
  int unnamed = 0;
  for (;;) {
    const FunctionPiece piece = session_.functions().Find(now.space, now.pc);
    const bool is_resolver = IsInResolver(now);
    if (!is_resolver && (HasName(now) || ++unnamed > kMostUnnamed)) return Stop();
    const size_t depth = now.calls.size();
    const AddressRange range = piece.Holds(now.pc) ? AddressRange{piece.begin, piece.end}
                                                   : AddressRange{now.pc, now.pc + 1};
    const MachineStop stop =
        machine_.StepOut(way.thread, range, way.marks, way.keep_on, Others::kMayStop);
    if (stop.reason != Reason::kStep) return Stop(stop);
    if (Status status = LookAgain(way, now); !status) return Fail(status.error());
    if (!is_resolver || now.calls.size() <= depth) continue;
    Result<Stop> ran = RunOut(way, now, depth);
    if (!ran || *ran) return ran;
    if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  }
}

Status SourceSteps::LookAgain(const Way& way, Here& now) {
  Result<Here> looked = Look(way.thread);
  if (!looked) return Fail(looked.error());
  now = *std::move(looked);
  return {};
}

// Steps over the prologue, to the first line of the body.
Result<SourceSteps::Stop> SourceSteps::PassProlog(const Way& way, const Here& entered) {
  if (entered.calls.empty() || entered.calls.back().entry_ip != entered.pc)
    return Stop(Done(way.thread));
  const MachineStop stop =
      machine_.StepOut(way.thread, RangeOf(entered), way.marks, way.keep_on, Others::kMayStop);
  if (stop.reason != Reason::kStep) return Stop(stop);
  const Result<Here> behind = Look(way.thread);
  if (!behind) return Fail(behind.error());
  if (RelationOf(entered, *behind) != Relation::kSame)
    machine_.ToInstruction(way.thread, entered.number);
  else if (behind->place.known())
    Hide(way.thread, behind->place.frames.size() - 1);
  return Stop(Done(way.thread));
}

}  // namespace flowback
