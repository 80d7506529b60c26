// SPDX-License-Identifier: MIT
// Does in software what the tracing hardware does: turns executed instructions into packets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/record/generate/return_stack.h"
#include "capture/record/generate/thread_clock.h"
#include "capture/record/generate/trace_clock.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback::record {

struct PtSettings {
  uint32_t psb_period_bytes = 4096;
  bool return_compression = true;
  bool long_tnt = false;
  bool short_tnt_where_smaller = false;  // see pt::PacketWriterOptions
  bool timestamps = true;
  std::optional<uint8_t> mtc_shift = std::nullopt;
  // Writes the time after tracing goes off, too: nothing else shows how long a system call took. In
  // streams that threads take turns on it proves in which of two pauses close to each other the
  // threads changed.
  bool times_ends = false;
  // CYC packets, no closer than this many cycles, where above 0: 2^(n-1). A TNT then holds branches
  // up to the next timing packet only.
  std::optional<uint8_t> cyc_threshold = std::nullopt;
};

// One thread's trace under user-only tracing. Not thread-safe; `clock` must outlive it.
//
// Tracing is off in the kernel and comes on by itself with the first event in user code, so that a
// signal met on the way out of a system call resumes at the handler, as on hardware.
class PacketGenerator {
 public:
  PacketGenerator(const PtSettings& settings, const TraceClock& clock)
      : PacketGenerator(settings, clock, digest_.count) {}
  // For an engine that counts the thread's instructions itself.
  PacketGenerator(const PtSettings& settings, const TraceClock& clock, const uint64_t& executed);
  PacketGenerator(const PacketGenerator&) = delete;
  PacketGenerator& operator=(const PacketGenerator&) = delete;

  // Each takes `ip` of the instruction and the mode it runs in. Completed: it ran, and control is
  // at `next` in `next_mode`; `taken` is of meaning for conditional branches.
  void Completed(const Instruction& instruction, uint64_t ip, CodeMode mode, bool taken,
                 uint64_t next, CodeMode next_mode);
  // The same for an engine that reports whole blocks of one mode, each by its last instruction, and
  // keeps the digest itself. Tracing is on. Reads the clock only where a packet is about to be
  // written: branches held back in a TNT packet may be older than the MTC before it, as on
  // hardware.
  void BlockEnded(const Instruction& last, uint64_t ip, bool taken, uint64_t next,
                  CodeMode mode = CodeMode::kX86_64);
  // Without CYC packets an engine may hold outcomes back by itself, up to what a packet holds, and
  // keep to the return stack: a direct call, and a return, for which true means that a taken
  // outcome represents it.
  void Called(uint64_t return_address) { returns_.Push(return_address); }
  bool ReturnIsOutcome(uint64_t target) {
    return settings_.return_compression && !counts_cycles() && returns_.PopIf(target);
  }
  void SetPending(pt::PendingTnt pending) { writer_.SetPending(pending); }
  // Others have written to the stream since, or it is another one: tracing comes on with a PSB.
  // REQUIRES: tracing is off.
  void StartElsewhere();
  // Control is at `ip` and tracing comes on, unless it is on already.
  void Begin(uint64_t ip, CodeMode mode) { TurnOn(ip, mode); }
  // The last instruction entered the kernel. Silent when tracing is off.
  void LeftForKernel();
  // Writes a PSB+ before control goes on at `ip`: later flow has later times than anything done
  // meanwhile.
  void Sync(uint64_t ip, CodeMode mode) {
    if (on_) WriteSync(ip, mode);
  }
  // Writes how many instructions the thread has executed, which no packet shows where it goes round
  // a loop of direct jumps and calls. For an engine that reports blocks; Completed sees such loops
  // by itself. Silent when tracing is off.
  void TellCount();
  // Writes the address of the data of an atomic operation or futex call that is about to end, in
  // code that needs no packet. Silent when tracing is off.
  void TellAddress(const pt::LockAddress& address);
  // What ran is not known. Control is at `ip` now.
  void Lost(uint64_t ip, CodeMode mode);
  // It ran and entered the kernel (SYSCALL, SYSENTER).
  void EnteredKernel(uint64_t ip, CodeMode mode);
  // It did not run: it raised a fault or a trap.
  void Faulted(uint64_t ip, CodeMode mode);
  // It did not run: it began a transaction that aborted at once; control is at `target`.
  void Aborted(uint64_t ip, CodeMode mode, uint64_t target);
  // Nothing ran; something asynchronous took the thread away before `ip`. Silent in the kernel.
  void Interrupted(uint64_t ip);
  // Tracing goes off before `ip`, and later calls of Completed, EnteredKernel, Faulted and Aborted
  // are not recorded.
  void Mute(uint64_t ip) {
    Interrupted(ip);
    muted_ = true;
  }
  // Tracing comes on again with the next call.
  void Unmute() { muted_ = false; }
  bool muted() const { return muted_; }
  // Writes the branches that are held back. Call it at the end.
  void Finish();

  size_t size() const { return writer_.size(); }
  // Hands out the bytes so far, pending branches excepted: whole packets.
  std::vector<uint8_t> Take();
  // The bytes so far, whole packets without padding, and the outcomes of the next packet.
  Bytes bytes() const { return writer_.bytes(); }
  pt::PendingTnt pending() const { return writer_.pending(); }
  // Forgets the bytes so far: they were handed on.
  void Discard();
  bool on() const { return on_; }
  ThreadClock& clock() { return thread_clock_; }
  const FlowDigest& digest() const { return digest_; }

 private:
  void TurnOn(uint64_t ip, CodeMode mode);
  void TurnOff();
  void WriteTime();
  void WriteMtc();
  void TellMtc(uint64_t ticks);
  // With CYC packets.
  bool counts_cycles() const { return settings_.cyc_threshold.has_value(); }
  void TimePacketGroup();
  void TntBit(bool taken);
  void FlushTnt();
  void WriteTimedMtc(uint64_t now);
  void WriteTimeAt(uint64_t tsc);
  void WriteCyc(uint64_t tsc);
  bool WritesPacket(InstructionClass kind) const;
  void WriteMode(CodeMode mode);
  void WriteSync(std::optional<uint64_t> ip, CodeMode mode);
  void WriteTransfer(const Instruction& instruction, uint64_t ip, bool taken, uint64_t next,
                     CodeMode next_mode);
  void WriteReturn(uint64_t target);
  void WriteCount(bool begins);
  void TellCountOfLoop() {
    if (may_loop_) TellCount();
  }
  bool SyncDue() const { return written_ + writer_.size() >= next_sync_; }

  PtSettings settings_;
  const TraceClock& clock_;
  const uint64_t& executed_;
  ThreadClock thread_clock_;
  pt::PacketWriter writer_;
  CompressionStack returns_;
  FlowDigest digest_;
  uint64_t written_ = 0;                 // bytes handed out
  uint64_t next_sync_ = 0;               // stream offset from which the next PSB is due
  uint64_t last_mtc_ = 0;                // crystal ticks >> mtc_shift last written
  uint64_t next_mtc_ = 0;                // time-stamp counter from which the next MTC is due
  std::optional<uint64_t> cycles_from_;  // time-stamp counter from which the next CYC counts
  uint64_t first_held_ = 0;              // time-stamp counter at the first of the pending branches
  bool may_loop_ = false;  // a direct branch went back, and no packet about the flow has come since
  bool on_ = false;
  bool muted_ = false;
  std::optional<CodeMode> mode_;  // last MODE.Exec since the PSB
};

}  // namespace flowback::record
