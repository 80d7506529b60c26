// SPDX-License-Identifier: MIT
// Steps out of calls, of inlined functions, and of code without lines.
#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>
#include <utility>

#include "replay/debug/source/source_steps.h"

namespace flowback {
namespace {

using Reason = MachineStop::Reason;
using Others = ReplayedMachine::Others;

// Whether the function of the C library does nothing but start a program or a thread: who steps is
// not on the way there, also where the library has lines.
bool StartsThreads(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "_start", "__libc_start_call_main", "start_thread", "clone",
      "clone3", "thread_start",           "__clone3"};
  return std::ranges::find(kNames, name) != kNames.end() || name.starts_with("__libc_start_main");
}

StopMarks With(StopMarks marks, uint64_t address) {
  const auto at = std::ranges::lower_bound(marks.addresses, address);
  if (address != 0 && (at == marks.addresses.end() || *at != address))
    marks.addresses.insert(at, address);
  return marks;
}

}  // namespace

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
      const bool is_gap = stop.reason == Reason::kLoss || stop.reason == Reason::kUnknown;
      const bool in_loss = is_gap && machine_.At(way.thread).number == number;
      return in_loss ? Stop(stop) : Stop();
    }
    if (is_own_mark) return Stop(stop);
  }
}

// To a caller that has source lines; where none has, to the nearest one.
Result<SourceSteps::Stop> SourceSteps::RunOutToLines(const Way& way, Here& now) {
  while (!now.place.known()) {
    const Result<bool> may_come = HasCallerWithLines(way, now);
    if (!may_come) return Fail(may_come.error());
    if (!*may_come || now.calls.empty()) return Stop();
    Result<Stop> ran = RunOut(way, now, now.calls.size() - 1);
    if (!ran || *ran) return ran;
    if (Status status = LookAgain(way, now); !status) return Fail(status.error());
  }
  return Stop();
}

Result<bool> SourceSteps::HasCallerWithLines(const Way& way, const Here& here) {
  const auto stack = stacks_.At(machine_.index_number(way.thread), here.number);
  if (!stack) return Fail(stack.error());
  return std::ranges::any_of((*stack)->frames | std::views::drop(1), [&](const StackFrame& frame) {
    if (frame.space == nullptr || frame.address == 0) return false;
    const uint64_t at = frame.is_exact ? frame.address : frame.address - 1;
    if (!PlaceAt(frame.space, at).known()) return false;
    const auto symbol = session_.symbols().Find(*frame.space, at);
    return !symbol || !StartsThreads(symbol->name);
  });
}

Result<MachineStop> SourceSteps::Out(size_t thread, const StopMarks& marks, const KeepOn& keep_on) {
  const Way way{.thread = thread, .marks = marks, .keep_on = keep_on};
  const Result<Here> from = Look(thread);
  if (!from) return Fail(from.error());
  const SourcePlace view = from->View();
  if (view.frames.size() > 1 && view.frames.front().is_inlined) return OutOfInlined(way, *from);
  if (from->calls.empty()) return machine_.Continue(Direction::kForward, marks, Only(way), keep_on);
  const Result<Stop> ran = RunOut(way, *from, from->calls.size() - 1);
  if (!ran) return Fail(ran.error());
  return ran->value_or(Done(thread));
}

// On in the function that the inlined one is part of, which may be the rest of the calling line.
Result<MachineStop> SourceSteps::OutOfInlined(const Way& way, const Here& from) {
  const SourcePlace view = from.View();
  Here now = from;
  for (;;) {
    Relation relation{};
    const Result<Stop> stopped = StepOn(way, from, now, relation);
    if (!stopped) return Fail(stopped.error());
    if (*stopped) return **stopped;
    if (relation == Relation::kLeft) return Done(way.thread);
    if (relation != Relation::kSame || !now.place.known() || !now.place.is_statement) continue;
    const size_t levels = now.place.frames.size();
    const size_t common = CommonLevels(now.place, view);
    const size_t shown = std::max<size_t>(common, 1);
    if (common == view.frames.size() || now.place.frames[levels - shown].line == 0) continue;
    Hide(way.thread, levels - shown);
    return Done(way.thread);
  }
}

Result<MachineStop> SourceSteps::Instruction(size_t thread, CallsOnTheWay calls,
                                             const StopMarks& marks, const KeepOn& keep_on) {
  const Way way{.thread = thread, .calls = calls, .marks = marks, .keep_on = keep_on};
  const CursorInstruction instruction = machine_.At(thread).instruction;
  const bool is_call =
      instruction.last_of_run && (instruction.last == InstructionClass::kCall ||
                                  instruction.last == InstructionClass::kIndirectCall);
  MachineStop stop = machine_.Step(thread, Direction::kForward, marks, keep_on, Others::kMayStop);
  const bool goes_in = is_call && instruction.next == machine_.At(thread).pc && !stop.loss;
  if (stop.reason != Reason::kStep || !goes_in || calls == CallsOnTheWay::kInto) return stop;
  const Result<Here> entered = Look(thread);
  if (!entered) return Fail(entered.error());
  if (entered->calls.empty()) return stop;
  const Result<Stop> ran = RunOut(way, *entered, entered->calls.size() - 1);
  if (!ran) return Fail(ran.error());
  return ran->value_or(Done(thread));
}

size_t SourceSteps::Hidden(size_t thread) {
  const auto found = hidden_.find(thread);
  if (found == hidden_.end()) return 0;
  return found->second.number == machine_.At(thread).number ? found->second.frames : 0;
}

void SourceSteps::Hide(size_t thread, size_t frames) {
  hidden_[thread] = {.number = machine_.At(thread).number, .frames = frames};
}

}  // namespace flowback
