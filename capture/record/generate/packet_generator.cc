// SPDX-License-Identifier: MIT
// A model of Intel PT's packet generation, user-only.
//
// The flow is written with the least that a decoder with the code needs: nothing for direct jumps
// and calls, one TNT bit for a conditional branch, TIP for an indirect one, one taken TNT bit for a
// return to where the last call came from. SYSCALL switches tracing off with TIP.PGD and no
// address; coming back switches it on with TIP.PGE. An interruption elsewhere is a FUP with the
// address of the instruction that did not run, and TIP.PGD. Example, `call f; ...; f: test; je;
// ret`:
//
//   TIP.PGE main   TNT: je's outcome, taken for the return   ...   TIP.PGD (at SYSCALL)
//
// PSB+ comes about every psb_period bytes, between two instructions; it empties the call stack and
// makes the next address a full one.
//
// Hardware does not record how often a loop of direct jumps and calls went round before it was
// interrupted. So behind each PSB+, and before what interrupts such a loop, stands the number of
// instructions that the thread has executed (pt::ExecutedCount).
#include "capture/record/generate/packet_generator.h"

#include <utility>

namespace flowback::record {
PacketGenerator::PacketGenerator(const PtSettings& settings, const TraceClock& clock,
                                 const uint64_t& executed)
    : settings_(settings),
      clock_(clock),
      executed_(executed),
      thread_clock_(clock, executed),
      writer_({.long_tnt = settings.long_tnt,
               .short_where_smaller = settings.short_tnt_where_smaller,
               .full_ip_after_psb = true}) {}

void PacketGenerator::Completed(const Instruction& instruction, uint64_t ip, CodeMode mode,
                                bool taken, uint64_t next, CodeMode next_mode) {
  if (muted_) return;
  TurnOn(ip, mode);
  digest_.Append(ip);
  WriteMtc();
  WriteTransfer(instruction, ip, taken, next, next_mode);
  if (SyncDue()) WriteSync(next, next_mode);
}

void PacketGenerator::BlockEnded(const Instruction& last, uint64_t ip, bool taken, uint64_t next,
                                 CodeMode mode) {
  if (WritesPacket(last.kind)) WriteMtc();
  WriteTransfer(last, ip, taken, next, mode);
  if (SyncDue()) WriteSync(next, mode);
}

// Calls and jumps need no packet; a branch most often joins others.
bool PacketGenerator::WritesPacket(InstructionClass kind) const {
  switch (kind) {
    case InstructionClass::kOther:
    case InstructionClass::kJump:
    case InstructionClass::kCall:
      return false;
    case InstructionClass::kConditional:
      return writer_.NextTntFlushes();
    default:
      return true;
  }
}

void PacketGenerator::TellCount() {
  if (!on_) return;
  FlushTnt();
  WriteCount(false);
}

void PacketGenerator::TellAddress(const pt::LockAddress& address) {
  if (!on_) return;
  FlushTnt();
  writer_.Write(address.AsPacket());
}

void PacketGenerator::WriteCount(bool begins) {
  writer_.Write(pt::ExecutedCount{.instructions = executed_, .begins = begins}.AsPacket());
}

void PacketGenerator::StartElsewhere() {
  next_sync_ = 0;
  cycles_from_.reset();
}

void PacketGenerator::LeftForKernel() {
  if (!on_) return;
  TimePacketGroup();
  TurnOff();
}

void PacketGenerator::Lost(uint64_t ip, CodeMode mode) {
  if (!on_) return TurnOn(ip, mode);
  FlushTnt();
  writer_.Write(pt::Ovf{});
  returns_.Clear();
  writer_.Fup(ip);
  WriteCount(true);
}

void PacketGenerator::Discard() {
  written_ += writer_.size();
  writer_.Discard();
}

void PacketGenerator::EnteredKernel(uint64_t ip, CodeMode mode) {
  if (muted_) return;
  TurnOn(ip, mode);
  digest_.Append(ip);
  TimePacketGroup();
  TurnOff();
}

void PacketGenerator::Faulted(uint64_t ip, CodeMode mode) {
  if (muted_) return;
  TurnOn(ip, mode);
  Interrupted(ip);
}

void PacketGenerator::Aborted(uint64_t ip, CodeMode mode, uint64_t target) {
  if (muted_) return;
  TurnOn(ip, mode);
  TellCountOfLoop();
  TimePacketGroup();
  writer_.Write(pt::ModeTsx{.in_transaction = false, .aborted = true});
  writer_.Fup(ip);
  writer_.Tip(target);
}

void PacketGenerator::Interrupted(uint64_t ip) {
  if (!on_) return;
  TellCountOfLoop();
  TimePacketGroup();
  writer_.Fup(ip);
  TurnOff();
}

void PacketGenerator::Finish() { FlushTnt(); }

std::vector<uint8_t> PacketGenerator::Take() {
  written_ += writer_.size();
  return writer_.Take();
}

void PacketGenerator::TurnOn(uint64_t ip, CodeMode mode) {
  if (on_) return;
  if (SyncDue()) {
    WriteSync(std::nullopt, mode);
  } else {
    // The clocks stood still for the decoder since TIP.PGD; an exact time here also shows which of
    // the kernel's new mappings are in force.
    WriteTime();
  }
  TimePacketGroup();
  if (mode_ != mode) WriteMode(mode);
  writer_.TipPge(ip);
  on_ = true;
}

void PacketGenerator::TurnOff() {
  thread_clock_.Publish();
  may_loop_ = false;
  writer_.TipPgd(std::nullopt);
  on_ = false;
  if (settings_.times_ends) WriteTime();
}

void PacketGenerator::WriteMode(CodeMode mode) {
  writer_.Write(pt::ModeExec{.cs_l = mode == CodeMode::kX86_64, .cs_d = mode == CodeMode::kX86_32});
  mode_ = mode;
}

void PacketGenerator::WriteSync(std::optional<uint64_t> ip, CodeMode mode) {
  if (ip) TellCountOfLoop();
  FlushTnt();
  next_sync_ = written_ + writer_.size() + settings_.psb_period_bytes;
  writer_.Psb();
  returns_.Clear();
  WriteTime();
  if (settings_.timestamps) writer_.Write(pt::Cbr{clock_.nominal_ratio()});
  WriteMode(mode);
  writer_.Write(pt::ModeTsx{});
  if (ip) writer_.Fup(*ip);
  writer_.Write(pt::PsbEnd{});
  WriteCount(true);
}

void PacketGenerator::WriteTransfer(const Instruction& instruction, uint64_t ip, bool taken,
                                    uint64_t next, CodeMode next_mode) {
  const uint64_t after = ip + instruction.length;
  switch (instruction.kind) {
    case InstructionClass::kOther:
      return;
    case InstructionClass::kJump:
      may_loop_ = may_loop_ || next <= ip;
      return;
    case InstructionClass::kConditional:
      may_loop_ = false;
      return TntBit(taken);
    case InstructionClass::kCall:
      may_loop_ = may_loop_ || next <= ip;
      if (!(instruction.flags & kFlagZeroCall)) returns_.Push(after);
      return;
    case InstructionClass::kIndirectCall:
      may_loop_ = false;
      returns_.Push(after);
      TimePacketGroup();
      return writer_.Tip(next);
    case InstructionClass::kReturn:
      may_loop_ = false;
      return WriteReturn(next);
    case InstructionClass::kIndirectJump:
      may_loop_ = false;
      TimePacketGroup();
      return writer_.Tip(next);
    case InstructionClass::kFarCall:
    case InstructionClass::kFarJump:
    case InstructionClass::kFarReturn:
      may_loop_ = false;
      TimePacketGroup();
      if (mode_ != next_mode) WriteMode(next_mode);
      return writer_.Tip(next);
  }
}

void PacketGenerator::WriteReturn(uint64_t target) {
  // Popped also when compression is off: the stack follows the program.
  const bool predicted = returns_.Pop() == target;
  if (predicted && settings_.return_compression) return TntBit(true);
  // Decoders differ in what they pop for a return elsewhere: one, none, or all. Once the stack is
  // empty, no later packet depends on that.
  if (!predicted) returns_.Clear();
  TimePacketGroup();
  writer_.Tip(target);
}

}  // namespace flowback::record
