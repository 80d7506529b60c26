// SPDX-License-Identifier: MIT
// Turns the blocks that one thread runs into its trace. thread_tracer.cc tells how.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "capture/emulate/block.h"
#include "capture/emulate/guest.h"
#include "capture/emulate/slot_writer.h"
#include "capture/record/packet_generator.h"
#include "capture/record/trace_clock.h"

namespace flowback::emulate {

// Used by its own thread only. `clock` must outlive it.
class ThreadTracer {
 public:
  ThreadTracer(const record::PtSettings& settings, const record::TraceClock& clock,
               SlotWriter writer, int32_t tid)
      : generator_(settings, clock, digest_.count), writer_(writer), tid_(tid) {}

  int32_t tid() const { return tid_; }
  bool open() const { return writer_.open(); }

  // The thread is at the beginning of `next`. What this says of the block before it is told.
  void Enter(const Block& next) {
    const Block* last = last_;
    last_ = &next;
    if (last == nullptr || (next.instructions == 1 && LeftMidway(*last, next))) [[unlikely]]
      return EnterOdd(last, next);
    switch (last->kind) {
      case BlockEnd::kConditional: {
        const bool taken = next.start == last->target;
        if (!taken && next.start != last->end) [[unlikely]]
          break;
        Count(*last);
        const bool wrote = generator_.BranchEnded(taken, next.start);
        Prove();
        if (wrote) [[unlikely]]
          Publish(next.start);
        return;
      }
      case BlockEnd::kSequential:
        if (next.start != last->end) [[unlikely]]
          break;
        return Count(*last);
      case BlockEnd::kJump:
        if (next.start != last->target) [[unlikely]]
          break;
        return Count(*last);
      default:
        break;
    }
    Complete(*last, next.start);
    if (!generator_.bytes().empty()) Publish(next.start);
  }
  // The same at a signal handler's first instruction: a signal was delivered.
  void EnterHandler(const Block& next, const Interruption& interruption);
  // The same where whether a signal was delivered is not known.
  void EnterUnknown(const Block& next);
  // The last block's SYSCALL entered the kernel.
  void EnterKernel();
  // The thread dies where `interruption` says, of a signal; told if its blocks agree. Silent in the
  // kernel.
  void Die(const Interruption& interruption);

  // The host refused an access to memory, in the thread's current block; `handled`: the emulator
  // made it possible after all. Async-signal-safe.
  void OnHostFault(bool handled) {
    fault_block_ = handled ? nullptr : last_;
    fault_count_ = digest_.count;
  }
  // Whether the block that the thread is in raised such a fault.
  bool faulted() const {
    return last_ != nullptr && fault_block_ == last_ && fault_count_ == digest_.count;
  }

  // The time for a record of the sideband.
  uint64_t Tick() { return generator_.clock().Tick(); }
  // `message` needs no time.
  void Send(record::MessageHeader message, std::string_view text = {});
  void SendAt(uint64_t tsc, record::MessageHeader message, std::string_view text = {});
  // The thread ends; the recorder is told so if `exits`.
  void End(bool exits);

 private:
  // Whether `next`, a block of one instruction, is a part of `last` run again and not a place that
  // `last` jumped to: a jump's target there would begin a block that goes on to the same end.
  static bool LeftMidway(const Block& last, const Block& next) {
    return next.start >= last.start && next.start < last.last_ip && last.IndexOf(next.start);
  }
  void EnterOdd(const Block* last, const Block& next);
  void Complete(const Block& last, uint64_t next);
  void CompletePart(const Block& last, size_t instructions);
  void CompleteOdd(const Block& last, uint64_t next);
  void Lose(uint64_t next);
  bool LeadsTo(const Block& last, uint64_t next) const;
  bool Interrupt(const Block& last, const Interruption& interruption);
  void Count(const Block& block) {
    digest_.hash = digest_.hash * block.power + block.hash;
    digest_.count += block.instructions;
  }
  void Prove() {
    const pt::PendingTnt pending = generator_.pending();
    writer_.Prove(digest_, pending.bits, pending.count);
  }
  void Publish(uint64_t next);

  record::PacketGenerator generator_;
  SlotWriter writer_;
  FlowDigest digest_;
  const Block* last_ = nullptr;  // began, and its end is not told yet; null in the kernel
  int32_t tid_;
  const Block* fault_block_ = nullptr;
  uint64_t fault_count_ = 0;
};

}  // namespace flowback::emulate
