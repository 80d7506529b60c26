// SPDX-License-Identifier: MIT
#include "replay/writers/export/stack_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <ranges>
#include <string_view>

namespace flowback {
namespace {

char PredictionLetter(BranchFacts::Prediction prediction) {
  switch (prediction) {
    case BranchFacts::Prediction::kNotTold:
      return '-';
    case BranchFacts::Prediction::kRight:
      return 'P';
    case BranchFacts::Prediction::kWrong:
      return 'M';
  }
  return '-';
}

char* WriteWords(std::string_view words, char* at) {
  std::memcpy(at, words.data(), words.size());
  return at + words.size();
}

constexpr size_t kMostDigits = 16;

char* WriteHex(uint64_t value, char* at) {
  return std::to_chars(at, at + kMostDigits, value, 16).ptr;
}

// Most counts have one digit.
char* WriteCycles(uint32_t cycles, char* at) {
  if (cycles >= 10) return std::to_chars(at, at + 10, cycles).ptr;
  *at = static_cast<char>('0' + cycles);
  return at + 1;
}

}  // namespace

inline const StackText::Ends& StackText::EndsOf(const TakenBranch& entry) {
  const bool numbered = entry.number != TakenBranch::kNoNumber;
  if (numbered && entry.number >= ends_.size()) ends_.resize(std::bit_ceil(entry.number + 1ul));
  Ends& ends = numbered ? ends_[entry.number] : unnumbered_;
  if (numbered && ends.size != 0) return ends;
  char* at = WriteWords(" 0x", ends.text);
  at = WriteWords("/0x", WriteHex(entry.from, at));
  at = WriteWords("/", WriteHex(entry.to, at));
  ends.size = static_cast<uint8_t>(at - ends.text);
  return ends;
}

// " 0xFROM/0xTO/P/-/-/CYCLES "
inline char* StackText::Write(const TakenBranch& entry, char* at) {
  const Ends& ends = EndsOf(entry);
  std::memcpy(at, ends.text, kMostEnds);  // of one size, so that it takes a few instructions
  at += ends.size;
  *at++ = PredictionLetter(entry.facts.prediction);
  at = WriteCycles(entry.facts.cycles, WriteWords("/-/-/", at));
  *at++ = ' ';
  return at;
}

void StackText::Append(std::span<const TakenBranch> oldest_first, std::string& out) {
  constexpr size_t kMostOfEntry = 80;
  const size_t before = out.size();
  const size_t most = before + kMostDigits + 2 + oldest_first.size() * kMostOfEntry;
  if (out.capacity() < most) out.reserve(std::max(most, 2 * out.capacity()));
  out.resize_and_overwrite(most, [&](char* text, size_t) {
    char digits[kMostDigits];
    const auto count = static_cast<size_t>(WriteHex(oldest_first.back().to, digits) - digits);
    char* at = text + before;
    std::memset(at, ' ', kMostDigits);
    at = WriteWords({digits, count}, at + (kMostDigits - count));
    *at++ = ' ';
    for (const TakenBranch& entry : oldest_first | std::views::reverse) at = Write(entry, at);
    *at++ = '\n';
    return static_cast<size_t>(at - text);
  });
}

}  // namespace flowback
