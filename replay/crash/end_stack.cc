// SPDX-License-Identifier: MIT
#include "replay/crash/end_stack.h"

#include <algorithm>

#include "replay/crash/crash_threads.h"

namespace flowback {
namespace {

LastTransfer WildTransfer(const std::optional<LastInstruction>& last, bool has_code) {
  if (has_code || !last) return {};
  switch (last->instruction.last) {
    case InstructionClass::kCall:
    case InstructionClass::kIndirectCall:
      return {LastTransfer::Kind::kCall, last->instruction.address};
    case InstructionClass::kReturn:
      return {LastTransfer::Kind::kReturn, last->instruction.address};
    default:
      return {};
  }
}

}  // namespace

std::optional<LastInstruction> LastInstructionOf(const CrashInput& input, size_t thread) {
  ThreadCursor cursor = EndOf(input, thread);
  while (cursor.Previous()) {
    if (cursor.kind() == ThreadCursor::Kind::kLoss || cursor.kind() == ThreadCursor::Kind::kUnknown)
      break;
    if (cursor.kind() == ThreadCursor::Kind::kInstruction)
      return LastInstruction{cursor.instruction(), cursor.number()};
  }
  return std::nullopt;
}

Status TellEndStack(const CrashInput& input, size_t dying, bool has_code, CrashReport& report) {
  CrashThread& thread = report.threads.front();
  const auto last = LastInstructionOf(input, dying);
  const LastTransfer wild = WildTransfer(last, has_code);
  if (wild.kind == LastTransfer::Kind::kReturn) {
    const auto before = input.stacks.At(input.machine.index_number(dying), last->number);
    if (!before) return Fail(before.error());
    thread.stack = **before;
  }
  const bool is_dumped = input.core != nullptr &&
                         input.core->IsAtEnd(thread.tid, input.machine.thread(dying).instructions);
  if (!is_dumped || !last) return {};
  const CodeMode mode = last->instruction.mode;
  if (const auto handler = UnseenHandlerOf(*input.core, thread.tid, thread.stack, mode)) {
    thread.stack.frames.insert(thread.stack.frames.begin(), *handler);
    thread.place = PlaceOf(input.session, handler->space, handler->address, false);
  }
  report.core_stack = CoreStackOf(*input.core, thread.tid, thread.stack, mode, wild);
  return {};
}

}  // namespace flowback
