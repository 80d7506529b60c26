// SPDX-License-Identifier: MIT
// The time-stamp counter, computed from the timing packets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/time/reciprocal.h"
#include "flowback/model/machine.h"

namespace flowback::pt {

// The proven bounds of the moment that a timing packet stands for.
struct TimeMark {
  enum class Kind : uint8_t { kTsc, kMtc, kCyc };
  Kind kind{};
  // The MTCs since an overflow or a sleep might be some turns of their counter too early; the next
  // TSC packet shows it.
  bool in_doubt = false;
  uint64_t tsc = 0;  // most likely value
  uint64_t lo = 0;   // not before
  uint64_t hi = 0;   // not after; kCyc: not known, 0
  // Core cycles since the last TSC or MTC packet before this one, and the highest core to bus ratio
  // in between (0: not known).
  uint64_t cycles = 0;
  uint8_t ratio = 0;
  // kTsc: by how much the MTCs in doubt before it were too early at most. At `doubts` places the
  // counter may have turned over unseen, the first of them ahead of all these MTCs.
  uint64_t late = 0;
  uint32_t doubts = 0;
};

// Follows TSC, TMA, MTC, CYC and CBR. The value never goes back between two TSC packets.
class Clock {
 public:
  // More in one CYC packet, hours, is damage.
  static constexpr uint64_t kMostCycles = uint64_t{1} << 44;

  explicit Clock(const PtConfig& config);

  // Latest most likely value; 0 before the first TSC packet.
  [[gnu::always_inline]] uint64_t tsc() const {
    return cycles_ == 0 || core_bus_ratio_ == 0 ? tsc_ : std::max(tsc_, AtCycles());
  }
  // Whether that is known.
  bool HasTime() const { return tsc_ != 0; }
  uint64_t first_tsc() const { return first_tsc_; }
  // Now is not before this; 0 when nothing is known.
  uint64_t lo() const { return base_lo_ + AtLeast(folded_cycles_ + cycles_, highest_ratio_); }
  // Returns the moment that the last timing packet proved. The caller knows its `kind`.
  TimeMark Mark(TimeMark::Kind kind) const;
  // What a CYC packet's mark follows from, beside its cycles: the same until a packet of another
  // kind comes.
  struct CycTerms {
    uint64_t tsc = 0;
    uint64_t cycle_base_tsc = 0;
    uint64_t base_lo = 0;
    uint64_t folded_cycles = 0;
    uint8_t core_bus_ratio = 0;
    uint8_t highest_ratio = 0;
    bool in_doubt = false;
    friend bool operator==(const CycTerms&, const CycTerms&) = default;
  };
  CycTerms Terms() const {
    return {tsc_,           cycle_base_tsc_, base_lo_, folded_cycles_, core_bus_ratio_,
            highest_ratio_, in_doubt_};
  }
  // As TimeMark has it.
  uint64_t cycles_told() const { return folded_cycles_ + cycles_; }
  // Returns the mark of a CYC packet. Any clock with the same rates returns the same.
  TimeMark MarkOf(const CycTerms& terms, uint64_t cycles_told) const;

  void On(const Tsc& packet);
  void On(const Tma& packet);
  // False: says nothing, as no TMA came before it or the recording lacks the ratios.
  bool On(const Mtc& packet);
  void On(const Cbr& packet);
  void On(const Cyc& packet);
  void OnCycles(uint64_t cycles) { cycles_ += cycles; }
  // Packets may be missing here: MTCs may have been lost, by whole turns of their counter, and
  // ratios from CBR packets.
  void OnGap() {
    gap_since_base_ = true;
    known_ratio_ = highest_ratio_ = 0;
    tma_due_ = false;
    unseen_turns_ = true;
    in_doubt_ = anchored_;
  }
  // The processor may have sent no MTCs for a while since the last one, although all packets are
  // there: tracing was off, or the next TSC packet comes because the clocks had stopped. Where they
  // are in doubt already, the turns that the next TSC packet shows may have been here.
  void OnPause() { unseen_turns_ = true; }
  bool in_doubt() const { return in_doubt_; }
  // Whether tsc() will be the same after the same packets. Bounds may differ.
  bool TellsTheSame(const Clock& other) const;

