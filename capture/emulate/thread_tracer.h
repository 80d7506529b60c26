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
      : generator_(settings, clock), writer_(writer), tid_(tid) {}

  int32_t tid() const { return tid_; }
  bool open() const { return writer_.open(); }

  // The thread is at the beginning of `next`. What this says of the block before it is told.
  void Enter(const Block& next) {
    const Block* last = last_;
    last_ = &next;
    if (next.count() == 1 && last != nullptr && LeftMidway(*last, next)) [[unlikely]]
      CompletePart(*last, *last->IndexOf(next.start));
    else if (last != nullptr) [[likely]]
      Complete(*last, next.start);
    else
      generator_.Begin(next.start, ExecMode::k64Bit);
    if (!generator_.bytes().empty()) Publish(next.start);
  }
  // The same at a signal handler's first instruction: a signal was delivered.
  void EnterHandler(const Block& next, const Interruption& interruption);
  // The same where whether a signal was delivered is not known.
  void EnterUnknown(const Block& next);
  // The last block's SYSCALL entered the kernel.
  void EnterKernel();

  // `message` needs no time.
  void Send(record::MessageHeader message, std::string_view text = {});
  void SendAt(uint64_t tsc, record::MessageHeader message, std::string_view text = {});
  // The thread ends; the recorder is told so if `exits`.
  void End(bool exits);

 private:
  static bool LeftMidway(const Block& last, const Block& next);
  void Complete(const Block& last, uint64_t next);
  void CompletePart(const Block& last, size_t instructions);
  void CompleteOdd(const Block& last, uint64_t next);
  bool LeadsTo(const Block& last, uint64_t next) const;
  bool Interrupt(const Block& last, const Interruption& interruption);
  void Count(const Block& block) {
    digest_.hash = digest_.hash * block.power + block.digest.hash;
    digest_.count += block.digest.count;
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
};

}  // namespace flowback::emulate
