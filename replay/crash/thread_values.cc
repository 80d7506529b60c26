// SPDX-License-Identifier: MIT
#include "replay/crash/thread_values.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "replay/crash/crash_threads.h"
#include "replay/crash/held_locks.h"
#include "replay/crash/known_places.h"
#include "replay/session/stack_naming.h"

namespace flowback {
namespace {

// Whether the thread is in a function that locks a mutex, inlined or not.
bool IsLocking(Session& session, const ThreadStack& stack) {
  StackNames names = StackNamesOf(session);
  return std::ranges::any_of(stack.frames, [&](const StackFrame& frame) {
    return std::ranges::any_of(names.Of(frame),
                               [](const NamedFrame& named) { return LocksMutex(named.function); });
  });
}

}  // namespace

uint64_t TimeOf(const CrashInput& input, size_t thread, uint64_t number) {
  ThreadCursor cursor = EndOf(input, thread);
  cursor.ToInstruction(number);
  return cursor.instruction().tsc;
}

std::string DataNameOf(DataNames& names, const AddressSpace& space, uint64_t address) {
  const auto name = names.Find(space, address);
  if (!name || name->symbol.empty()) return {};
  return name->symbol + (name->offset == 0 ? "" : "+" + Hex(name->offset));
}

void ThreadValues::Tell(size_t thread, size_t last, CrashThread& told) {
  const uint64_t end = input_.machine.thread(thread).instructions;
  const auto place = past_.Before(input_.machine.At(thread), end);
  if (!place) return;
  told.system_calls = LastSystemCalls(*place, last, input_.core->Register(told.tid, "orig_rax"));
  ThreadCursor cursor = EndOf(input_, thread);
  for (CrashSystemCall& call : told.system_calls) {
    cursor.ToInstruction(call.number);
    call.tsc = cursor.instruction().tsc;
  }
  // Where the arguments of a call are in registers of known names.
  if (input_.core->threads() > 1 && input_.core->mode() == CodeMode::kX86_64)
    TellMutexes(thread, *place, told);
}

void ThreadValues::TellMutexes(size_t thread, const PastValues::Place& place, CrashThread& told) {
  ThreadCursor cursor = EndOf(input_, thread);
  const std::vector<LastCall> calls =
      LastCallsBefore(cursor, PastValues::kMostInstructions, SIZE_MAX);
  KnownPlaces places(input_.session);
  const MachineThread at = input_.machine.At(thread);
  const CallFacts facts{
      .name_of = [&](const LastCall& call) { return places.Of(call.space, call.entry).function; },
      .argument_of =
          [&](const LastCall& call) { return past_.RegisterBefore(at, call.number, "rdi"); },
      .result_of =
          [&](const LastCall& call) { return past_.RegisterBefore(at, call.end_number, "rax"); }};
  told.holds = HeldMutexes(told.tid, calls, *input_.core, facts);
  for (CrashMutex& mutex : told.holds) mutex.name = DataNameOf(names_, *place.space, mutex.address);
  if (!IsLocking(input_.session, told.stack) || told.system_calls.empty()) return;
  told.waits_for = AwaitedMutex(told.system_calls.back(), *input_.core);
  if (told.waits_for)
    told.waits_for->name = DataNameOf(names_, *place.space, told.waits_for->address);
}

}  // namespace flowback
