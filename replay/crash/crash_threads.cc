// SPDX-License-Identifier: MIT
#include "replay/crash/crash_threads.h"

#include <algorithm>
#include <array>
#include <utility>

#include "decode/instruction/disassemble.h"
#include "replay/session/ended_thread.h"
#include "replay/session/stack_naming.h"

namespace flowback {
namespace {

constexpr uint64_t kWindow = 200'000;  // instructions that the last calls are looked for in
constexpr size_t kMostBytes = 16;      // bytes of an instruction

std::string NameOf(Session& session, int32_t tid, uint64_t tsc) {
  const RecordingClock& clock = session.clock();
  const uint64_t time = tsc == 0 || !clock.has_nanoseconds() ? 0 : clock.Value(tsc);
  return std::string(session.threads().CommAt(tid, time).comm);
}

// Whether the recording says that the thread ended before that time.
bool EndedBefore(const Session& session, int32_t tid, uint64_t tsc) {
  const uint64_t time = tsc == 0 ? UINT64_MAX : session.clock().Value(tsc);
  return ThreadExits(session.recording()).IsBefore(tid, time);
}

// The cursor at the thread's place.
ThreadCursor CursorAt(const CrashInput& input, size_t thread, const MachineThread& at) {
  ThreadCursor cursor = EndOf(input, thread);
  if (at.number < input.machine.thread(thread).instructions) cursor.ToInstruction(at.number);
  return cursor;
}

class LastExecuted {
 public:
  LastExecuted(Session& session, size_t most) : session_(session), most_(most) {}

  // Reads back over the last instructions, and over as many as it takes for the lines.
  void Read(ThreadCursor& cursor) {
    constexpr uint64_t kMostForLines = 5000;
    for (uint64_t read = 0; read < kMostForLines && cursor.Previous(); ++read) {
      if (cursor.kind() == ThreadCursor::Kind::kLoss) break;
      if (cursor.kind() != ThreadCursor::Kind::kInstruction) continue;
      Add(cursor.instruction(), cursor.number());
      if (lines.size() >= most_ && instructions.size() >= most_) break;
    }
    std::ranges::reverse(lines);
    std::ranges::reverse(instructions);
  }

  std::vector<CrashPlace> lines;
  std::vector<CrashInstruction> instructions;

 private:
  void Add(const CursorInstruction& executed, uint64_t number) {
    CrashPlace place = PlaceOf(session_, executed.space, executed.address, false);
    if (instructions.size() < most_)
      instructions.push_back(
          {.number = number, .tsc = executed.tsc, .place = place, .text = TextOf(executed)});
    const bool is_same = !lines.empty() && lines.back().file == place.file &&
                         lines.back().line == place.line && lines.back().function == place.function;
    if (place.line != 0 && !is_same && lines.size() < most_) lines.push_back(std::move(place));
  }
  std::string TextOf(const CursorInstruction& executed) {
    std::array<uint8_t, kMostBytes> code{};
    if (executed.space == nullptr) return {};
    const size_t size = executed.space->Read(executed.address, code.data(), code.size());
    return disassembler_.Text({code.data(), size}, executed.address, executed.mode);
  }

  Session& session_;
  const size_t most_;
  Disassembler disassembler_;
};

}  // namespace

bool HasEnded(const Session& session, int32_t tid) { return EndedBefore(session, tid, 0); }

ThreadCursor EndOf(const CrashInput& input, size_t thread) {
  return {input.machine.index(), input.machine.thread(thread), ThreadCursor::Start::kEnd};
}

CrashPlace PlaceOf(Session& session, const AddressSpace* space, uint64_t address, bool is_return) {
  CrashPlace place;
  place.address = address;
  if (space == nullptr || address == 0) return place;
  StackNames names = StackNamesOf(session);
  const StackFrame frame{.address = address, .space = space, .is_exact = !is_return};
  const NamedFrame named = names.Of(frame).front();
  place.function = named.function;
  place.offset = named.offset;
  place.object = named.object;
  if (const CodeMapping* mapping = space->Find(is_return ? address - 1 : address))
    place.in_object = address - mapping->FileBase();
  place.file = named.file;
  place.line = named.line;
  return place;
}

std::vector<CrashPlace> FramesOf(Session& session, const ThreadStack& stack) {
  std::vector<CrashPlace> places;
  for (const StackFrame& frame : stack.frames)
    places.push_back(PlaceOf(session, frame.space, frame.address, !frame.is_exact));
  return places;
}

Result<CrashThread> ThreadAt(const CrashInput& input, size_t thread, bool at_end,
                             const CrashOptions& options) {
  MachineThread at = input.machine.At(thread);
  // Its flow ended earlier: it waited for the kernel, unless it had exited.
  if (at.state == ThreadState::kEnded &&
      !EndedBefore(input.session, at.tid, input.machine.At(input.machine.current()).tsc)) {
    at.state = ThreadState::kRunning;
    at_end = true;
  }
  if (at_end) at.number = input.machine.thread(thread).instructions;
  CrashThread told;
  told.tid = at.tid;
  told.name = NameOf(input.session, at.tid, at.tsc);
  told.state = at.state;
  told.tsc = at.tsc;
  const auto stack = input.stacks.At(input.machine.index_number(thread), at.number);
  if (!stack) return Fail(stack.error());
  told.stack = **stack;
  const bool has_frame = !told.stack.frames.empty() && told.stack.frames.front().address != 0;
  told.place = has_frame ? PlaceOf(input.session, told.stack.frames.front().space,
                                   told.stack.frames.front().address, false)
                         : PlaceOf(input.session, at.instruction.space, at.pc, false);
  ThreadCursor cursor = CursorAt(input, thread, at);
  const ThreadCursor::Place place = cursor.place();
  told.calls = LastCallsBefore(cursor, input.session.functions(), kWindow, options.last);
  cursor.Return(place);
  LastExecuted executed(input.session, options.last);
  executed.Read(cursor);
  told.lines = std::move(executed.lines);
  told.instructions = std::move(executed.instructions);
  return told;
}

}  // namespace flowback