  // Ticks that `cycles` core cycles take at least when the core's ratio is not above `ratio`. Both
  // ratios are rounded to whole numbers.
  [[gnu::always_inline]] uint64_t AtLeast(uint64_t cycles, uint8_t ratio) const {
    if (ratio == 0 || nominal_ratio_ == 0) return 0;
    return kPer[2 * ratio + 1].Scale(cycles, 2 * uint64_t{nominal_ratio_} - 1);
  }
  // What AtLeast divides by, and what it multiplies with before. REQUIRES: both ratios are known.
  const Reciprocal& LeastPer(uint8_t ratio) const { return kPer[2 * ratio + 1]; }
  uint64_t LeastFactor() const { return 2 * uint64_t{nominal_ratio_} - 1; }
  bool KnowsNominal() const { return nominal_ratio_ != 0; }
  // The most likely number.
  [[gnu::always_inline]] uint64_t Likely(uint64_t cycles, uint8_t ratio) const {
    if (ratio == 0 || nominal_ratio_ == 0) return 0;
    return kPer[ratio].Scale(cycles, nominal_ratio_);
  }
  // Calls `use` with everything that a clock, or a constant one, learned from packets, without the
  // recording's rates, which the caller knows.
  template <class Self, class Use>
  static void Parts(Self& clock, Use use) {
    auto& [numerator, denominator, mtc_shift, mtc_known, nominal_ratio, reference, tsc, first_tsc,
           anchor_tsc, crystal_ticks, cycles, cycle_base_tsc, last_mtc, mtc_mask, core_bus_ratio,
           anchored, tma_due, base_lo, base_hi, folded_cycles, cycles_to_base, highest_ratio,
           ratio_to_base, gap_since_base, known_ratio, in_doubt, unseen_turns, doubts,
           doubts_at_tsc, late] = clock;
    use(tsc, first_tsc, anchor_tsc, crystal_ticks, cycles, cycle_base_tsc, last_mtc, mtc_mask,
        core_bus_ratio, anchored, tma_due, base_lo, base_hi, folded_cycles, cycles_to_base,
        highest_ratio, ratio_to_base, gap_since_base, known_ratio, in_doubt, unseen_turns, doubts,
        doubts_at_tsc, late);
  }
  // Takes a packet of any kind.
  void OnAny(const Packet& packet) {
    std::visit(
        [this](const auto& p) {
          if constexpr (requires(Clock& clock) { clock.On(p); }) On(p);
        },
        packet);
  }

 private:
  // Reciprocals of all divisors of ratios; [0] is not used.
  static constexpr std::array<Reciprocal, 512> kPer = [] {
    std::array<Reciprocal, 512> per;
    for (size_t i = 1; i < per.size(); ++i) per[i] = Reciprocal(i);
    return per;
  }();

  uint64_t TicksOf(uint64_t crystal_ticks) const;
  uint64_t AtCycles() const {
    return cycle_base_tsc_ == 0 ? 0 : cycle_base_tsc_ + Likely(cycles_, core_bus_ratio_);
  }
  void SetBase(uint64_t lo, uint64_t hi);
  uint64_t LateAt(uint64_t tsc);

  uint32_t numerator_;
  uint32_t denominator_;
  unsigned mtc_shift_;
  bool mtc_known_;
  uint32_t nominal_ratio_;
  uint64_t reference_;  // PtConfig::tsc_reference

  uint64_t tsc_ = 0;
  uint64_t first_tsc_ = 0;
  uint64_t anchor_tsc_ = 0;      // TSC at the last TMA, or at the MTC that began the count
  uint64_t crystal_ticks_ = 0;   // since the anchor
  uint64_t cycles_ = 0;          // since the last packet with the time or a new ratio
  uint64_t cycle_base_tsc_ = 0;  // TSC at that packet
  uint8_t last_mtc_ = 0;
  uint8_t mtc_mask_ = 0xff;  // bits of `last_mtc_` that are known
  uint8_t core_bus_ratio_ = 0;
  bool anchored_ = false;
  bool tma_due_ = false;  // a TSC packet came, and no TMA since

  // The last TSC or MTC packet, and what came after it.
  uint64_t base_lo_ = 0;
  uint64_t base_hi_ = 0;
  uint64_t folded_cycles_ = 0;   // up to the last CBR packet
  uint64_t cycles_to_base_ = 0;  // from the one before it
  uint8_t highest_ratio_ = 0;    // 0: not known
  uint8_t ratio_to_base_ = 0;
  bool gap_since_base_ = false;
  uint8_t known_ratio_ = 0;    // core_bus_ratio_; 0 while no CBR packet came since a gap
  bool in_doubt_ = false;      // the MTCs since a gap
  bool unseen_turns_ = false;  // the counter may have turned over since the last MTC
  uint32_t doubts_ = 0;        // MTCs since the gap before which it may have
  uint32_t doubts_at_tsc_ = 0;
  uint64_t late_ = 0;
};

// A time that is not before anything that `rest` begins with: from the first packet in it with the
// time. Empty: the first `limit` bytes have no such packet. `clock` is as it is before `rest`.
std::optional<uint64_t> TimeAfter(Bytes rest, Clock clock, PebsState pebs,
                                  size_t limit = size_t{64} << 10);

}  // namespace flowback::pt
