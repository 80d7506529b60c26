// SPDX-License-Identifier: MIT
// From blocks to packets.
//
// The emulator calls before each block it runs. That a block began tells how the one before it
// ended: where a conditional branch went, where an indirect one led. So the tracer is always one
// block behind, and each block's last instruction is told when the next block begins:
//
//   next begins at                the last block
//   a place its end leads to      ran to its end
//   its own rep instruction       ran up to that, which repeats (the emulator calls back for each
//                                 iteration) and is one instruction
//   an instruction inside it,     was left there: the emulator goes back to run one instruction
//   in a block of one             alone, atomic or changing its own code
//   a signal handler, with the    was left where the frame says: behind its end, or at the
//   frame on the stack            instruction that raised a fault
//   anywhere else                 not known: OVF, a loss
//
// SYSCALL is followed by a callback of its own, and then anything may come next: the kernel may
// have delivered a signal, or returned from one. A thread that dies of a signal dies without a
// callback, but the emulator has noted where it stood (Die). Nothing else ends tracing: what a
// killed thread did since its last block began is not proven.
#include "capture/emulate/thread_tracer.h"

namespace flowback::emulate {

using record::MessageHeader;
using record::MessageKind;

void ThreadTracer::EnterOdd(const Block* last, const Block& next) {
  if (last != nullptr)
    CompletePart(*last, *last->IndexOf(next.start));
  else
    generator_.Begin(next.start, ExecMode::k64Bit);
  if (!generator_.bytes().empty()) Publish(next.start);
}

void ThreadTracer::Complete(const Block& last, uint64_t next) {
  bool taken = true;
  switch (last.kind) {
    case BlockEnd::kSequential:
      if (next != last.end) return CompleteOdd(last, next);
      return Count(last);
    case BlockEnd::kConditional:
      taken = next == last.target;
      if (!taken && next != last.end) return CompleteOdd(last, next);
      break;
    case BlockEnd::kJump:
      if (next != last.target) return CompleteOdd(last, next);
      return Count(last);
    case BlockEnd::kCall:
      if (next != last.target) return CompleteOdd(last, next);
      Count(last);
      return generator_.BlockEnded(last.last, last.last_ip, true, next);
    case BlockEnd::kIndirect:
      break;
    case BlockEnd::kEitherWay:
    case BlockEnd::kKernel:
    case BlockEnd::kTrap:
    case BlockEnd::kUnknown:
      return CompleteOdd(last, next);
  }
  Count(last);
  generator_.BlockEnded(last.last, last.last_ip, taken, next);
  Prove();
}

void ThreadTracer::CompletePart(const Block& last, size_t instructions) {
  digest_.Append(last.Prefix(instructions));
}

void ThreadTracer::CompleteOdd(const Block& last, uint64_t next) {
  const bool repeats = last.kind == BlockEnd::kSequential && (last.last.flags & kFlagRep) != 0;
  if (repeats && next == last.last_ip) return CompletePart(last, last.instructions - 1);
  const auto index = last.kind == BlockEnd::kUnknown ? std::nullopt : last.IndexOf(next);
  if (index) return CompletePart(last, *index);
  Lose(next);
}

// What ran before `next` is not known.
void ThreadTracer::Lose(uint64_t next) {
  if (generator_.on()) writer_.CountLoss();
  generator_.Lost(next, ExecMode::k64Bit);
}

bool ThreadTracer::LeadsTo(const Block& last, uint64_t next) const {
  switch (last.kind) {
    case BlockEnd::kSequential:
      return next == last.end;
    case BlockEnd::kConditional:
      return next == last.target || next == last.end;
    case BlockEnd::kJump:
    case BlockEnd::kCall:
      return next == last.target;
    case BlockEnd::kIndirect:
      return true;
    default:
      return false;
  }
}

// Tells the last block up to where the signal came. False: that can't be.
bool ThreadTracer::Interrupt(const Block& last, const Interruption& interruption) {
  const uint64_t ip = interruption.ip;
  if (last.kind == BlockEnd::kUnknown) return false;
  const auto index = last.IndexOf(ip);
  const bool trap = last.kind == BlockEnd::kTrap && ip == last.end;
  const bool leads = LeadsTo(last, ip);
  if (trap) {
    // The trap's own instruction counts as not executed, as on hardware.
    CompletePart(last, last.instructions - 1);
    generator_.Faulted(last.last_ip, ExecMode::k64Bit);
    return true;
  }
  if (index && leads && !interruption.fault) return false;  // a loop on itself, or a fault in it
  if (index && (!leads || *interruption.fault)) {
    CompletePart(last, *index);
    generator_.Faulted(ip, ExecMode::k64Bit);
    return true;
  }
  if (!leads) return false;
  Complete(last, ip);
  generator_.Interrupted(ip);
  return true;
}

void ThreadTracer::EnterHandler(const Block& next, const Interruption& interruption) {
  if (last_ != nullptr && !Interrupt(*last_, interruption)) {
    last_ = nullptr;
    Lose(next.start);
  }
  last_ = &next;
  generator_.Begin(next.start, ExecMode::k64Bit);
  Prove();
  Publish(next.start);
}

void ThreadTracer::Die(const Interruption& interruption) {
  if (last_ == nullptr || !open() || !Interrupt(*last_, interruption)) return;
  last_ = nullptr;
  Prove();
  Publish(0);
}

void ThreadTracer::EnterUnknown(const Block& next) {
  if (last_ == nullptr) return Enter(next);
  last_ = &next;
  Lose(next.start);
  Publish(next.start);
}

void ThreadTracer::EnterKernel() {
  if (last_ == nullptr || !open()) return;
  if (last_->kind == BlockEnd::kKernel) {
    Count(*last_);
  } else {
    Lose(last_->start);
  }
  generator_.LeftForKernel();
  last_ = nullptr;
  Prove();
  Publish(0);
}

void ThreadTracer::Publish(uint64_t next) {
  writer_.Trace(generator_.bytes());
  generator_.Discard();
  if (!open() || !writer_.stopping()) return;
  if (last_ != nullptr) generator_.Interrupted(next);
  writer_.Trace(generator_.bytes());
  Prove();
  writer_.End();
}

void ThreadTracer::Send(MessageHeader message, std::string_view text) {
  SendAt(Tick(), message, text);
}

void ThreadTracer::SendAt(uint64_t tsc, MessageHeader message, std::string_view text) {
  message.tsc = tsc;
  writer_.Send(message, text);
}

void ThreadTracer::End(bool exits) {
  if (exits) Send({.kind = MessageKind::kExit});
  writer_.End();
}

}  // namespace flowback::emulate
