// SPDX-License-Identifier: MIT
//
// TMA says: at the last TSC packet's time the crystal clock counter was `ctc`, and `fast` TSC ticks
// had passed since it had ticked. So the tick itself was at TSC - fast; every MTC after it stands
// for a whole number of ticks later. An MTC carries 8 bits of the counter, from bit mtc_shift on;
// TMA carries its lower 16 bits, so after it only 16 - mtc_shift bits of the first MTC's
// predecessor are known when the period is long.  [SDM "TSC/MTC Alignment (TMA) Packet", "Mini Time
// Counter (MTC) Packet"]
#include "decode/pt/clock.h"

namespace flowback::pt {

Clock::Clock(const PtConfig& config)
    : numerator_(config.tsc_ctc_numerator),
      denominator_(config.tsc_ctc_denominator),
      mtc_shift_(config.mtc_shift.value_or(0)),
      mtc_known_(config.mtc_shift.has_value() && config.tsc_ctc_numerator != 0 &&
                 config.tsc_ctc_denominator != 0),
      nominal_ratio_(config.nominal_ratio) {}

uint64_t Clock::TicksOf(uint64_t crystal_ticks) const {
  const auto wide = static_cast<unsigned __int128>(crystal_ticks) * numerator_;
  return static_cast<uint64_t>(wide / denominator_);
}

void Clock::On(const Tsc& packet) {
  constexpr uint64_t kMask = (uint64_t{1} << 56) - 1;
  // The packet holds the lower 56 bits; a smaller value than before means that they wrapped.
  uint64_t value = (tsc_ & ~kMask) | packet.tsc;
  if (tsc_ != 0 && value < tsc_ && tsc_ - value > kMask / 2) value += kMask + 1;
  tsc_ = cycle_base_tsc_ = value;
  cycles_ = 0;
  anchored_ = false;
  if (first_tsc_ == 0) first_tsc_ = value;
}

void Clock::On(const Tma& packet) {
  if (!mtc_known_ || tsc_ == 0) return;
  anchor_tsc_ = tsc_ - packet.fast;
  const uint32_t period = uint32_t{1} << mtc_shift_;
  last_mtc_ = static_cast<uint8_t>(packet.ctc >> mtc_shift_);
  mtc_mask_ = static_cast<uint8_t>(0xffffu >> mtc_shift_);
  // The MTC grid's last line before the anchor lies this many ticks back.
  anchor_tsc_ -= TicksOf(packet.ctc & (period - 1));
  crystal_ticks_ = 0;
  anchored_ = true;
}

void Clock::On(const Mtc& packet) {
  if (!mtc_known_ || !anchored_) return;
  const uint8_t periods = static_cast<uint8_t>(packet.ctc - last_mtc_) & mtc_mask_;
  last_mtc_ = packet.ctc;
  mtc_mask_ = 0xff;
  crystal_ticks_ += uint64_t{periods} << mtc_shift_;
  const uint64_t value = anchor_tsc_ + TicksOf(crystal_ticks_);
  if (value > tsc_) tsc_ = value;
  cycle_base_tsc_ = tsc_;
  cycles_ = 0;
}

void Clock::OnCycles(uint64_t cycles) {
  cycles_ += cycles;
  if (core_bus_ratio_ == 0 || nominal_ratio_ == 0 || cycle_base_tsc_ == 0) return;
  const uint64_t value = cycle_base_tsc_ + cycles_ * nominal_ratio_ / core_bus_ratio_;
  if (value > tsc_) tsc_ = value;
}

}  // namespace flowback::pt
