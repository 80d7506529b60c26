// SPDX-License-Identifier: MIT
// Turns the blocks that one thread runs into its trace. thread_tracer.cc explains how.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "capture/emulate/block.h"
#include "capture/emulate/cpu_turns.h"
#include "capture/emulate/guest.h"
#include "capture/emulate/slot_writer.h"
#include "capture/emulate/thread_trace.h"
#include "capture/record/generate/trace_clock.h"

namespace flowback::emulate {

// Used by its own thread only, unless a comment says otherwise. `clock` and `blocks` must outlive
// it. `blocks`: all that the thread may run; null: it counts its instructions wherever it is
// interrupted, not in loops alone.
class ThreadTracer {
 public:
  ThreadTracer(const record::PtSettings& settings, const record::TraceClock& clock,
               SlotWriter writer, int32_t tid, std::optional<CpuTurns> cpus = {},
               uint32_t branch_depth = 0, const EmulatedBlocks* blocks = nullptr)
      : blocks_(blocks),
        writer_(writer),
        tid_(tid),
        generator_(settings, clock, digest_.count, branch_depth),
        cpus_(cpus) {}

  int32_t tid() const { return tid_; }
  bool open() const { return writer_.open(); }

  // The thread begins: earlier flow is recorded. It may wait for a CPU: the caller holds no lock.
  void Start();
  // The thread is at the beginning of `next`. Returns true if it has recorded the end of the block
  // before it; false: nothing is done, and the next function must be called. The most frequent ends
  // only; never true while closed.
  bool EnterQuickly(const Block& next) {
    const Block& last = *last_.load(std::memory_order_relaxed);
    // Which of the two it is can't be foretold: no branch of ours may depend on it.
    uint64_t taken = next.start == last.when_taken ? 1 : 0;
    uint64_t not_taken = next.start == last.when_not ? 1 : 0;
    asm("" : "+r"(taken), "+r"(not_taken));
    if ((taken | not_taken) == 0) [[unlikely]]
      return false;
    return Advance(last, next, taken << record::kPendingShift, last.outcome_mask);
  }
  // The same for calls, most returns, and iterations; when false, call one of the others, if open.
  bool EnterLessQuickly(const Block& next) {
    const Block& last = *last_.load(std::memory_order_relaxed);
    const bool packets = !generator_.is_branches();
    if (last.kind == BlockEnd::kCall && packets) return EnterCalled(last, next);
    if (last.kind == BlockEnd::kReturn && packets) return EnterReturned(last, next);
    return &next == &last && last.IsRepAlone() && attention() == 0 && !next.may_be_handler();
  }
  void Enter(const Block& next);
  // The same at a signal handler's first instruction: a signal was delivered.
  void EnterHandler(const Block& next, const Interruption& interruption);
  // The same where whether a signal was delivered is not known.
  void EnterUnknown(const Block& next);
  // The last block's SYSCALL entered the kernel.
  void EnterKernel();
  // Puts a time between what it did so far and its last block, which has begun.
  void Sync();
  // An atomic operation in its last block, at `ip`, accessed `address`; calls after the first of
  // one execution add nothing.
  void TellAtomic(uint64_t ip, uint64_t address);
  // Its last block ends in a futex call.
  void TellFutex(uint64_t address) { TellAddress({.address = address, .futex = true}); }
  // Stops recording at the beginning of the thread's last block.
  void Leave();
  // Recording is switched off at the beginning of its last block: the flow is not recorded until it
  // is switched on again.
  void SwitchOff() {
    Leave();
    off_ = true;
  }
  // The same at an instruction of that block.
  void SwitchOffInside(uint64_t address);
  void SwitchOn() { off_ = false; }
  bool off() const { return off_; }
  // The thread dies of a signal where `interruption` says; recorded if its blocks agree. Silent in
  // the kernel.
  void Die(const Interruption& interruption);

  // The time for a record of the sideband.
  uint64_t Tick();
  // `message` needs no time.
  void Send(record::MessageHeader message, std::string_view text = {});
  void SendAt(uint64_t tsc, record::MessageHeader message, std::string_view text = {});
  // The thread ends; the recorder gets a message if `exits`.
  void End(bool exits);

  // The host refused an access to memory, in the thread's current block; `handled`: the emulator
  // made it possible after all. Async-signal-safe.
  void OnHostFault(bool handled, uint64_t address);
  // What the last such access was to; 0: not known.
  uint64_t fault_address() const { return fault_address_; }
  // Whether an instruction in the thread's last block raised a fault; empty: not known.
  std::optional<bool> Faulted() const;

