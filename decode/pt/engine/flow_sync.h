// SPDX-License-Identifier: MIT
// FlowEngine, part 4: sync points, and losing and regaining the flow.
//
// Every byte is accounted for once. A loss begins with the packet that cannot be right, and ends
// where the packet begins that gives the full state again. That may be the same packet: then the
// loss has no bytes, only a break in the flow. That is also so if a PSB gives the state that begins
// inside a packet made by damage; the false packet's bytes before the PSB count.
// docs/explanation/resync.md says which packets end a loss, and what is known of the state then.
#pragma once

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/recorded/pt_config.h"
#include "decode/effort.h"
#include "decode/pt/engine/flow_engine.h"
#include "decode/pt/engine/flow_rounds.h"
#include "decode/pt/packets/packet_groups.h"

namespace flowback::pt {

template <FlowSink Sink>
FlowEngine<Sink>::FlowEngine(const DecodeInput& input, CodeView& code, MemoCache& memos, Sink& sink)
    : FlowState(PtConfigOf(input.config)),
      input_(input),
      window_(input.bytes, input.joined),
      code_(code),
      memos_(memos),
      sink_(sink),
      config_(PtConfigOf(input.config)),
      errata_(ErrataOf(config_.cpu)),
      limits_(config_, errata_),
      ahead_(input_, window_, errata_),
      compressed_returns_(config_.return_compression.value_or(true)) {}

template <FlowSink Sink>
ByteAccount FlowEngine<Sink>::Run() {
  Begin();
  RunTo(input_.bytes.size());
  return Finish();
}

template <FlowSink Sink>
ByteAccount FlowEngine<Sink>::Finish() {
  EnterStays(input_.bytes.size());
  EndLoss(input_.bytes.size());
  TellUnprovenEnd();
  account_.CountDecoded(input_.bytes.size());
  sink_.Enter(nullptr, Mark(input_.bytes.size()));
  return account_.bytes();
}

// If the next stay of a thread begins at `offset` or before, what follows is that thread's.
template <FlowSink Sink>
void FlowEngine<Sink>::EnterStays(size_t offset) {
  while (const ThreadStay* const stay = parts_.Enter(input_, offset)) {
    sink_.Enter(stay, Mark(std::min<size_t>(offset, input_.bytes.size())));
    if (!code_.Uses(*stay->code)) program_ = {};
    code_.Use(*stay->code);
    // Its process was there by then: an older one of the same number may have ended before.
    code_.Advance(stay->begin, sink_.retired());
    if (state_ != State::kOn) continue;
    const uint64_t here = CurrentAddress();
    SelectCode();
    Goto(here);
  }
  LimitHotLoop(offset);
}

// The hot loop ends where the next stay begins, and where the window must move on.
template <FlowSink Sink>
void FlowEngine<Sink>::LimitHotLoop(size_t offset) {
  window_.MoveTo(offset);
  const size_t reach = std::min<size_t>(window_.reach(), parts_.NextStay(input_));
  hot_end_ = std::min(end_, input_.bytes.data() + reach);
  if constexpr (Sink::kListsBlocks || Sink::kSumsBlocks)  // RunJustTo's engines
    if (stop_ != nullptr)
      hot_end_ = std::min(hot_end_, std::max(stop_, input_.bytes.data() + offset));
}

template <FlowSink Sink>
PartMark FlowEngine<Sink>::Mark(size_t offset) const {
  return {offset, account_.bytes().padding, account_.LostUpTo(offset), clock_.tsc()};
}

template <FlowSink Sink>
void FlowEngine<Sink>::BeginPart(size_t begin) {
  end_ = input_.bytes.data() + parts_.EndFrom(input_, begin);
  EnterStays(begin);
  UseGraph();
  if (!account_.losing()) SkipStatusOnly(begin);
  SyncForward(begin);
}

// On to the end of the stream, or until a packet at `stop` or behind it has been taken.
template <FlowSink Sink>
void FlowEngine<Sink>::RunTo(size_t stop) {
  for (;;) {
    while (pos_ < end_ && Offset(pos_) <= stop && !sink_.Done()) {
      if (Plain()) FastPackets();
      if (pos_ < end_ && !sink_.Done()) OnePacket();
    }
    if (pos_ >= end_) ClearCompound();
    if (pos_ < end_ || Offset(pos_) > stop || sink_.Done()) return;
    const StreamGap* const gap = parts_.NextGap(input_);
    if (gap == nullptr) return;
    const size_t begin = Offset(end_);
    BeginLoss(LossCause::kAuxLost, begin, gap->reason);
    BeginPart(begin);
  }
}

// A processor may write the time before its first PSB; no flow is lost with that.
template <FlowSink Sink>
void FlowEngine<Sink>::SkipStatusOnly(size_t begin) {
  const size_t psb = FindPsb(window_, Offset(end_), begin);
  if (!IsStatusOnly(window_, begin, psb)) return BeginLoss(LossCause::kNoSync, begin, {});
  Packet packet;
  for (size_t at = begin; at < psb;) {
    window_.MoveTo(at);
    const ReadResult size = ReadPacket(input_.bytes.subspan(at, psb - at), pebs_, packet);
    at += size.value_or(psb - at);
    if (std::holds_alternative<Pad>(packet)) account_.AddPadding(1);
    if (size) CountSlow(packet, false);
  }
}

// Returns whether all flow before the packet was handed on by the time the packet was written.
inline bool StandsForItself(const Packet& packet) {
  return std::visit([]<class P>(const P&) { return kIsOneOf<P, Tip, TipPge, TipPgd, Psb, Ovf>; },
                    packet);
}

// `transfers`: it is the target of an interrupt or a similar transfer, and was not held back.
// `told`: it proves all flow before it, or where execution is after a loss.
template <FlowSink Sink>
void FlowEngine<Sink>::EndOf(const Packet& packet, bool transfers, bool told) {
  if constexpr (Sink::kWantsTimes) {
    if (std::holds_alternative<Tip>(packet) && !transfers) return TipEnd();
    EndPacket(StandsForItself(packet) || told ? PacketEnding::kProven : PacketEnding::kStatus);
  }
}

template <FlowSink Sink>
void FlowEngine<Sink>::OnePacket() {
  packet_ = pos_;
  EnterStays(Offset(pos_));
  const uint64_t told = Retired();
  const bool transfers = compound_.in_transfer();
  const bool lost = state_ == State::kLost;
  const bool plain = Plain();
  Packet packet;
  const ReadResult size = ReadPacket(Rest(), pebs_, packet, errata_);
  if (!size) return Damaged(size.error());
  if (state_ == State::kLost && SwallowsPsb(pos_, *size)) return;
  pos_ += *size;
  CountSlow(packet, plain);
  const bool is_time = std::visit([]<class P>(const P&) { return kIsTiming<P>; }, packet);
  if (std::holds_alternative<Pad>(packet) && !account_.losing()) account_.AddPadding(1);
  if (!std::visit([this](const auto& p) { return this->On(p); }, packet)) {
    Failed();
    // The same packet may name where execution is.
    if (state_ == State::kLost && pos_ == packet_ + *size && input_.resync == Resync::kEarliest &&
        !std::holds_alternative<Psb>(packet))
      if (!std::visit([this](const auto& p) { return this->On(p); }, packet)) Failed();
  }
  if (const unsigned count = TntCount(packet); count != 0)
    TntEnd(InCompound() ? 0 : count, pos_);
  else if (!is_time && !InCompound())
    EndOf(packet, transfers, Retired() != told || (lost && state_ != State::kLost));
  // PSB+ may stand between an OVF and the FUP or TIP.PGE that resolves it.
  if (is_time || std::holds_alternative<Ovf>(packet) || std::holds_alternative<Psb>(packet)) return;
  loss_state_.OnPacket(state_ == State::kLost);
}

// `plain`: the state was Plain(), but the hot loop could not take the packet all the same.
template <FlowSink Sink>
void FlowEngine<Sink>::CountSlow(const Packet& packet, bool plain) {
  const auto is = [&packet]<class... Kinds>(Kinds...) {
    return std::visit([]<class P>(const P&) { return kIsOneOf<P, Kinds...>; }, packet);
  };
  if (is(Pad(), Mtc(), Cyc())) return;
  const bool usual = is(ShortTnt(), LongTnt(), Tip());
  CountSlow(!usual ? SlowPacket::kKind : plain ? SlowPacket::kNoPath : SlowPacket::kState);
}

// Bytes that are no packet.
template <FlowSink Sink>
void FlowEngine<Sink>::Damaged(ReadError error) {
  const size_t offset = Offset(pos_);
  if (error == ReadError::kTruncated) {
    ClearCompound();
    BeginLoss(LossCause::kTruncated, offset, "the last packet is cut");
    pos_ = end_;
    return;
  }
  std::string bytes = "bytes";
  for (const uint8_t byte : Rest().first(std::min<size_t>(Rest().size(), 8))) {
    constexpr char kDigits[] = "0123456789abcdef";
    bytes += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  LoseAt(offset, LossCause::kBadPacket, std::move(bytes));
}

// Whether the packets up to a loss of this kind are what was written: it is code, a call or packets
// that the processor dropped that is missing, and nothing contradicts them.
inline bool PacketsAreSound(LossCause cause) {
  return cause == LossCause::kNoImage || cause == LossCause::kReturnAcrossLoss ||
         cause == LossCause::kOverflow;
}

// Handles an error in the packet just taken, which failure_ describes.
template <FlowSink Sink>
void FlowEngine<Sink>::Failed() {
  // A BIP looks like a TNT: the error may be that the group of PEBS packets has ended.
  const bool ambiguous = pebs_.item_bytes != 0 && !PacketsAreSound(failure_.cause);
  if (input_.resync == Resync::kSyncPoint || ambiguous)
    return LoseAt(Offset(packet_), failure_.cause, std::move(failure_.detail));
  ClearCompound();
  BeginLoss(failure_.cause, Offset(packet_), std::move(failure_.detail));
  SwallowsPsb(packet_, static_cast<size_t>(pos_ - packet_));
}

// The bytes at `offset` are invalid: skips to the next PSB, which may begin a little before.
template <FlowSink Sink>
void FlowEngine<Sink>::LoseAt(size_t offset, LossCause cause, std::string detail) {
  const size_t from = PsbSearchBegin(offset, behind_last_psb_);
  ClearCompound();
  BeginLoss(cause, offset, std::move(detail));
  SyncForward(from);
}

// Read from a wrong place, bytes may look like a packet that reaches into a PSB: goes there then.
template <FlowSink Sink>
bool FlowEngine<Sink>::SwallowsPsb(const uint8_t* packet, size_t size) {
  const size_t begin = Offset(packet);
  const size_t reach = std::min(begin + size + Psb::kPattern.size() - 1, Offset(end_));
  const size_t psb = FindPsb(Bytes(input_.bytes.data(), reach), begin + 1);
  if (psb >= begin + size) return false;
  SyncForward(psb);
  return true;
}

template <FlowSink Sink>
void FlowEngine<Sink>::BeginLoss(LossCause cause, size_t offset, std::string detail) {
  if (!PacketsAreSound(cause)) {
    clock_.OnGap();
    last_ip_.Doubt();
    in_transaction_ = false;
  }
  program_.Allow();
  const bool on = state_ == State::kOn;
  const uint64_t last_ip = on ? CurrentAddress() : 0;
  counted_ = {};
  state_ = State::kLost;
  cur_ = 0;
  loss_state_.OnOtherLoss();
  if (account_.losing()) return;  // one loss, for the reason that began it
  clock_.OnPause();               // tracing may go off and on
  account_.Begin({.cause = cause,
                  .begin = offset,
                  .end = offset,
                  .tsc = clock_.tsc(),
                  .last_ip = last_ip,
                  .detail = std::move(detail),
                  .stay = sink_.stay(),
                  .code = on ? graph_->space().SectionOrReason(last_ip) : nullptr});
  if constexpr (Sink::kWantsTimes) sink_.LossBegins();
}

template <FlowSink Sink>
void FlowEngine<Sink>::EndLoss(size_t offset) {
  loss_state_.OnEnd();
  if (!account_.losing()) return;
  // At a PSB whose first bytes were taken for something else: they count once.
  if (offset + 1 == behind_last_psb_) account_.BeginEarlier(offset);
  sink_.Loss(account_.End(offset, clock_.tsc()));
}

// On to the next PSB at or after `from`; the packet there gives the state.
template <FlowSink Sink>
void FlowEngine<Sink>::SyncForward(size_t from) {
  pos_ = input_.bytes.data() + FindPsb(window_, Offset(end_), from);
  clock_.OnGap();
  pebs_ = {};
  ahead_.Forget();
  ClearCompound();
  compound_.TakeMode();  // PSB+ has it
  if (pos_ == end_) return;
  state_ = State::kLost;
}

// Whether a packet other than PSB and TIP.PGE may end the loss.
template <FlowSink Sink>
bool FlowEngine<Sink>::MayResume() const {
  return input_.resync == Resync::kEarliest ||
         (loss_state_.overflowed() && errata_.overflow_no_fup);
}

// The current packet names the place again, but not the whole state: no calls that the processor
// remembers are known. An overflow empties its call stack; only time may have passed since.
template <FlowSink Sink>
void FlowEngine<Sink>::Regain() {
  calls_lost_ = !loss_state_.fup_resolves();
  EndLoss(Offset(packet_));
  returns_.Clear();
}

// The flow is known again: tracing is on, the next instruction is at `ip`.
template <FlowSink Sink>
void FlowEngine<Sink>::Resume(uint64_t ip) {
  const bool overflow = loss_state_.overflowed();
  Regain();
  state_ = State::kOn;
  SelectCode();
  Goto(ip);
  TraceEvent event = Event(overflow ? EventKind::kOverflow : EventKind::kStarted);
  event.ip = ip;
  event.has_ip = true;
  Notify(event);
}

// What PSB+ says, up to and with PSBEND.
template <FlowSink Sink>
struct FlowEngine<Sink>::Header {
  std::optional<uint64_t> ip;
  std::optional<ModeExec> mode;
  std::optional<ModeTsx> tsx;
  bool tsc = false;
  bool overflow = false;  // an OVF ended it
  uint64_t padding = 0;
};

template <FlowSink Sink>
bool FlowEngine<Sink>::ReadHeader(Header& header) {
  auto take = [&](const auto& p) -> bool {
    using P = std::decay_t<decltype(p)>;
    if constexpr (std::is_same_v<P, Fup>) {
      header.ip = last_ip_.Apply(p.ip);
    } else if constexpr (std::is_same_v<P, ModeExec>) {
      header.mode = p;
    } else if constexpr (std::is_same_v<P, ModeTsx>) {
      header.tsx = p;
    } else if constexpr (std::is_same_v<P, Pad>) {
      ++header.padding;
    } else if constexpr (std::is_same_v<P, Mnt>) {
      if (!ExecutedCount::Of(p)) return On(p);  // no recorder counts before the state is known
    } else if constexpr (kIsTiming<P>) {
      header.tsc |= std::is_same_v<P, Tsc>;
      return On(p);
    } else if constexpr (kIsOneOf<P, Pip, Vmcs>) {
      Announce(p);
    } else {
      return Fail(LossCause::kBadPacket, std::string(P::kName) + " inside PSB+");
    }
    return true;
  };
  while (pos_ < end_) {
    window_.Reach(Offset(pos_));
    Packet packet;
    const ReadResult size = ReadPacket(Rest(), pebs_, packet, errata_);
    if (!size && size.error() == ReadError::kTruncated) break;
    if (!size) return Fail(LossCause::kBadPacket, "inside PSB+");
    pos_ += *size;
    CountSlow(packet, false);
    if (std::holds_alternative<PsbEnd>(packet)) return true;
    if (std::holds_alternative<Ovf>(packet)) return header.overflow = true;
    if (!std::visit(take, packet)) return false;
  }
  pos_ = end_;
  return Fail(LossCause::kTruncated, "PSB+ is cut");
}

template <FlowSink Sink>
bool FlowEngine<Sink>::PsbPlus() {
  const uint8_t* const psb = packet_;
  if (input_.progress != nullptr && behind_last_psb_ != 0 && Offset(psb) >= behind_last_psb_)
    input_.progress->fetch_add(Offset(psb) + 1 - behind_last_psb_, std::memory_order_relaxed);
  behind_last_psb_ = Offset(psb) + 1;
  last_ip_.Reset();
  held_.OnPsb();
  counted_ = {};  // the recorder writes it anew: a segment may begin here
  Header header;
  if (!ReadHeader(header)) {
    // No sync point, unless the pattern begins a little later.
    ClearCompound();
    BeginLoss(failure_.cause, Offset(psb), std::move(failure_.detail));
    if (pos_ < end_) SyncForward(Offset(psb) + 1);
    return true;
  }
  packet_ = psb;
  if (!ApplyHeader(header)) {  // the flow before was wrong; this PSB+ has the whole state
    const LastIp told = last_ip_;
    ClearCompound();
    BeginLoss(failure_.cause, Offset(psb), std::move(failure_.detail));
    last_ip_ = told;
    ApplyHeader(header);
  }
  account_.AddPadding(header.padding);
  if (header.overflow) {
    packet_ = pos_ - 2;
    return On(Ovf{});
  }
  return true;
}

template <FlowSink Sink>
bool FlowEngine<Sink>::ApplyHeader(const Header& header) {
  const bool was_lost = state_ == State::kLost;
  // No compound spans a PSB.  [SDM "Decoder Synchronization (PSB+)"]
  if (compound_.in_transfer() || !held_.empty() || (!was_lost && compound_.fup_is_due()))
    return Mismatch("PSB inside a compound of packets");
  const bool resolves = was_lost && loss_state_.fup_resolves();
  if (state_ == State::kOn && header.ip && !WalkTo(*header.ip)) return false;
  const bool enabling = state_ != State::kOn && StartsBeforeEnable(header);
  if (!enabling && !AgreesWithFlow(header)) return false;
  returns_.Clear();  // PSB empties the processor's as well
  calls_lost_ = false;
  if (header.tsc) CheckProgram();
  if (was_lost) {
    ClearCompound();
    compound_.TakeMode();
    EndLoss(Offset(packet_));
    state_ = State::kOff;
  }
  if (header.mode) SetMode(*header.mode, header.ip);
  if (header.tsx) in_transaction_ = header.tsx->in_transaction;
  if (was_lost) {
    SelectCode();
    if (header.ip && !enabling) Resume(*header.ip);
    calls_lost_ = false;
    // The FUP or TIP.PGE that resolves an overflow may still follow.
    if (resolves) loss_state_.OnOverflow();
  } else if (state_ == State::kOn && header.ip) {
    // Where the kernel is traced as well, tracing never stops: mappings are looked at again here.
    SelectCode();
    Goto(*header.ip);
  }
  return true;
}

// Returns whether PSB+ repeats the state of the packets before it: if not, a packet was lost or
// misread. While tracing is off the mode may change without a packet.
template <FlowSink Sink>
bool FlowEngine<Sink>::AgreesWithFlow(const Header& header) {
  if (state_ == State::kOff && header.ip) return Mismatch("PSB+ says that tracing is on");
  if (state_ != State::kOn) return true;
  if (!header.ip && !header.overflow) return Mismatch("PSB+ says that tracing is off");
  if (header.mode && header.mode->Mode() != mode_.code())
    return Mismatch("PSB+ says that another mode is executed");
  return true;
}

// Whether the FUP in PSB+ speaks of tracing that only begins at a TIP.PGE behind it. The erratum
// BDM70 is one reason: the PSB+ stands inside the compound that turns tracing on. Virtual machines
// are another: switching the trace between host and guest writes such a PSB+ while tracing is off.
// Tracing begins where the TIP.PGE says, not where the PSB+ said.
template <FlowSink Sink>
bool FlowEngine<Sink>::StartsBeforeEnable(const Header& header) {
  return header.ip && !header.overflow && ahead_.FollowedByEnable(From(pos_));
}

}  // namespace flowback::pt
