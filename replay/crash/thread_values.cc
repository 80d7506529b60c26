// SPDX-License-Identifier: MIT
#include "replay/crash/thread_values.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/linux/linux_call_names.h"
#include "replay/crash/crash_threads.h"
#include "replay/crash/held_locks.h"
#include "replay/crash/history/passed_values.h"
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
  const auto end = input_.core->PlaceOf(told.tid, input_.machine.thread(thread).instructions);
  const auto place = end ? past_.Before(input_.machine.At(thread), *end) : std::nullopt;
  if (input_.living != nullptr) TellDumpedWait(thread, told);
  if (!place) return;
  const bool is_32 = input_.core->mode() == CodeMode::kX86_32;
  told.system_calls = LastSystemCalls(
      *place, last, input_.core->Register(told.tid, is_32 ? "orig_eax" : "orig_rax"));
  ThreadCursor cursor = EndOf(input_, thread);
  for (CrashSystemCall& call : told.system_calls) {
    cursor.ToInstruction(call.number);
    call.tsc = cursor.instruction().tsc;
  }
  if (input_.core->threads() > 1) TellMutexes(thread, *place, *end, told);
}

// By the registers that the kernel keeps while the call is made. The flow's stack names the
// functions, where it is the dump's.
void ThreadValues::TellDumpedWait(size_t thread, CrashThread& told) {
  const EndCore& core = *input_.core;
  const AddressSpace* const space = input_.machine.LastOf(thread).space;
  const auto call = WaitsInCall(core, told.tid, space);
  if (!call || space == nullptr || !IsLocking(input_.session, told.stack)) return;
  const CoreStack stack = CoreStackOf(core, told.tid, told.stack, core.mode(), {});
  if (stack.compared == 0 || stack.end == CoreStack::End::kDisagree) return;
  CrashSystemCall made;
  made.space = space;
  made.name = LinuxCallName(static_cast<uint32_t>(*call), LinuxAbi::kX86_64);
  for (const char* name : {"rdi", "rsi"})
    made.arguments.push_back({.value = input_.core->Register(told.tid, name)});
  told.waits_for = AwaitedMutex(made, *input_.core);
  if (told.waits_for) told.waits_for->name = DataNameOf(names_, *space, told.waits_for->address);
}

void ThreadValues::TellMutexes(size_t thread, const PastValues::Place& place, uint64_t end,
                               CrashThread& told) {
  ThreadCursor cursor = EndOf(input_, thread);
  if (end < input_.machine.thread(thread).instructions) cursor.ToInstruction(end);
  const std::vector<LastCall> calls =
      LastCallsBefore(cursor, input_.session.functions(), PastValues::kMostInstructions, SIZE_MAX);
  KnownPlaces places(input_.session);
  const MachineThread at = input_.machine.At(thread);
  const CallFacts facts{
      .name_of = [&](const LastCall& call) { return places.Of(call.space, call.entry).function; },
      .argument_of = [&](const LastCall& call) { return ArgumentOf(past_, at, call, 0); },
      .result_of = [&](const LastCall& call) { return ResultOf(past_, at, call); }};
  told.holds = HeldMutexes(told.tid, calls, *input_.core, facts);
  for (CrashMutex& mutex : told.holds) mutex.name = DataNameOf(names_, *place.space, mutex.address);
  const bool may_wait = !told.waits_for && IsLocking(input_.session, told.stack);
  if (!may_wait || told.system_calls.empty()) return;
  told.waits_for = AwaitedMutex(told.system_calls.back(), *input_.core);
  if (told.waits_for)
    told.waits_for->name = DataNameOf(names_, *place.space, told.waits_for->address);
}

}  // namespace flowback
