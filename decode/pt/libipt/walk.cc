// SPDX-License-Identifier: MIT
// The loop every user of libipt writes: synchronise, drain events, take an instruction, repeat.
// Four things make it longer than that:
//
// * pt_insn_next hands out an instruction even when going on from it failed. Such an instruction is
//   counted only if its packet was there; PacketMirror knows (FinishFailed).
// * A branch that binds events (VM entry, MOV CR3 in between) is handed out before its own packet
// is
//   read: it is held until that has happened (ResolveHeld).
// * libipt goes round a loop without packets as often as it must to come to the place of the next
//   packet, which is once at most. Where the recorder counted instructions, the other rounds are
//   found in the code (SettleCount); else a loss says that their number is not proven.
// * libipt follows a loop of direct jumps for ever, as no packet ever contradicts it. Without a
//   packet the walk is a function of the address alone, so coming back to an address proves a loop;
//   Brent's method finds that with one remembered address (SeesLoop). Flow into the loop is not
//   counted, so instructions wait for a packet, or a branch that wants one, behind them
//   (ProgressMade).
#include "decode/pt/libipt/walk.h"

#include "decode/pt/engine/loop_loss.h"
#include "decode/pt/libipt/branch_target.h"
#include "decode/pt/libipt/configuration.h"
#include "decode/pt/libipt/event_translation.h"

