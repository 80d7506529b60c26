// SPDX-License-Identifier: MIT
// The tracing hardware of the stream generator: it gets the retired instructions, writes packets
// and keeps the truth.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decode/pt/packets/packet_writer.h"
#include "tests/support/generator/stream_generator.h"
#include "tests/support/generator/stream_generator_program.h"

namespace flowback::testing {

enum class Transfer : uint8_t {
  kConditional,  // taken
  kJump,
  kCall,
  kZeroCall,
  kIndirectJump,
  kIndirectCall,
  kReturn,
  kFar,
};

class TracingHardware {
 public:
  TracingHardware(const GeneratorOptions& options, Random& random, GeneratedTruth& truth);

  bool tracing() const { return context_ && inside_; }
  bool losing() const { return losing_; }
  // The execution mode by the packets so far.
  CodeMode mode() const { return mode_; }
  // The last packet was a PTW: whether its PTWRITE counts as proven is undefined, so the stream
  // must not break off here.
  bool after_ptwrite() const {
    return after_ptwrite_ && writer_.pending_tnt() == 0 && deferred_.empty();
  }

  // Tracing goes on at once, or begins as the processor enters traced code.
  void Start(const Node& at, bool at_once);

  // --- retirement. An instruction that transfers no control, or a branch not taken:
  void Retire(uint64_t ip) {
    if (tracing()) Count(ip);
    if (!options_.tsc) return;
    Tick(1);
    // Packets that its last cycle brings come before those that prove it.
    if (tracing()) SetTime();
  }
  void NotTaken(uint64_t ip);
  // Control goes from `ip` (an instruction before `next`) to `target`.
  void Transferred(Transfer kind, uint64_t ip, uint64_t next, const Node& target);
  // Without a payload of four bytes, any.
  void Ptwrite(uint64_t ip, std::optional<uint32_t> payload = {});
  void MovCr3(uint64_t ip);
  void BeginTransaction(uint64_t ip);
  void EndTransaction(uint64_t ip);
  // `ip` did not retire; goes on at `fallback`.
  void AbortTransaction(uint64_t ip, const Node& fallback);

  // --- leaving and entering user code, when only that is traced
  void SystemCall(uint64_t ip);
  void Interrupt(uint64_t ip);  // `ip`: next instruction to execute
  void EnterUser(const Node& at);
  // --- when the kernel is traced, too
  void InterruptTo(uint64_t ip, const Node& handler);
  void InterruptReturn(uint64_t ip, const Node& target);

  // --- anytime between instructions; `at`: next to execute
  void PsbIfDue(const Node& at) {
    if (options_.psb_period != 0 && writer_.size() >= next_psb_ && !losing_) Psb(at);
  }
  void Psb(const Node& at);
  void Extra(const Node& at);  // a packet that does not bind to the flow
  void BeginOverflow();
  void EndOverflow(const Node& at, bool with_psb);
  void Sleep(uint64_t cycles) {
    if (options_.tsc) Tick(cycles);
  }
  // The counter's value at this moment.
  uint64_t tsc() const { return tsc_ >> 16; }
  // The end: hands out the stream.
  std::vector<uint8_t> Finish(const Node& at, bool stop);

 private:
  // Instructions and branches up to some point.
  struct Flow {
    FlowDigest digest;
    uint64_t transfers[8] = {};  // by Transfer
    uint64_t not_taken = 0;
  };

  void Count(uint64_t ip) {
    now_.digest.Append(ip);
    // Overwrites times that an overflow threw away.
    if (!options_.tsc) return;
    truth_.times.resize(now_.digest.count);
    truth_.cycles.resize(now_.digest.count);
  }
  void SetTime() {
    truth_.times.back() = tsc();
    truth_.cycles.back() = cycles_;
  }
  // One that has taken its time.
  void CountNow(uint64_t ip) {
    if (!tracing()) return;
    Count(ip);
    if (options_.tsc) SetTime();
  }
  void CountTransfer(Transfer kind) { ++now_.transfers[static_cast<size_t>(kind)]; }
  bool telling() const { return tracing() && !losing_; }
  void Tell() {
    told_ = now_;
    after_ptwrite_ = false;
  }

  // --- the call stack of return compression
  void Push(uint64_t next);
  bool PopMatches(uint64_t target);

  // --- packets
  void TntBit(bool taken);
  void Tip(uint64_t ip);
  void FlushBranches();
  void WriteDeferred();
  void Enable(const Node& at);
  void Disable(std::optional<uint64_t> ip);
  void ModeExec();
  void ModeExecIfChanged(CodeMode mode);
  void FupHere(uint64_t ip);
  void EventPackets();
  void ChangeFlag(const Node& at);
  void Timestamp();
  void TraceStop();
  void Power(const Node& at);
  void PebsBlock(const Node& at);
  void MaybePad();

  // --- time
  void Tick(uint64_t cycles);
  void SendMtc();
  void CycIfDue();
  void ScheduleMtc();

  const GeneratorOptions& options_;
  Random& random_;
  GeneratedTruth& truth_;
  pt::PacketWriter writer_;

  bool context_ = false;  // the processor's privilege level is one that is traced
  bool inside_ = true;    // the IP filter's ranges
  bool losing_ = false;
  bool in_transaction_ = false;
  bool mode_told_ = false;             // MODE.Exec since the last PSB
  CodeMode mode_ = CodeMode::kX86_64;  // by the packets
  bool iflag_ = true;                  // the value of the next MODE.Exec
  bool after_ptwrite_ = false;

  Flow now_;        // what retired
  Flow at_branch_;  // up to the last branch that is pending or written
  Flow told_;       // what the packets written prove
  FlowDigest before_loss_;
  size_t next_psb_ = 0;

  std::vector<uint64_t> stack_;          // as hardware keeps it
  std::vector<uint64_t> keeping_stack_;  // of a decoder that pops at compressed RETs only
  std::vector<uint64_t> deferred_;       // targets of TIPs held back

  uint64_t cycles_ = 0;
  uint64_t told_cycles_ = 0;  // at the last CYC
  uint64_t tsc_ = 0;          // 48.16 fixed point
  uint64_t tsc_per_cycle_ = 0;
  uint64_t next_mtc_ = ~uint64_t{0};  // in TSC ticks
  uint8_t ratio_ = 0;
};

// The clocks of every generated stream.
constexpr uint32_t kTscPerCtcNumerator = 168;  // CPUID.15H: 84 TSC ticks a crystal tick
constexpr uint32_t kTscPerCtcDenominator = 2;
constexpr uint8_t kMtcShift = 3;
constexpr uint8_t kNominalRatio = 24;

}  // namespace flowback::testing
