// SPDX-License-Identifier: MIT
// Outcomes of a TNT packet that belong behind an indirect branch whose TIP is still to come.
//
// A processor that defers TIPs may put outcomes of later branches into the TNT packet that it
// writes before the TIP.  [SDM "Deferred TIPs"]
//
//   flow      jne taken    jmp *rax -> f    je not taken
//   packets   TNT tn                        TIP f             n waits here until the TIP has come
#pragma once

#include <cstdint>

namespace flowback::pt {

class HeldOutcomes {
 public:
  // The oldest in the highest bit.
  struct Outcomes {
    uint64_t bits = 0;
    unsigned count = 0;
  };

  bool empty() const { return held_.count == 0; }
  // REQUIRES: none are held.
  void Hold(uint64_t bits, unsigned count) { held_ = {bits, count}; }
  // The TIP has come: a later one may be deferred, too. REQUIRES: some are held.
  Outcomes Take() {
    deferred_ = true;
    const Outcomes taken = held_;
    held_.count = 0;
    return taken;
  }
  // It won't come.
  void Drop() { held_.count = 0; }

  // Whether a TIP has come behind outcomes of later branches since the stream's last PSB.
  bool deferred() const { return deferred_; }
  // At a PSB nothing is known of that, as for a decoder that begins there.
  void OnPsb() { deferred_ = false; }

  // All that it consists of, for a state to be written and read.
  template <class T, class Use>
  static void Parts(T& of, Use use) {
    auto& [held, deferred] = of;
    use(held.bits, held.count, deferred);
  }

 private:
  Outcomes held_;
  bool deferred_ = false;
};

}  // namespace flowback::pt
