// SPDX-License-Identifier: MIT
// Programs get the same addresses every time.
#pragma once

#include <sys/personality.h>

namespace flowback::record {

// What a recording by instruction clock needs of the system.
inline constexpr const char* kRandomAddresses =
    "the program's addresses are chosen at random, which this system does not let be turned off: "
    "the next recording will have others";

// Turns address space randomisation off for what the calling thread starts while this lives.
class FixedAddresses {
 public:
  // Does nothing when `wanted` is false.
  explicit FixedAddresses(bool wanted) : before_(personality(kQuery)) {
    in_force_ = wanted && before_ >= 0 &&
                personality(static_cast<unsigned long>(before_) | ADDR_NO_RANDOMIZE) >= 0;
  }
  ~FixedAddresses() {
    if (in_force_) personality(static_cast<unsigned long>(before_));
  }
  FixedAddresses(const FixedAddresses&) = delete;
  FixedAddresses& operator=(const FixedAddresses&) = delete;

  // False when the system forbids it, as containers may.
  bool in_force() const { return in_force_; }

 private:
  static constexpr unsigned long kQuery = 0xffffffff;

  int before_;
  bool in_force_ = false;
};

}  // namespace flowback::record