  // Why others call its attention; 0: they don't. Only while open.
  uint32_t attention() const { return writer_.attention(); }
  void Ignore(uint32_t reason) { writer_.Ignore(reason); }
  // For any thread: false when its recording has ended.
  bool CallAttention(uint32_t reason) { return writer_.CallAttention(reason); }
  // For any thread: the end of its last block is recorded, and tracing is off.
  bool in_kernel() const { return last_.load(std::memory_order_relaxed) == &kNoBlock; }
  // Held by the writer of this thread's flow, outside of the emulator's generated code.
  std::mutex& telling() { return telling_; }

 private:
  static constexpr uint64_t kTakenOutcome = uint64_t{1} << record::kPendingShift;
  static const Block kNoBlock;

  // The last block ended with an outcome, if `mask` is not zero, or without.
  bool Advance(const Block& last, const Block& next, uint64_t outcome, uint64_t mask) {
    record::Slot& slot = writer_.slot();
    const uint32_t attention = slot.attention.load(std::memory_order_relaxed);
    if (((last.marks_before | attention) & next.marks_after.load(std::memory_order_relaxed)) != 0)
        [[unlikely]]
      return false;
    const uint32_t current = slot.current.load(std::memory_order_relaxed);
    const record::ThreadProgress& flow = slot.FlowAt(current);
    const record::PendingWord pending =
        flow.pending + (((flow.pending & ~record::kPendingTag) + outcome) & mask);
    // The word is full when a packet of outcomes is.
    if (static_cast<int64_t>(pending) < 0) [[unlikely]]
      return false;
    const uint64_t hash = flow.hash * last.power + last.hash;
    const uint64_t count = flow.count + last.instructions;
    const uint32_t other = current ^ record::Slot::kOther;
    record::ThreadProgress& changed = slot.FlowAt(other);
    changed.count = count;
    changed.hash = hash;
    changed.pending = pending;
    changed.next = next.start;
    slot.current.store(other, std::memory_order_release);
    last_.store(&next, std::memory_order_relaxed);
    return true;
  }
  bool EnterCalled(const Block& last, const Block& next) {
    if (next.start != last.target || !Advance(last, next, 0, 0)) return false;
    generator_.Called(last.end);
    return true;
  }
  bool EnterReturned(const Block& last, const Block& next) {
    constexpr uint64_t kHasOutcome = ~uint64_t{0};
    if (next.instructions == 1 && LeftMidway(last, next)) return false;
    if (!generator_.ReturnIsOutcome(next.start)) return false;
    if (Advance(last, next, kTakenOutcome, kHasOutcome)) return true;
    generator_.Called(next.start);  // as it was
    return false;
  }

  // Whether `next`, a block of one instruction, is a part of `last` run again and not a place that
  // `last` jumped to: a jump's target there would begin a block that goes on to the same end.
  static bool LeftMidway(const Block& last, const Block& next) {
    return next.start >= last.start && next.start < last.last_ip && last.IndexOf(next.start);
  }
  void Complete(const Block& last, uint64_t next);
  void CompletePart(const Block& last, size_t instructions);
  void CompleteOdd(const Block& last, uint64_t next);
  void Trap(const Block& last);
  void Lose(uint64_t next, CodeMode mode);
  void TellCount(const Block& last);
  void TellAddress(const pt::LockAddress& address);
  bool LeadsTo(const Block& last, uint64_t next) const;
  bool Interrupt(const Block& last, const Interruption& interruption);
  void Count(const Block& block) {
    digest_.hash = digest_.hash * block.power + block.hash;
    digest_.count += block.instructions;
  }
  // The last block; null in the kernel.
  const Block* TakeUp();
  void SetDown(const Block* last);
  // Where the streams are of virtual CPUs; elsewhere these do nothing. REQUIRES for the first:
  // taken up, tracing is off; for the second: set down.
  void TakeCpu();
  void GiveWay();
  void LeaveCpu();

  const EmulatedBlocks* blocks_;
  std::atomic<const Block*> last_ = &kNoBlock;  // began, and its end is not recorded yet
  SlotWriter writer_;
  int32_t tid_;
  bool off_ = false;
  ThreadTrace generator_;
  FlowDigest digest_;          // between TakeUp and SetDown
  uint64_t atomic_ip_ = 0;     // of the last TellAtomic
  uint64_t atomic_count_ = 0;  // FlowDigest's then
  const Block* fault_block_ = nullptr;
  uint64_t fault_count_ = 0;
  uint64_t fault_address_ = 0;
  std::mutex telling_;
  std::optional<CpuTurns> cpus_;
};

}  // namespace flowback::emulate
