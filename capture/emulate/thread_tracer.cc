// SPDX-License-Identifier: MIT
// From blocks to packets.
//
// The emulator calls before each block it runs. The begin of a block shows how the one before it
// ended: where a conditional branch went, where an indirect one led. So the tracer is always one
// block behind, and each block's last instruction is recorded when the next block begins:
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

// A slot's last word on the flow is what a callback goes on from, and it can be enough to write the
// next one: that is EnterQuickly. Every other path loads the state, writes packets, and stores it.

const Block ThreadTracer::kNoBlock;

const Block* ThreadTracer::TakeUp() {
  const record::ThreadProgress& flow = writer_.flow();
  digest_ = {.count = flow.count, .hash = flow.hash};
  generator_.SetPending(PendingOf(flow.pending));
  const Block* last = last_.load(std::memory_order_relaxed);
  return last == &kNoBlock ? nullptr : last;
}

void ThreadTracer::SetDown(const Block* last) {
  writer_.SetFlow(digest_, generator_.pending(), generator_.bytes(),
                  last == nullptr ? 0 : last->start);
  generator_.Discard();
  last_.store(last == nullptr || !open() ? &kNoBlock : last, std::memory_order_relaxed);
}

void ThreadTracer::Enter(const Block& next) {
  if (off_) return;
  const Block* last = TakeUp();
  if (last == nullptr) {
    TakeCpu();
    if (!open()) return;
    generator_.Begin(next.start, next.mode);
  } else if (next.instructions == 1 && LeftMidway(*last, next)) {
    CompletePart(*last, *last->IndexOf(next.start));
  } else {
    Complete(*last, next.start);
  }
  SetDown(&next);
  if (cpus_ && open() && cpus_->ShouldGiveWay()) GiveWay();
}

void ThreadTracer::Sync() {
  if (!open() || in_kernel()) return;
  const Block* last = TakeUp();
  TellCount(*last);
  generator_.Sync(last->start, last->mode);
  SetDown(last);
}

// The emulator makes some operations of several accesses.
void ThreadTracer::TellAtomic(uint64_t ip, uint64_t address) {
  if (!open() || in_kernel()) return;
  const uint64_t count = writer_.flow().count;
  if (ip == atomic_ip_ && count == atomic_count_) return;
  atomic_ip_ = ip;
  atomic_count_ = count;
  TellAddress({.address = address});
}

// The packets before it lead to the last block's start; no branch lies between that and the
// operation.
void ThreadTracer::TellAddress(const pt::LockAddress& address) {
  if (!open() || in_kernel()) return;
  const Block* last = TakeUp();
  generator_.TellAddress(address);
  SetDown(last);
}

void ThreadTracer::Leave() {
  if (!open() || in_kernel()) return;
  const Block* last = TakeUp();
  TellCount(*last);
  generator_.Interrupted(last->start);
  SetDown(nullptr);
  if (cpus_) cpus_->Release(true);
}

void ThreadTracer::SwitchOffInside(uint64_t address) {
  off_ = true;
  if (!open() || in_kernel()) return;
  const Block* last = TakeUp();
  CompleteOdd(*last, address);
  TellCount(*last);
  generator_.Interrupted(address);
  SetDown(nullptr);
  if (cpus_) cpus_->Release(true);
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
      Count(last);
      return generator_.Jumped(last.last, last.last_ip, next);
    case BlockEnd::kCall:
      if (next != last.target) return CompleteOdd(last, next);
      Count(last);
      return generator_.BlockEnded(last.last, last.last_ip, true, next, last.mode);
    case BlockEnd::kReturn:
    case BlockEnd::kIndirect:
      break;
    case BlockEnd::kEitherWay:
      // A stack that has no entry of it leads to the next instruction all the same.
      if (!generator_.is_branches() || next != last.end) return CompleteOdd(last, next);
      return Count(last);
    case BlockEnd::kKernel:
    case BlockEnd::kTrap:
    case BlockEnd::kUnknown:
      return CompleteOdd(last, next);
  }
  Count(last);
  generator_.BlockEnded(last.last, last.last_ip, taken, next, last.mode);
}

void ThreadTracer::CompletePart(const Block& last, size_t instructions) {
  digest_.Append(last.Prefix(instructions));
}

void ThreadTracer::CompleteOdd(const Block& last, uint64_t next) {
  const bool repeats = last.kind == BlockEnd::kSequential && (last.last.flags & kFlagRep) != 0;
  if (repeats && next == last.last_ip) return CompletePart(last, last.instructions - 1);
  const auto index = last.kind == BlockEnd::kUnknown ? std::nullopt : last.IndexOf(next);
  if (index) return CompletePart(last, *index);
  Lose(next, last.mode);
}

