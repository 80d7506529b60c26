// SPDX-License-Identifier: MIT
// What hardware writes, and what that proves.
//
// Three records of the flow run along: `now_` is everything that retired with tracing on,
// `at_branch_` ends at the last branch whose outcome is known to the hardware but perhaps still
// waits in an unfinished TNT packet, and `told_` ends where the packets written so far lead a
// decoder. Each packet that binds to the flow moves `told_` up: a TNT packet to `at_branch_`, an IP
// packet to `now_`. An overflow throws `now_` back to `told_`: what retired in between is in no
// packet. The truth is `told_` at the end.
#include "tests/support/generator/stream_generator_hardware.h"

#include <algorithm>

namespace flowback::testing {
namespace {

constexpr size_t kStackDepth = 64;
constexpr uint64_t kFirstTsc = 0x1234'5678'9abc;
constexpr uint8_t kInterruptEvent = 1;  // CFE types
constexpr uint8_t kInterruptReturnEvent = 2;
constexpr uint8_t kPageFaultVector = 14;

}  // namespace

TracingHardware::TracingHardware(const GeneratorOptions& options, Random& random,
                                 GeneratedTruth& truth)
    : options_(options), random_(random), truth_(truth), writer_({.long_tnt = options.long_tnt}) {
  ratio_ = static_cast<uint8_t>(random_.Between(10, 36));
  tsc_per_cycle_ = (uint64_t{kNominalRatio} << 16) / ratio_;
  tsc_ = (kFirstTsc + random_.Below(1 << 20)) << 16;
  ScheduleMtc();
}

void TracingHardware::Start(const Node& at, bool at_once) {
  context_ = at_once;
  inside_ = !at.outside;
  Psb(at);
  if (!at_once) EnterUser(at);
}

// --- retirement ---------------------------------------------------------------------------------

void TracingHardware::NotTaken(uint64_t ip) {
  Retire(ip);
  if (!tracing()) return;
  ++now_.not_taken;
  if (!losing_) TntBit(false);
}

void TracingHardware::Transferred(Transfer kind, uint64_t ip, uint64_t next, const Node& target) {
  Retire(ip);
  const bool was_tracing = tracing();
  if (context_) inside_ = !target.outside;
  if (!was_tracing) {
    if (tracing() && !losing_) Enable(target);
    return;
  }
  CountTransfer(kind);
  if (losing_) return;
  if (!tracing()) {
    if (kind == Transfer::kReturn) PopMatches(target.address);
    Disable(target.address);
    if (random_.Chance(100)) TraceStop();
    return;
  }
  switch (kind) {
    case Transfer::kConditional:
      return TntBit(true);
    case Transfer::kJump:
    case Transfer::kZeroCall:
      return;
    case Transfer::kCall:
      return Push(next);
    case Transfer::kIndirectCall:
      Push(next);
      return Tip(target.address);
    case Transfer::kIndirectJump:
      return Tip(target.address);
    case Transfer::kFar:
      ModeExecIfChanged(target.mode);
      Tip(target.address);
      return FlushBranches();  // nothing comes between MODE.Exec and the TIP it belongs to
    case Transfer::kReturn:
      if (PopMatches(target.address)) return TntBit(true);
      // If held back, its TIP could be taken for a later branch's, and a later bit for its own.
      FlushBranches();
      Tip(target.address);
      FlushBranches();
  }
}

// Its packet is written as it retires.
void TracingHardware::Ptwrite(uint64_t ip, std::optional<uint32_t> payload) {
  if (options_.tsc) Tick(1);
  if (telling()) {
    FlushBranches();
    CycIfDue();
    const uint64_t value = payload ? *payload : random_.Next() & 0xffffffff;
    writer_.Write(pt::Ptw{.payload = value, .bytes = 4, .ip = options_.ptwrite_fup});
    if (options_.ptwrite_fup) FupHere(ip);
    after_ptwrite_ = true;
    ++truth_.ptwrites;
  }
  CountNow(ip);
}

void TracingHardware::MovCr3(uint64_t ip) {
  Retire(ip);
  if (!telling()) return;
  FlushBranches();
  writer_.Write(pt::Pip{.cr3 = random_.Below(1 << 20) << 12});
  after_ptwrite_ = true;  // as with PTW: the instruction it binds to
}

void TracingHardware::BeginTransaction(uint64_t ip) {
  in_transaction_ = true;
  if (telling()) {
    FlushBranches();
    writer_.Write(pt::ModeTsx{.in_transaction = true});
    FupHere(ip);
  }
  Retire(ip);
}

void TracingHardware::EndTransaction(uint64_t ip) {
  in_transaction_ = false;
  if (telling()) {
    FlushBranches();
    writer_.Write(pt::ModeTsx{});
    FupHere(ip);
  }
  Retire(ip);
}

void TracingHardware::AbortTransaction(uint64_t ip, const Node& fallback) {
  in_transaction_ = false;
  if (!telling()) return;
  FlushBranches();
  writer_.Write(pt::ModeTsx{.aborted = true});
  FupHere(ip);
  MaybePad();
  writer_.Tip(fallback.address);
  Tell();
}

// --- leaving and entering
// -------------------------------------------------------------------------

void TracingHardware::SystemCall(uint64_t ip) {
  Retire(ip);
  if (tracing()) {
    CountTransfer(Transfer::kFar);
    if (!losing_) Disable(std::nullopt);
  }
  context_ = false;
}

void TracingHardware::Interrupt(uint64_t ip) {
  if (telling()) {
    FlushBranches();
    EventPackets();
    CycIfDue();
    FupHere(ip);
    MaybePad();
    Disable(std::nullopt);
  }
  context_ = false;
}

void TracingHardware::EnterUser(const Node& at) {
  context_ = true;
  inside_ = !at.outside;
  if (telling()) Enable(at);
}

void TracingHardware::InterruptTo(uint64_t ip, const Node& handler) {
  if (!telling()) {
    inside_ = !handler.outside;
    if (telling()) Enable(handler);
    return;
  }
  FlushBranches();
  EventPackets();
  CycIfDue();
  FupHere(ip);
  if (random_.Chance(200)) writer_.Write(pt::Pip{.cr3 = random_.Below(1 << 20) << 12});
  iflag_ = false;
  ModeExecIfChanged(handler.mode);
  MaybePad();
  writer_.Tip(handler.address);
  Tell();
}

void TracingHardware::InterruptReturn(uint64_t ip, const Node& target) {
  if (options_.event_trace && telling()) {
    FlushBranches();
    writer_.Write(pt::Cfe{.type = kInterruptReturnEvent});
    ++truth_.events;
  }
  iflag_ = true;
  Transferred(Transfer::kFar, ip, 0, target);
}

// --- return compression
// ---------------------------------------------------------------------------

void PushBounded(std::vector<uint64_t>& stack, uint64_t value) {
  if (stack.size() == kStackDepth) stack.erase(stack.begin());
  stack.push_back(value);
}

void TracingHardware::Push(uint64_t next) {
  if (!options_.return_compression) return;
  PushBounded(stack_, next);
  PushBounded(keeping_stack_, next);
}

bool TracingHardware::PopMatches(uint64_t target) {
  if (stack_.empty()) return false;
  if (stack_.back() == target) {
    stack_.pop_back();
    ++truth_.compressed_returns;
    // A decoder that pops here only must find the same target.
    if (keeping_stack_.empty() || keeping_stack_.back() != target) truth_.wrong_without_pop = true;
    if (!keeping_stack_.empty()) keeping_stack_.pop_back();
    return true;
  }
  ++truth_.mismatched_returns;
  if (options_.on_mismatch == ReturnMismatch::kEmptyAll) {
    stack_.clear();
  } else {
    stack_.pop_back();
  }
  return false;
}

// --- packets that bind
// ----------------------------------------------------------------------------

void TracingHardware::TntBit(bool taken) {
  if (writer_.pending_tnt() == 0) CycIfDue();
  writer_.TntBit(taken);
  at_branch_ = now_;
  if (writer_.pending_tnt() != 0) return;
  WriteDeferred();
  Tell();
}

void TracingHardware::Tip(uint64_t ip) {
  at_branch_ = now_;
  if (options_.deferred_tips && deferred_.size() < 6 &&
      (writer_.pending_tnt() != 0 || random_.Chance(300))) {
    deferred_.push_back(ip);
    return;
  }
  FlushBranches();
  CycIfDue();
  writer_.Tip(ip);
  Tell();
}

void TracingHardware::WriteDeferred() {
  for (uint64_t ip : deferred_) writer_.Tip(ip);
  deferred_.clear();
}

void TracingHardware::FlushBranches() {
  if (writer_.pending_tnt() == 0 && deferred_.empty()) return;
  writer_.FlushTnt();
  WriteDeferred();
  told_ = at_branch_;
  after_ptwrite_ = false;
}

void TracingHardware::ModeExec() {
  const bool wide = mode_ == CodeMode::kX86_64;
  writer_.Write(pt::ModeExec{.cs_l = wide, .cs_d = !wide, .iflag = options_.event_trace && iflag_});
  mode_told_ = true;
}

// In the compound of a transfer that changes the mode.
void TracingHardware::ModeExecIfChanged(CodeMode mode) {
  const bool flag_may_change = options_.event_trace && options_.kernel;
  if (mode == mode_ && !flag_may_change) return;
  FlushBranches();
  mode_ = mode;
  ModeExec();
}

void TracingHardware::Enable(const Node& at) {
  CycIfDue();
  if (!mode_told_ || at.mode != mode_) {
    mode_ = at.mode;
    ModeExec();
  }
  MaybePad();
  writer_.TipPge(at.address);
  Tell();
}

// A range of the filter that does not leave code out but ends the trace. Software switches tracing
// on again, which gives a PSB+.
void TracingHardware::TraceStop() {
  writer_.Write(pt::TraceStop{});
  next_psb_ = writer_.size();
}

void TracingHardware::Disable(std::optional<uint64_t> ip) {
  FlushBranches();
  CycIfDue();
  writer_.TipPgd(ip);
  Tell();
}

void TracingHardware::FupHere(uint64_t ip) {
  MaybePad();
  writer_.Fup(ip);
  Tell();
}

// With event trace an interrupt or fault says what it is.
void TracingHardware::EventPackets() {
  if (!options_.event_trace) return;
  const bool fault = random_.Chance(400);
  if (fault) {
    writer_.Write(pt::Evd{.type = 0, .payload = random_.Next() >> 16});
    ++truth_.events;
  }
  const uint8_t vector =
      fault ? kPageFaultVector : static_cast<uint8_t>(random_.Between(0x20, 0xff));
  writer_.Write(pt::Cfe{.type = kInterruptEvent, .vector = vector, .ip = true});
  ++truth_.events;
}

// --- synchronisation and loss
// ---------------------------------------------------------------------

void TracingHardware::Psb(const Node& at) {
  FlushBranches();
  const size_t offset = writer_.size();
  truth_.psbs.push_back(
      {.offset = offset, .instructions = now_.digest.count, .ip = tracing() ? at.address : 0});
  writer_.Psb();
  stack_.clear();
  mode_told_ = false;
  if (options_.tsc) {
    Timestamp();
    writer_.Write(pt::Cbr{ratio_});
  }
  if (options_.kernel) writer_.Write(pt::Pip{.cr3 = 0x1234'5000});
  if (options_.maintenance) writer_.Write(pt::Vmcs{.base = 0x77'7000});
  MaybePad();
  if (tracing()) {
    mode_ = at.mode;
    ModeExec();
    if (options_.transactions) writer_.Write(pt::ModeTsx{.in_transaction = in_transaction_});
    writer_.Fup(at.address);
    Tell();
  } else if (random_.Chance(500)) {
    ModeExec();
  }
  writer_.Write(pt::PsbEnd{});
  truth_.psbs.back().end = writer_.size();
  // Real periods vary: the PSB waits until a compound of packets is complete.
  next_psb_ = writer_.size() + options_.psb_period + random_.Below(options_.psb_period / 4 + 1);
}

void TracingHardware::BeginOverflow() {
  FlushBranches();
  losing_ = true;
  before_loss_ = now_.digest;
  now_ = at_branch_ = told_;
}

void TracingHardware::EndOverflow(const Node& at, bool with_psb) {
  const uint64_t lost =
      now_.digest.count - told_.digest.count + (before_loss_.count - told_.digest.count);
  now_ = at_branch_ = told_;
  losing_ = false;
  stack_.clear();
  writer_.Write(pt::Ovf{});
  truth_.losses.push_back({.offset = writer_.size() - 2,
                           .told = told_.digest.count,
                           .lost = lost,
                           .resume_ip = tracing() ? at.address : 0,
                           .into_psb = with_psb && tracing()});
  told_cycles_ = cycles_;
  if (options_.mtc) ScheduleMtc();
  if (with_psb) return Psb(at);
  if (tracing()) FupHere(at.address);
}

std::vector<uint8_t> TracingHardware::Finish(const Node& at, bool stop) {
  if (stop) {
    Interrupt(at.address);
  } else if (const bool lucky = random_.Chance(500); lucky || after_ptwrite_) {
    FlushBranches();
  } else {
    at_branch_ = told_;
  }
  const auto transfers = [this](Transfer kind) {
    return told_.transfers[static_cast<size_t>(kind)];
  };
  truth_.digest = told_.digest;
  if (options_.tsc) truth_.times.resize(told_.digest.count);
  if (options_.tsc) truth_.cycles.resize(told_.digest.count);
  truth_.taken = transfers(Transfer::kConditional);
  truth_.not_taken = told_.not_taken;
  truth_.jumps = transfers(Transfer::kJump);
  truth_.calls = transfers(Transfer::kCall) + transfers(Transfer::kZeroCall);
  truth_.indirect_jumps = transfers(Transfer::kIndirectJump);
  truth_.indirect_calls = transfers(Transfer::kIndirectCall);
  truth_.returns = transfers(Transfer::kReturn);
  truth_.far = transfers(Transfer::kFar);
  return writer_.Take();
}

}  // namespace flowback::testing
