// SPDX-License-Identifier: MIT
// The time-stamp counter as the timing packets tell it.
#pragma once

#include <cstdint>

#include "decode/pt/packets/packet.h"
#include "flowback/model/machine.h"

namespace flowback::pt {

// Follows TSC, TMA, MTC, CYC and CBR. The value never goes back between two TSC packets.
class Clock {
 public:
  explicit Clock(const PtConfig& config);

  // Latest known value; 0 before the first TSC packet.
  uint64_t tsc() const { return tsc_; }
  uint64_t first_tsc() const { return first_tsc_; }

  void On(const Tsc& packet);
  void On(const Tma& packet);
  void On(const Mtc& packet);
  void On(const Cbr& packet) { core_bus_ratio_ = packet.ratio; }
  void On(const Cyc& packet) { OnCycles(packet.cycles); }
  void OnCycles(uint64_t cycles);
  // Whatever it is.
  void OnAny(const Packet& packet) {
    std::visit(
        [this](const auto& p) {
          if constexpr (requires(Clock& clock) { clock.On(p); }) On(p);
        },
        packet);
  }

 private:
  // Crystal clock ticks to TSC ticks; 0 when the ratio is not known.
  uint64_t TicksOf(uint64_t crystal_ticks) const;

  uint32_t numerator_;
  uint32_t denominator_;
  unsigned mtc_shift_;
  bool mtc_known_;
  uint32_t nominal_ratio_;

  uint64_t tsc_ = 0;
  uint64_t first_tsc_ = 0;
  uint64_t anchor_tsc_ = 0;      // TSC at the last TMA, or at the MTC that began the count
  uint64_t crystal_ticks_ = 0;   // since the anchor
  uint64_t cycles_ = 0;          // since the last packet that told the time itself
  uint64_t cycle_base_tsc_ = 0;  // TSC at that packet
  uint8_t last_mtc_ = 0;
  uint8_t mtc_mask_ = 0xff;  // bits of `last_mtc_` that are known
  uint8_t core_bus_ratio_ = 0;
  bool anchored_ = false;
};

}  // namespace flowback::pt