// What ran before `next` is not known.
void ThreadTracer::Lose(uint64_t next, CodeMode mode) {
  if (generator_.on()) writer_.CountLoss();
  generator_.Lost(next, mode);
}

// Before what interrupts the thread in or behind `last`: no packet contains the number of rounds.
void ThreadTracer::TellCount(const Block& last) {
  if (blocks_ == nullptr || blocks_->MayGoRound(last)) generator_.TellCount();
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
    case BlockEnd::kReturn:
    case BlockEnd::kIndirect:
      return true;
    default:
      return false;
  }
}

// The trap's own instruction counts as not executed, as on hardware.
void ThreadTracer::Trap(const Block& last) {
  CompletePart(last, last.instructions - 1);
  TellCount(last);
  generator_.Faulted(last.last_ip, last.mode);
}

// Records the last block up to the signal. False: that can't be.
bool ThreadTracer::Interrupt(const Block& last, const Interruption& interruption) {
  const uint64_t ip = interruption.ip;
  if (last.kind == BlockEnd::kUnknown) return false;
  if (last.kind == BlockEnd::kKernel && ip == last.end) {
    Count(last);
    generator_.LeftForKernel(last.last_ip);
    return true;
  }
  const auto index = last.IndexOf(ip);
  const bool trap = last.kind == BlockEnd::kTrap && ip == last.end;
  const bool leads = LeadsTo(last, ip);
  if (trap) {
    Trap(last);
    return true;
  }
  if (index && leads && !interruption.fault) return false;  // a loop on itself, or a fault in it
  if (index && (!leads || *interruption.fault)) {
    CompletePart(last, *index);
    TellCount(last);
    generator_.Faulted(ip, last.mode);
    return true;
  }
  if (!leads) return false;
  Complete(last, ip);
  TellCount(last);
  generator_.Interrupted(ip);
  return true;
}

void ThreadTracer::EnterHandler(const Block& next, const Interruption& interruption) {
  if (off_) return;
  const Block* last = TakeUp();
  if (last != nullptr && !Interrupt(*last, interruption)) Lose(next.start, next.mode);
  if (last == nullptr) TakeCpu();
  if (!open()) return;
  generator_.Begin(next.start, next.mode);
  SetDown(&next);
}

void ThreadTracer::Die(const Interruption& interruption) {
  if (!open() || in_kernel()) return;
  const Block* last = TakeUp();
  if (Interrupt(*last, interruption)) SetDown(nullptr);
}

void ThreadTracer::EnterUnknown(const Block& next) {
  if (off_) return;
  if (in_kernel()) return Enter(next);
  TakeUp();
  Lose(next.start, next.mode);
  SetDown(&next);
}

void ThreadTracer::EnterKernel() {
  if (cpus_ && in_kernel()) cpus_->Release(false);
  if (!open() || in_kernel()) return;
  const Block* last = TakeUp();
  if (last->kind == BlockEnd::kKernel)
    Count(*last);
  else if (last->kind == BlockEnd::kTrap)
    Trap(*last);  // INT 80h
  else
    Lose(last->start, last->mode);
  generator_.LeftForKernel(last->kind == BlockEnd::kKernel ? last->last_ip : 0);
  SetDown(nullptr);
  if (cpus_) cpus_->Release(false);
}

// The clock may go by what the thread executed.
uint64_t ThreadTracer::Tick() {
  if (open()) digest_.count = writer_.flow().count;
  return generator_.clock().Tick();
}

void ThreadTracer::Send(MessageHeader message, std::string_view text) {
  SendAt(Tick(), message, text);
}

void ThreadTracer::SendAt(uint64_t tsc, MessageHeader message, std::string_view text) {
  message.tsc = tsc;
  if (cpus_) message.cpu = cpus_->cpu();
  writer_.Send(message, text);
}

void ThreadTracer::End(bool exits) {
  if (exits) {
    Send({.kind = MessageKind::kExit});
    LeaveCpu();
  }
  writer_.End();
  last_ = &kNoBlock;
}

void ThreadTracer::OnHostFault(bool handled, uint64_t address) {
  if (!open()) return;
  fault_address_ = address;
  fault_block_ = handled ? nullptr : last_.load(std::memory_order_relaxed);
  fault_count_ = writer_.flow().count;
}

// What memory refuses, the host says.
std::optional<bool> ThreadTracer::Faulted() const {
  const Block& last = *last_.load(std::memory_order_relaxed);
  if (!open() || &last == &kNoBlock) return false;
  if (fault_block_ == &last && fault_count_ == writer_.flow().count) return true;
  return last.first_may_raise ? std::nullopt : std::optional(false);
}

}  // namespace flowback::emulate
