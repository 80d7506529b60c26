// SPDX-License-Identifier: MIT
//
// TMA says: at the last TSC packet's time the crystal clock counter was `ctc`, and `fast` TSC ticks
// had passed since it had ticked. So the tick itself was at TSC - fast; every MTC after it stands
// for a whole number of ticks later. An MTC carries 8 bits of the counter, from bit mtc_shift on;
// TMA carries its lower 16 bits, so after it only 16 - mtc_shift bits of the first MTC's
// predecessor are known when the period is long.  [SDM "TSC/MTC Alignment (TMA) Packet", "Mini Time
// Counter (MTC) Packet"]
//
// A CYC packet counts core cycles. How long they took at least follows from the core's ratio, which
// CBR packets contain; how long at most does not, for a core may stand still. So cycles bound a
// time from below, counted from the packet before, and from above, counted back from the packet
// after it.  [SDM "Cycle Count (CYC) Packet", "Core:Bus Ratio (CBR) Packet"]
#include "decode/pt/time/clock.h"

#include <tuple>
#include <utility>
#include <variant>

namespace flowback::pt {
namespace {

// value * numerator / denominator, rounded down.
uint64_t Scaled(uint64_t value, uint64_t numerator, uint64_t denominator) {
  uint64_t product;
  if (!__builtin_mul_overflow(value, numerator, &product)) [[likely]]
    return product / denominator;  // several times as fast as the wide division
  const auto wide = static_cast<unsigned __int128>(value) * numerator;
  return static_cast<uint64_t>(wide / denominator);
}

}  // namespace

Clock::Clock(const PtConfig& config)
    : numerator_(config.tsc_ctc_numerator),
      denominator_(config.tsc_ctc_denominator),
      mtc_shift_(config.mtc_shift.value_or(0)),
      mtc_known_(config.mtc_shift.has_value() && config.tsc_ctc_numerator != 0 &&
                 config.tsc_ctc_denominator != 0),
      nominal_ratio_(config.nominal_ratio),
      reference_(config.tsc_reference) {}

uint64_t Clock::TicksOf(uint64_t crystal_ticks) const {
  return Scaled(crystal_ticks, numerator_, denominator_);
}

void Clock::SetBase(uint64_t lo, uint64_t hi) {
  cycle_base_tsc_ = tsc_;
  cycles_to_base_ = folded_cycles_ + std::exchange(cycles_, 0);
  ratio_to_base_ = std::exchange(highest_ratio_, known_ratio_);
  gap_since_base_ = false;
  folded_cycles_ = 0;
  base_lo_ = lo;
  base_hi_ = hi;
}

TimeMark Clock::MarkOf(const CycTerms& terms, uint64_t cycles_told) const {
  TimeMark mark;
  mark.kind = TimeMark::Kind::kCyc;
  mark.in_doubt = terms.in_doubt;
  mark.tsc = terms.tsc;
  const uint64_t cycles = cycles_told - terms.folded_cycles;
  if (cycles != 0 && terms.core_bus_ratio != 0 && terms.cycle_base_tsc != 0)
    mark.tsc = std::max(terms.tsc, terms.cycle_base_tsc + Likely(cycles, terms.core_bus_ratio));
  mark.lo = terms.base_lo + AtLeast(cycles_told, terms.highest_ratio);
  mark.cycles = cycles_told;
  mark.ratio = terms.highest_ratio;
  return mark;
}

TimeMark Clock::Mark(TimeMark::Kind kind) const {
  TimeMark mark = MarkOf(Terms(), cycles_told());
  if (kind == TimeMark::Kind::kCyc) return mark;
  mark.kind = kind;
  mark.hi = base_hi_;
  mark.cycles = cycles_to_base_;
  mark.ratio = ratio_to_base_;
  if (kind == TimeMark::Kind::kTsc) {
    mark.late = late_;
    mark.doubts = doubts_at_tsc_;
  }
  return mark;
}

// The whole turns of the MTC counter between the MTCs in doubt and a TSC packet; counts the time in
// between as a doubt where turns may lie there as well.
uint64_t Clock::LateAt(uint64_t tsc) {
  const uint64_t last = anchor_tsc_ + TicksOf(crystal_ticks_);
  if (tsc < last) return 0;
  const uint64_t turn = uint64_t{256} << mtc_shift_;
  // The MTC may stand for a moment that is a tick later than the packet's, as it is rounded.
  const uint64_t ticks = Scaled(tsc - anchor_tsc_ + 1, denominator_, numerator_);
  const uint64_t turns = (ticks - std::min(ticks, crystal_ticks_)) / turn;
  const uint64_t late = TicksOf(crystal_ticks_ + turns * turn) - TicksOf(crystal_ticks_);
  // The next MTC would have come before.
  constexpr uint64_t kRounding = 4;
  const bool missing = tsc > last + late + TicksOf(uint64_t{1} << mtc_shift_) + kRounding;
  if (unseen_turns_ || missing) ++doubts_;
  return late;
}

void Clock::On(const Tsc& packet) {
  // By the reference, so that it does not matter where in the stream decoding began.
  const uint64_t value = WholeTsc(packet.tsc, reference_ != 0 ? reference_ : tsc_);
  late_ = in_doubt_ ? LateAt(value) : 0;
  in_doubt_ = unseen_turns_ = false;
  doubts_at_tsc_ = std::exchange(doubts_, 0);
  tsc_ = value;
  SetBase(value, value);
  anchored_ = false;
  tma_due_ = true;
  if (first_tsc_ == 0) first_tsc_ = value;
}

void Clock::On(const Tma& packet) {
  if (!mtc_known_ || tsc_ == 0) return;
  if (!std::exchange(tma_due_, false)) return OnGap();  // its TSC packet is missing
  anchor_tsc_ = base_lo_ - packet.fast;
  const uint32_t period = uint32_t{1} << mtc_shift_;
  last_mtc_ = static_cast<uint8_t>(packet.ctc >> mtc_shift_);
  mtc_mask_ = static_cast<uint8_t>(0xffffu >> mtc_shift_);
  // The MTC grid's last line before the anchor lies this many ticks back.
  anchor_tsc_ -= TicksOf(packet.ctc & (period - 1));
  crystal_ticks_ = 0;
  anchored_ = true;
}

bool Clock::On(const Mtc& packet) {
  if (!mtc_known_ || !anchored_) return false;
  const uint8_t periods = static_cast<uint8_t>(packet.ctc - last_mtc_) & mtc_mask_;
  last_mtc_ = packet.ctc;
  mtc_mask_ = 0xff;
  crystal_ticks_ += uint64_t{periods} << mtc_shift_;
  const uint64_t value = anchor_tsc_ + TicksOf(crystal_ticks_);
  tsc_ = std::max(tsc(), value);
  if (in_doubt_ && (std::exchange(unseen_turns_, false) || periods != 1)) ++doubts_;
  // Anchor and grid line are each rounded to a whole tick.
  SetBase(std::max(base_lo_, value - 1), std::max(base_hi_, value + 2));
  return true;
}

void Clock::On(const Cbr& packet) {
  if (packet.ratio == known_ratio_) return;
  tsc_ = cycle_base_tsc_ = tsc();
  folded_cycles_ += std::exchange(cycles_, 0);
  // Cycles at an unknown ratio are of no use, and a CYC packet with their number need not come
  // before this packet. No cycles passed if this packet comes with a TSC packet.
  const bool with_tsc = folded_cycles_ == 0 && base_lo_ == base_hi_;
  if (!gap_since_base_ && (highest_ratio_ != 0 || with_tsc))
    highest_ratio_ = std::max(highest_ratio_, packet.ratio);
  core_bus_ratio_ = known_ratio_ = packet.ratio;
}

void Clock::On(const Cyc& packet) { OnCycles(std::min(packet.cycles, kMostCycles)); }

bool Clock::TellsTheSame(const Clock& other) const {
  const auto all = [](const Clock& c) {
    return std::tuple(c.tsc_, c.base_lo_, c.cycles_, c.cycle_base_tsc_, c.core_bus_ratio_,
                      c.known_ratio_, c.anchored_, c.tma_due_, c.anchored_ ? c.anchor_tsc_ : 0,
                      c.anchored_ ? c.crystal_ticks_ : 0, c.anchored_ ? c.last_mtc_ : 0,
                      c.anchored_ ? c.mtc_mask_ : 0);
  };
  return all(*this) == all(other);
}

std::optional<uint64_t> TimeAfter(Bytes rest, Clock clock, PebsState pebs, size_t limit) {
  rest = rest.first(std::min(rest.size(), limit));
  const uint64_t now = clock.lo();
  uint64_t cycles = 0;
  const auto until = [&](TimeMark::Kind kind) {
    const TimeMark mark = clock.Mark(kind);
    const uint64_t since = clock.AtLeast(cycles, mark.ratio);
    return std::max(now, mark.hi - std::min(mark.hi, since));
  };
  Packet packet;
  while (!rest.empty()) {
    const ReadResult size = ReadPacket(rest, pebs, packet);
    if (!size) return std::nullopt;
    rest = rest.subspan(*size);
    if (const auto* tsc = std::get_if<Tsc>(&packet)) {
      clock.On(*tsc);
      return until(TimeMark::Kind::kTsc);
    }
    if (const auto* mtc = std::get_if<Mtc>(&packet)) {
      if (clock.On(*mtc) && !clock.in_doubt()) return until(TimeMark::Kind::kMtc);
    } else if (const auto* cyc = std::get_if<Cyc>(&packet)) {
      clock.On(*cyc);
      cycles += std::min(cyc->cycles, Clock::kMostCycles);
    } else if (const auto* cbr = std::get_if<Cbr>(&packet)) {
      clock.On(*cbr);
    } else if (std::holds_alternative<Ovf>(packet)) {
      clock.OnGap();
    }
  }
  return std::nullopt;
}

}  // namespace flowback::pt
