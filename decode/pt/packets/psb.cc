// SPDX-License-Identifier: MIT
// Finding sync points at memory speed.
//
// The pattern is 16 bytes long and all of its bytes are 02 or 82, which differ in one bit. So one
// look at four bytes in every thirteen is enough: wherever the pattern starts, one of those looks
// lies inside it completely and sees 02 02 02 02 once that bit is masked. Only around such a place
// are bytes compared one by one.
#include "decode/pt/packets/psb.h"

#include <algorithm>

namespace flowback::pt {
namespace {

constexpr size_t kLook = 4;
constexpr size_t kStride = Psb::kPattern.size() - kLook + 1;

bool MayBeInside(const uint8_t* at) {
  uint32_t word;
  std::memcpy(&word, at, kLook);
  return (word & 0x7f7f7f7f) == 0x02020202;
}

bool IsPsb(Bytes bytes, size_t offset) {
  return bytes.size() - offset >= Psb::kPattern.size() &&
         std::memcmp(bytes.data() + offset, Psb::kPattern.data(), Psb::kPattern.size()) == 0;
}

// A packet before the PSB may end in 02 82; the pattern is the last 16 bytes of such a run.
size_t LastOfRun(Bytes bytes, size_t start) {
  const size_t size = Psb::kPattern.size();
  while (bytes.size() - start >= size + 2 && bytes[start + size] == Psb::kPattern[0] &&
         bytes[start + size + 1] == Psb::kPattern[1])
    start += 2;
  return start;
}

}  // namespace

size_t FindPsb(Bytes bytes, size_t from) {
  for (size_t look = from; look < bytes.size() && bytes.size() - look >= kLook; look += kStride) {
    if (!MayBeInside(bytes.data() + look)) continue;
    for (size_t start = std::max(from, look - std::min(look, kStride - 1)); start <= look; ++start)
      if (IsPsb(bytes, start)) return LastOfRun(bytes, start);
  }
  return bytes.size();
}

}  // namespace flowback::pt
