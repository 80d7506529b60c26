// SPDX-License-Identifier: MIT
// Damages a stream's bytes, and says what it did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/decode/decoder.h"
#include "tests/judge/judge.h"
#include "tests/judge/true_flow.h"
#include "tests/support/random.h"

namespace flowback::judge {

struct DamagedBytes {
  std::vector<uint8_t> bytes;
  std::vector<StreamGap> gaps;
  Damage damage;
  std::string what;
};

// The kinds: 0 0 bytes taken away, marked as a gap; 1 packets taken away for an OVF with the FUP
// that resolves it; 2 an OVF between two packets; 3 bytes taken away in silence; 4 a bit flipped; 5
// a byte changed; 6 bytes doubled.
constexpr unsigned kByteDamages = 7;

// At `offset` or behind it: where hardware might have written an OVF of its own, not inside a PSB+
// and not ahead of an address that belongs to another packet. `size`, the stream's, where none
// follows.
uint64_t PlaceForOverflow(const std::vector<TrueFlow::Packet>& packets, uint64_t offset,
                          uint64_t size);

DamagedBytes DamageBytes(const TrueFlow& truth, Bytes bytes, unsigned kind,
                         testing::Random& random);

}  // namespace flowback::judge
