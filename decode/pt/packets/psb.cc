// SPDX-License-Identifier: MIT
// Finding sync points at memory speed.
//
// The pattern is 16 bytes long, so wherever it starts it covers one of any two words eight bytes
// apart completely. That word is 02 82 02 82 .. or, when the pattern starts at the other parity,
// 82 02 82 02 ..: two comparisons for each eight bytes, and a close look only around a hit.
#include "decode/pt/packets/psb.h"

#include <algorithm>

namespace flowback::pt {
namespace {

constexpr uint64_t kEven = 0x8202820282028202;
constexpr uint64_t kOdd = 0x0282028202820282;
constexpr size_t kWord = 8;
constexpr size_t kStride = 8 * kWord;

bool IsHit(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, kWord);
  return word == kEven || word == kOdd;
}

// Whether any word of the kStride bytes at `at` is part of a pattern. Written without branches so
// that compilers use vector instructions.
bool AnyHit(const uint8_t* at) {
  uint64_t hits = 0;
  for (size_t i = 0; i < kStride; i += kWord) {
    uint64_t word;
    std::memcpy(&word, at + i, kWord);
    hits |= static_cast<uint64_t>(word == kEven) | static_cast<uint64_t>(word == kOdd);
  }
  return hits != 0;
}

bool IsPsb(Bytes bytes, size_t offset) {
  return bytes.size() - offset >= Psb::kPattern.size() &&
         std::memcmp(bytes.data() + offset, Psb::kPattern.data(), Psb::kPattern.size()) == 0;
}

}  // namespace

size_t FindPsb(Bytes bytes, size_t from) {
  if (from >= bytes.size()) return bytes.size();
  for (size_t word = from; word + kWord <= bytes.size();) {
    if (word + kStride <= bytes.size() && !AnyHit(bytes.data() + word)) {
      word += kStride;
      continue;
    }
    if (IsHit(bytes.data() + word)) {
      for (size_t start = std::max(from, word - std::min(word, kWord - 1)); start <= word; ++start)
        if (IsPsb(bytes, start)) return start;
    }
    word += kWord;
  }
  return bytes.size();
}

}  // namespace flowback::pt
