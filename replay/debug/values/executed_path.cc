// SPDX-License-Identifier: MIT
#include "replay/debug/values/executed_path.h"

#include <algorithm>
#include <array>

#include "base/linux/kernel_address.h"
#include "flowback/replay/thread_cursor.h"

namespace flowback {
namespace {

using Kind = ThreadCursor::Kind;
using values::Between;

// What may have happened where the flow has something else than an instruction. An interrupt leaves
// registers as they are; a handler of a signal that is not recorded may have written to memory.
Between MeaningOf(const ThreadCursor& cursor) {
  if (cursor.kind() != Kind::kEvent) return Between::kAllMayChange;
  switch (cursor.event().kind) {
    case EventKind::kStoppedAsync:
    case EventKind::kInterrupted:
      return Between::kMemoryMayChange;
    case EventKind::kOverflow:
    case EventKind::kTraceStop:
    case EventKind::kTransactionBegin:
    case EventKind::kTransactionCommit:
    case EventKind::kTransactionAbort:
      return Between::kAllMayChange;
    default:
      return Between::kNothing;
  }
}

class PathReader {
 public:
  // `is_last`: the thread executes nothing behind the end.
  PathReader(uint64_t end_address, bool is_last, bool shared) : is_last_(is_last), shared_(shared) {
    result_.path.end_address = end_address;
  }

  void Read(ThreadCursor& cursor, size_t most) {
    while (result_.path.instructions.size() < most && cursor.Previous()) {
      if (cursor.kind() != Kind::kInstruction)
        between_ = std::max(between_, MeaningOf(cursor));
      else if (!Add(cursor.instruction()))
        break;
      else
        result_.first = cursor.number();
    }
  }

  ThreadPath Take() {
    std::ranges::reverse(result_.path.instructions);
    return std::move(result_);
  }

 private:
  // Whether control came to where it did by INT 80h.
  bool Traps(const values::PathInstruction& one, const AddressSpace& space) const {
    constexpr std::array<uint8_t, 2> kTrap = {0xcd, 0x80};
    const auto& later = result_.path.instructions;
    const uint64_t came_to = later.empty() ? result_.path.end_address : later.back().address;
    std::array<uint8_t, kTrap.size()> code{};
    return one.mode == CodeMode::kX86_32 && one.next != 0 && came_to == one.next + kTrap.size() &&
           space.Read(one.next, code.data(), code.size()) == code.size() && code == kTrap;
  }

  bool Add(const CursorInstruction& executed) {
    auto& instructions = result_.path.instructions;
    if (executed.space == nullptr || IsKernelAddress(executed.address)) return false;
    if (result_.space == nullptr) result_.space = executed.space;
    if (executed.space != result_.space) return false;
    values::PathInstruction one{.address = executed.address,
                                .next = executed.next,
                                .length = executed.length,
                                .mode = executed.mode};
    const size_t read = executed.space->Read(one.address, one.bytes.data(), one.bytes.size());
    if (read < one.length) return false;
    // The event after the last instruction is the thread's death. No more of it executed.
    if (instructions.empty() && is_last_)
      between_ = between_ == Between::kAllMayChange ? between_ : Between::kNothing;
    one.then_traps = Traps(one, *executed.space);
    if (one.then_traps && between_ == Between::kMemoryMayChange) between_ = Between::kNothing;
    if (shared_) between_ = std::max(between_, Between::kOthersMayWrite);
    (instructions.empty() ? result_.path.before_end : instructions.back().before) = between_;
    between_ = executed.in_transaction ? Between::kAllMayChange : Between::kNothing;
    instructions.push_back(one);
    return true;
  }

  ThreadPath result_;
  Between between_ = Between::kNothing;
  const bool is_last_;
  const bool shared_;
};

}  // namespace

ThreadPath LastPathOf(FlowIndex& index, const IndexedThread& thread, const PathEnd& end,
                      size_t most, bool shared) {
  ThreadCursor cursor(index, thread, ThreadCursor::Start::kEnd);
  const bool is_last = end.number == thread.instructions;
  if (!is_last) cursor.ToInstruction(end.number);
  PathReader reader(end.address, is_last, shared);
  reader.Read(cursor, most);
  return reader.Take();
}

}  // namespace flowback
