// SPDX-License-Identifier: MIT
#include "replay/debug/source_steps.h"

#include <algorithm>
#include <utility>

namespace flowback {
namespace {

using Reason = MachineStop::Reason;
using Others = ReplayedMachine::Others;

// The same call, or what took its place by a jump: it returns to where that would have.
bool Continues(const Call& now, const Call& call) {
  if (now.instructions_before == call.instructions_before) return true;
  return now.entry == CallEntry::kTailCall && now.return_address == call.return_address &&
         now.instructions_before > call.instructions_before;
}

StopMarks With(StopMarks marks, uint64_t address) {
  const auto at = std::ranges::lower_bound(marks.addresses, address);
  if (address != 0 && (at == marks.addresses.end() || *at != address))
    marks.addresses.insert(at, address);
  return marks;
}

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
              .place = PlaceAt(at.instruction.space, at.pc)};
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

bool SourceSteps::IsInlinedDeeper(const SourcePlace& place, const SourcePlace& than) {
  return place.frames.size() > than.frames.size() && !than.frames.empty() &&
         std::ranges::equal(place.frames.last(than.frames.size()).subspan(1),
                            than.frames.subspan(1),
                            [](const SourceFrame& a, const SourceFrame& b) {
                              return a.function == b.function && a.line == b.line;
                            }) &&
         place.frames[place.frames.size() - than.frames.size()].function ==
             than.frames.front().function;
}

// Marks of others count; what this adds to them, of one thread alone, need not stop the others.
std::optional<size_t> SourceSteps::Only(const Way& way) const {
  if (way.marks.addresses.empty() && !way.marks.events) return way.thread;
  return std::nullopt;
}

Result<MachineStop> SourceSteps::Next(size_t thread, CallsOnTheWay calls, const StopMarks& marks,
                                      const KeepOn& keep_on) {
  const Way way{.thread = thread, .calls = calls, .marks = marks, .keep_on = keep_on};
  const Result<Here> start = Look(thread);
  if (!start) return Fail(start.error());
  const Here& from = *start;
  Here now = from;
  for (;;) {
    const MachineStop stop =
        machine_.StepOut(thread, RangeOf(now), marks, keep_on, Others::kMayStop);
    if (stop.reason != Reason::kStep) return stop;
    if (Status status = LookAgain(way, now); !status) return Fail(status.error());
    Relation relation = RelationOf(from, now);
    if (relation == Relation::kDeeper || relation == Relation::kReplaced) {
      const Result<Stop> passed = PassCalls(way, from, now, relation);
      if (!passed) return Fail(passed.error());
      if (*passed) return **passed;
    }
    if (relation == Relation::kLeft) {
      const Result<Stop> ran = RunOutToLines(way, now);
      if (!ran) return Fail(ran.error());
      return ran->value_or(Done(thread));
    }
    if (relation == Relation::kSame && IsNextLine(way, from, now)) return Done(thread);
  }
}

// Whether a step that began at `from` ends there.
bool SourceSteps::IsNextLine(const Way& way, const Here& from, const Here& now) {
  if (!now.place.known() || now.place.SameLineAs(from.place)) return false;
  if (way.calls == CallsOnTheWay::kOver && IsInlinedDeeper(now.place, from.place)) return false;
  return now.place.is_statement && now.pc == now.place.begin;
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

// A stub leads on to the function itself. What has no lines is not gone into.
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
  return Stop(Done(way.thread));
}

// Whether a call that `from` is in, at that depth, has been left before an instruction of the
// thread.
Result<bool> SourceSteps::IsGone(const Way& way, const Here& from, size_t depth, uint64_t number) {
  const auto stack = stacks_.At(machine_.index_number(way.thread), number);
  if (!stack) return Fail(stack.error());
  if ((*stack)->stack != from.stack) return false;
  const std::vector<Call>& calls = (*stack)->calls;
  return calls.size() <= depth || !Continues(calls[depth], from.calls[depth]);
}

// To where the call was left that is gone before that instruction: by a return to elsewhere, by an
// exception.
Status SourceSteps::GoToEndOf(const Way& way, const Here& from, size_t depth, uint64_t gone) {
  uint64_t there = from.number;
  while (gone - there > 1) {
    const uint64_t middle = there + (gone - there) / 2;
    const Result<bool> is_gone = IsGone(way, from, depth, middle);
    if (!is_gone) return Fail(is_gone.error());
    (*is_gone ? gone : there) = middle;
  }
  machine_.ToInstruction(way.thread, gone);
  return {};
}

Result<SourceSteps::Stop> SourceSteps::RunOut(const Way& way, const Here& from, size_t depth) {
  const Call& call = from.calls[depth];
  const uint64_t target = call.resume != 0 ? call.resume : call.return_address;
  const StopMarks marks = With(way.marks, target);
  for (;;) {
    const MachineStop stop = machine_.Continue(Direction::kForward, marks, Only(way), way.keep_on);
    if (stop.reason == Reason::kInterrupted) return Stop(stop);
    const bool is_own_mark =
        stop.reason != Reason::kAddress || way.marks.HasAddress(machine_.At(stop.thread).pc);
    const uint64_t number = machine_.At(way.thread).number;
    const Result<bool> is_gone = IsGone(way, from, depth, number);
    if (!is_gone) return Fail(is_gone.error());
    if (*is_gone) {
      if (Status status = GoToEndOf(way, from, depth, number); !status) return Fail(status.error());
      // What the thread did where flow is missing is not known: it need not have returned.
      const bool in_loss = stop.reason == Reason::kLoss && machine_.At(way.thread).number == number;
      return in_loss ? Stop(stop) : Stop();
    }
    if (is_own_mark) return Stop(stop);
  }
}

// To a caller that has source lines.
Result<SourceSteps::Stop> SourceSteps::RunOutToLines(const Way& way, Here& now) {
  while (!now.place.known()) {
    if (now.calls.empty())
      return Stop(machine_.Continue(Direction::kForward, way.marks, Only(way), way.keep_on));
    Result<Stop> ran = RunOut(way, now, now.calls.size() - 1);
    if (!ran || *ran) return ran;
    if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  }
  return Stop();
}

Result<MachineStop> SourceSteps::Out(size_t thread, const StopMarks& marks, const KeepOn& keep_on) {
  const Way way{.thread = thread, .marks = marks, .keep_on = keep_on};
  const Result<Here> from = Look(thread);
  if (!from) return Fail(from.error());
  if (from->calls.empty()) return machine_.Continue(Direction::kForward, marks, Only(way), keep_on);
  const Result<Stop> ran = RunOut(way, *from, from->calls.size() - 1);
  if (!ran) return Fail(ran.error());
  return ran->value_or(Done(thread));
}

}  // namespace flowback