namespace flowback::libipt {
namespace {

constexpr uint64_t kOverflowPacketSize = 2;

// The packets themselves, or their order, were wrong; not merely other than the code wants them.
bool IsPacketError(pt_error_code code) {
  switch (code) {
    case pte_bad_opc:
    case pte_bad_packet:
    case pte_bad_context:
    case pte_ip_suppressed:
    case pte_noip:
    case pte_nosync:
    case pte_nomem:
    case pte_internal:
      return true;
    default:
      return false;
  }
}

// The branch had its packet, but that did not say where it went.
bool ContradictsBranch(pt_error_code code) {
  return code == pte_noip || code == pte_bad_retcomp || code == pte_retstack_empty;
}

bool NeedsPacket(InstructionClass kind) {
  return kind != InstructionClass::kOther && kind != InstructionClass::kJump &&
         kind != InstructionClass::kCall;
}

Completed Describe(const pt_insn& insn) {
  Completed completed;
  completed.ip = insn.ip;
  completed.size = insn.size;
  completed.kind = ClassOf(insn);
  completed.mode = ModeOf(insn.mode);
  completed.in_transaction = insn.speculative != 0;
  if (completed.kind != InstructionClass::kOther) completed.exit = BlockExit::kTaken;
  if (IsDirect(completed.kind)) completed.next = DirectTarget(insn);
  return completed;
}

}  // namespace

Result<Walk> Walk::Start(const WalkRange& range, const PtConfig& pt, ImageReader& code,
                         FlowWriter& writer, uint64_t skip, uint64_t retired) {
  Walk walk(range, code, writer, skip, retired);
  walk.tsc_reference_ = pt.tsc_reference;
  const pt_config config = MakeConfig(range.bytes, pt);
  walk.image_.reset(pt_image_alloc(nullptr));
  walk.decoder_.reset(pt_insn_alloc_decoder(&config));
  PacketDecoder packets(pt_pkt_alloc_decoder(&config));
  if (!walk.image_ || !walk.decoder_ || !packets)
    return Fail(ErrorCode::kSystem, "libipt could not allocate a decoder");
  pt_image_set_callback(walk.image_.get(), ImageReader::Read, &code);
  pt_insn_set_image(walk.decoder_.get(), walk.image_.get());
  pt_pkt_sync_set(packets.get(), 0);
  walk.mirror_.emplace(std::move(packets));
  return walk;
}

int Walk::Begin() {
  code_->EnterStays(range_.offset);
  code_->program().Allow();
  writer_->set_stay(code_->stay());
  code_->Select(retired_, writer_->tsc());
  const int status = pt_insn_sync_forward(decoder_.get());
  UpdateTime();
  tracing_ = status >= 0 && (status & pts_ip_suppressed) == 0;
  if (tracing_) code_->Select(retired_, writer_->tsc());
  code_->CheckProgram(writer_->tsc());
  return status;
}

WalkEnd Walk::Run(const Limit& limit) {
  const auto paused = [this] {
    return WalkEnd{.why = WalkEnd::Why::kPaused, .offset = range_.offset + Position()};
  };
  if (limit.rounds == 0) return paused();
  if (!status_) status_ = Begin(), ++rounds_;
  int& status = *status_;
  for (; status >= 0; ++rounds_) {
    if (IsAt(limit)) return paused();
    if ((status & pts_event_pending) != 0)
      status = NextEvent();
    else if ((status & pts_eos) != 0)
      break;  // what follows the last packet may or may not have run
    else
      status = NextInstruction();
    if (runaway_ || writer_->Done()) break;
  }
  ProgressMade();
  mirror_->AdvanceTo(Position());
  if (status >= 0 && !runaway_ && !writer_->Done()) RevealTarget();
  return End(status);
}

bool Walk::IsAt(const Limit& limit) const {
  if (rounds_ >= limit.rounds) return true;
  const uint64_t end = range_.offset + range_.bytes.size();
  return limit.offset < end && steps_ >= skip_ && range_.offset + Position() > limit.offset;
}

// No trace is left, so asking for one more instruction only reveals where it is.
void Walk::RevealTarget() {
  pt_insn insn{};
  (void)pt_insn_next(decoder_.get(), &insn, sizeof(insn));
  if (insn.ip != 0 && steps_ >= skip_) writer_->Reveal(insn.ip);
}

WalkEnd Walk::End(int status) const {
  WalkEnd end;
  end.offset = range_.offset + Position();
  end.ip = last_ip_;
  if (writer_->Done()) {
    end.why = WalkEnd::Why::kDone;
  } else if (runaway_) {
    end.why = WalkEnd::Why::kRunaway;
  } else if (status < 0 && status != -pte_eos) {
    end.why = WalkEnd::Why::kError;
    end.code = pt_errcode(status);
  } else {
    end.ip = writer_->position();
  }
  return end;
}

bool Walk::WantsCut(const WalkEnd& end) const {
  return end.why == WalkEnd::Why::kError && IsPacketError(end.code) &&
         end.offset - range_.offset < range_.bytes.size();
}

uint64_t Walk::Position() const {
  uint64_t offset = 0;
  return pt_insn_get_offset(decoder_.get(), &offset) < 0 ? 0 : offset;
}

void Walk::UpdateTime() {
  uint64_t tsc = 0;
  if (pt_insn_time(decoder_.get(), &tsc, nullptr, nullptr) < 0) return;
  // libipt's has 56 bits, and what MTCs carry over them.
  constexpr uint64_t kMask = (uint64_t{1} << 56) - 1;
  writer_->set_tsc(tsc_reference_ == 0 ? tsc : WholeTsc(tsc & kMask, tsc_reference_));
}

int Walk::NextInstruction() {
  pt_insn insn{};
  const int status = pt_insn_next(decoder_.get(), &insn, sizeof(insn));
  last_ip_ = insn.ip;
  // Unless steps to come are silent, this is where the last branch went.
  if (insn.ip != 0 && unproven_.empty() && steps_ >= skip_) writer_->Reveal(insn.ip);
  if (status < 0) {
    FinishFailed(insn, status);
    return status;
  }
  Completed completed = Describe(insn);
  mode_ = completed.mode;
  if (NeedsPacket(completed.kind)) {
    mirror_->AdvanceTo(Position());
    if (!Consume(completed, insn) && (status & pts_event_pending) != 0) {
      held_ = HeldBranch{completed, insn};
      return status;
    }
    Add(completed);
    // libipt has read on to the next packet about the flow: this is the time before that.
    UpdateTime();
  } else if (SeesLoop(insn.ip)) {
    runaway_ = true;
    unproven_.clear();
  } else {
    unproven_.push_back(completed);
  }
  return status;
}

// Takes the branch's packet from the mirror and fills in the outcome; false: no packet fits the
// branch.
bool Walk::Consume(Completed& instruction, const pt_insn& insn) {
  switch (instruction.kind) {
    case InstructionClass::kConditional: {
      const std::optional<bool> taken = mirror_->TakeTnt();
      if (!taken) return false;
      instruction.exit = *taken ? BlockExit::kTaken : BlockExit::kNotTaken;
      if (!*taken) instruction.next = insn.ip + insn.size;
      return true;
    }
    case InstructionClass::kReturn:
      if (const std::optional<bool> taken = mirror_->TakeTnt()) return *taken;
      return mirror_->TakeTip();
    default:
      return mirror_->TakeTip();
  }
}

// A packet, or the branch that lacks its packet, has been reached: what led to it has executed.
void Walk::ProgressMade() {
  for (const Completed& instruction : unproven_) Count(instruction);
  unproven_.clear();
  loop_length_ = 0;
}

void Walk::Add(const Completed& instruction) {
  ProgressMade();
  Count(instruction);
}

void Walk::Count(const Completed& instruction) {
  ++retired_;
  ++steps_;
  behind_ = instruction.ip + instruction.size;
  if (live()) writer_->Add(instruction, code_->space());
}

void Walk::FinishFailed(const pt_insn& insn, int status) {
  const WalkEnd end = End(status);
  if (insn.size == 0 || end.code == pte_nomap || end.code == pte_bad_insn || WantsCut(end)) return;
  Completed completed = Describe(insn);
  if (!NeedsPacket(completed.kind)) return;
  mirror_->AdvanceTo(Position());
  if (Consume(completed, insn) && !ContradictsBranch(end.code)) Add(completed);
}

bool Walk::SeesLoop(uint64_t ip) {
  if (loop_length_ != 0 && ip == loop_anchor_) return true;
  if (loop_length_ == 0 || loop_length_ == loop_limit_) {
    loop_limit_ = loop_length_ == 0 ? kFirstLoopLimit : loop_limit_ * 2;
    loop_anchor_ = ip;
    loop_length_ = 0;
  }
  ++loop_length_;
  return false;
}

int Walk::NextEvent() {
  mirror_->AdvanceTo(Position());
  const uint64_t offset = range_.offset + mirror_->event_offset();
  pt_event event{};
  // An event may be delivered although what follows it is damaged: libipt then fills it in and
  // still returns an error. It clears the reserved words of the events it makes.
  constexpr uint64_t kUntouched = ~uint64_t{0};
  event.reserved[0] = kUntouched;
  const int status = pt_insn_event(decoder_.get(), &event, sizeof(event));
  const bool delivered = event.reserved[0] != kUntouched;
  ProgressMade();
  if (held_) ResolveHeld(delivered ? &event : nullptr, status);
  if (delivered) HandleEvent(event, offset);
  UpdateTime();
  return status;
}

void Walk::ResolveHeld(const pt_event* event, int status) {
  Completed completed = held_->completed;
  if (event != nullptr && event->type == ptev_disabled) {
    Add(completed);
  } else {
    mirror_->AdvanceTo(Position());
    const bool consumed = Consume(completed, held_->insn);
    if (!consumed && status >= 0 && (status & pts_event_pending) != 0) return;  // more to come
    if (consumed || status >= 0) Add(completed);
  }
  held_.reset();
}

void Walk::HandleEvent(const pt_event& event, uint64_t offset) {
  if (event.type == ptev_mnt) {
    if (const auto count = pt::ExecutedCount::Of({event.variant.mnt.payload})) {
      rounds_of_loops_.TakeCount(*count, retired_);
      return;
    }
  }
  std::optional<TraceEvent> translated = Translate(event);
  if (!translated) return;
  if (rounds_of_loops_.waits() && translated->has_ip) SettleCount(translated->ip);
  ++steps_;
  translated->offset = offset;
  code_->EnterStays(offset);
  translated->tsc = writer_->tsc();
  if (abort_ && event.type != ptev_async_branch) FlushAbort(0);
  switch (event.type) {
    case ptev_enabled:
      tracing_ = true;
      if (mirror_->TakePsb()) code_->CheckProgram(writer_->tsc());
      code_->program().Start(event.variant.enabled.ip);
      code_->Select(retired_, writer_->tsc());
      mirror_->ForgetBranches();
      if (live()) writer_->Close();
      break;
    case ptev_disabled:
      tracing_ = false;
      // Without an address a system call stopped tracing; it returns behind its instruction.
      code_->program().Stop(event.ip_suppressed != 0 ? std::optional(behind_) : std::nullopt);
      if (live()) writer_->Stop(translated->target);
      break;
    case ptev_async_disabled:
      tracing_ = false;
      code_->program().Stop(event.variant.async_disabled.at);
      TellUnprovenRounds(*translated);
      break;
    case ptev_paging:
    case ptev_async_paging:
      code_->program().Allow();
      break;
    case ptev_async_branch:
      mirror_->DropTip();
      if (abort_) return FlushAbort(translated->target);
      TellUnprovenRounds(*translated);
      break;
    case ptev_tsx:
      if (event.variant.tsx.aborted) {
        abort_ = translated;
        return;
      }
      break;
    case ptev_overflow:
      return HandleOverflow(*translated);
    case ptev_exec_mode:
      // A status update is a PSB+, which is a place to look at the mappings again.
      if (!event.status_update) break;
      (void)mirror_->TakePsb();
      code_->CheckProgram(writer_->tsc());
      code_->Select(retired_, writer_->tsc());
      break;
    default:
      break;
  }
  if (!live()) return;
  writer_->set_stay(code_->stay());
  if (RepeatsState(event)) return;
  if (translated->has_ip && event.type != ptev_enabled && event.type != ptev_ptwrite)
    writer_->NextIs(translated->ip);
  writer_->Event(*translated);
}

// A PSB+ repeats the processor's state; only a change is an event.
bool Walk::RepeatsState(const pt_event& event) const {
  if (event.status_update == 0) return false;
  if (event.type == ptev_tsx) return true;
  return event.type == ptev_exec_mode && writer_->mode() == ModeOf(event.variant.exec_mode.mode);
}

// Control stands at `ip`, to which a count belongs.
void Walk::SettleCount(uint64_t ip) {
  const int64_t missing = rounds_of_loops_.Settle(retired_);
  if (missing == 0) return rounds_of_loops_.SetProven(retired_);
  const uint64_t round = rounds_of_loops_.RoundFrom(code_->space(), mode_, ip).instructions;
  const auto count = static_cast<uint64_t>(missing);
  if (missing < 0 || count > counted_left_ || round == 0 || count % round != 0) {
    if (live()) writer_->Loss(pt::CountLoss(missing));
    return;
  }
  counted_left_ -= count;
  rounds_of_loops_.Walk(code_->space(), mode_, ip, count,
                        [this](const Completed& completed) { Count(completed); });
  rounds_of_loops_.SetProven(retired_);
}

void Walk::TellUnprovenRounds(const TraceEvent& event) {
  if (!event.has_ip || rounds_of_loops_.ProvesPlaceAt(retired_)) return;
  const auto round = rounds_of_loops_.RoundFrom(code_->space(), mode_, event.ip);
  if (round.instructions == 0 || !live()) return;
  writer_->NextIs(event.ip);
  DataLoss loss = pt::RoundsLoss(round, event.ip);
  loss.begin = loss.end = event.offset;
  loss.last_ip = event.ip;
  loss.code = code_->space()->SectionOrReason(event.ip);
  writer_->Loss(std::move(loss));
}

std::optional<uint64_t> Walk::EndlessEnd() {
  const uint64_t ip = writer_->position();
  if (!tracing_ || ip == 0 || rounds_of_loops_.Terminates(code_->space(), mode_, ip)) return {};
  return ip;
}

// An abort is a FUP with the aborting address and a TIP with where control goes: libipt makes two
// events of it, we have one.
void Walk::FlushAbort(uint64_t target) {
  abort_->target = target;
  TellUnprovenRounds(*abort_);
  if (live()) {
    if (abort_->has_ip) writer_->NextIs(abort_->ip);
    writer_->Event(*abort_);
  }
  abort_.reset();
}

void Walk::HandleOverflow(const TraceEvent& overflow) {
  code_->program().Allow();
  mirror_->ForgetBranches();
  rounds_of_loops_.Forget();
  tracing_ = overflow.has_ip;
  DataLoss loss;
  loss.cause = LossCause::kOverflow;
  loss.begin = range_.offset + mirror_->overflow_offset();
  loss.end = loss.begin + kOverflowPacketSize;
  loss.last_ip = writer_->position();
  overflow_bytes_ += kOverflowPacketSize;
  if (!live()) return;
  writer_->Loss(loss);
  writer_->set_stay(code_->stay());
  writer_->Event(overflow);
}

}  // namespace flowback::libipt
