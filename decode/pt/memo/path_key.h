// SPDX-License-Identifier: MIT
// Keys of paths in the memo of walks, and the answers stored for them: see path_memo.h.
//
// A path's key is the node where it begins and the packets that it takes. There are two kinds of
// packets: a TIP, a short TNT or both (TipTnt), and two short TNTs, the first of them full
// (TntPair). Each kind has a table, and in both tables the slots have 32 bytes, with a key whose
// lower bits hold the answer for such packets. One comparison, key ^ slot, gives the answer alone
// if the slot is the key's, else a number too big for a path.
//
//            63                 32 31             16 15              0
//   TipTnt   |       seed         |     answer      |  effect's number |   beside it: the packets
//   TntPair  |       seed         | 2nd TNT 1st TNT |     answer       |   beside it: the effect's
//                                                                          number
//            15 |  14 13  |  12  |   11   | 10               0
//   answer   .. | behind  | none | effect |    instructions     |
//
//   seed          the node's number in another writing, so that the places of neighbours differ
//   instructions  how many the path has; a path has one at least
//   effect        the path does something to the return stack: the table of effects says what
//   none          there is no path: the lowest bits say why (Answer::Never, Answer::LookBehindCall)
//   behind        how many calls on the return stack are part of the key, beside the node and the
//                 packets: paths that return to different callers lie in different places
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "decode/flow/block_lists.h"
#include "decode/pt/memo/effect_table.h"
#include "flowback/base/flow_digest.h"

namespace flowback::pt {

// Branch outcomes, the oldest in the highest bit, below a one that marks their number.
using Outcomes = uint32_t;
constexpr unsigned OutcomeCount(Outcomes outcomes) {
  return 31 - static_cast<unsigned>(__builtin_clz(outcomes));
}

// A node's part of a key: its number times an odd factor, which can be undone.
class Seed {
 public:
  Seed() = default;
  static constexpr Seed Of(uint32_t node) { return Seed(node * kFactor); }
  constexpr uint32_t node() const { return value_ * kInverse; }
  constexpr uint32_t value() const { return value_; }

 private:
  static constexpr uint32_t kFactor = static_cast<uint32_t>(FlowDigest::kFactor);
  static constexpr uint32_t kInverse = [] {
    uint32_t inverse = kFactor;  // right in the lowest three bits; each round doubles them
    for (int i = 0; i < 4; ++i) inverse *= 2 - kFactor * inverse;
    return inverse;
  }();
  explicit constexpr Seed(uint32_t value) : value_(value) {}

  uint32_t value_ = 0;
};

// What the memo knows about packets at a node: a path, the reason why no path exists, or nothing.
class Answer {
 public:
  static constexpr uint64_t kMostInstructions = (1 << 11) - 1;
  static constexpr unsigned kMostBehind = 2;  // calls in a key

  constexpr Answer() = default;
  static constexpr Answer Path(uint64_t instructions, bool effect) {
    return Answer(instructions | (effect ? kEffect : 0));
  }
  // It depends on the newest call on the return stack that is no part of the key yet.
  static constexpr Answer LookBehindCall() { return Answer(kNone + 1); }
  // The packets contradict the code, or lead too far: no path exists for any stack.
  static constexpr Answer Never() { return Answer(kNone + 2); }

  constexpr bool is_path() const { return bits_ - 1 < kNone - 1; }
  // REQUIRED of these three: it is a path.
  constexpr bool has_effect() const { return bits_ >= kEffect; }
  constexpr uint64_t instructions() const { return bits_ & kMostInstructions; }
  uint64_t power() const { return kPowers[instructions()]; }  // FlowDigest::Power(instructions())

  friend constexpr bool operator==(Answer, Answer) = default;

 private:
  template <class Packets>
  friend class PathKey;
  template <class Packets>
  friend struct Path;

  static constexpr uint64_t kEffect = 1 << 11;
  static constexpr uint64_t kNone = 1 << 12;
  static constexpr uint64_t kBehindCall = 1 << 13;
  static constexpr unsigned kBits = 16;
  static_assert(kMostBehind * kBehindCall + 2 * kNone <= uint64_t{1} << kBits);
  static const std::array<uint64_t, kMostInstructions + 1> kPowers;

  explicit constexpr Answer(uint64_t bits) : bits_(bits) {}

  uint64_t bits_ = 0;
};

// A TIP packet, a short TNT packet, or a TIP and the TNT behind it, in a word that no others share.
// Only of targets that are sign-extended from 48 bits: see HasWord.
class TipTnt {
 public:
  static constexpr unsigned kUsualBlocks = 8;  // a path has no more, mostly
  static constexpr unsigned kAnswerShift = 16;

  TipTnt() = default;
  static constexpr TipTnt Tnt(uint8_t tnt) { return TipTnt(uint64_t{tnt} << kTntShift); }
  static constexpr TipTnt Tip(uint64_t ip) { return TipTnt(ip << kIpShift | kTip); }
  static constexpr bool HasWord(uint64_t ip) {
    return ip == static_cast<uint64_t>(static_cast<int64_t>(ip << kIpShift) >> kIpShift);
  }
  // Adds a short TNT packet behind it. REQUIRES: it has no TNT packet.
  constexpr TipTnt With(uint8_t tnt) const { return TipTnt(word_ | uint64_t{tnt} << kTntShift); }
  constexpr TipTnt WithoutTnt() const { return TipTnt(word_ & ~(uint64_t{0xff} << kTntShift)); }

  constexpr uint64_t word() const { return word_; }
  bool tip() const { return (word_ & kTip) != 0; }
  uint8_t tnt() const { return static_cast<uint8_t>(word_ >> kTntShift); }  // 0: none
  uint64_t ip() const { return static_cast<uint64_t>(static_cast<int64_t>(word_) >> kIpShift); }
  Outcomes outcomes() const { return tnt() != 0 ? tnt() >> 1 : 1; }
  int count() const { return int{tip()} + int{tnt() != 0}; }
  uint64_t key_bits() const { return 0; }

 private:
  static constexpr uint64_t kTip = 1;
  static constexpr unsigned kTntShift = 8;
  static constexpr unsigned kIpShift = 16;
  explicit constexpr TipTnt(uint64_t word) : word_(word) {}

  uint64_t word_ = 0;
};

// Two short TNT packets, the first of them full, as they lie in memory, little-endian.
class TntPair {
 public:
  static constexpr unsigned kUsualBlocks = 16;
  static constexpr unsigned kAnswerShift = 0;

  explicit constexpr TntPair(uint16_t word) : word_(word) {}
  constexpr uint16_t word() const { return word_; }
  static constexpr bool tip() { return false; }
  static constexpr uint64_t ip() { return 0; }
  Outcomes outcomes() const {
    const Outcomes second = static_cast<Outcomes>(word_ >> 9);
    const unsigned count = OutcomeCount(second);
    return (word_ >> 1 & 0x7fu) << count | (second ^ 1u << count);
  }
  static constexpr int count() { return 2; }
  uint64_t key_bits() const { return uint64_t{word_} << 16; }

 private:
  uint16_t word_;
};

// What a path is found by. It begins as the node and the packets alone.
template <class Packets>
class PathKey {
 public:
  // The seed comes in last, for that is what a look-up waits for.
  PathKey(Seed seed, Packets packets)
      : packets_(packets),
        bits_(uint64_t{seed.value()} << 32 | packets.key_bits()),
        place_(seed.value() ^ static_cast<uint32_t>(packets.word() * FlowDigest::kFactor >> 32)) {}
  // Adds one more call to the key; Answer::kMostBehind calls at most.
  void LookBehind(uint32_t call) {
    bits_ += Answer::kBehindCall << Packets::kAnswerShift;
    place_ = (place_ + call + 1) * kCallFactor;
  }

  Packets packets() const { return packets_; }
  uint64_t bits() const { return bits_; }
  // All of it mixed; some of the bits are the place in the table.
  uint32_t place() const { return place_; }
  // A slot's bits with an answer.
  uint64_t With(Answer answer) const { return bits_ ^ answer.bits_ << Packets::kAnswerShift; }

 private:
  static constexpr uint32_t kCallFactor = 0xd192ed03;

  Packets packets_;
  uint64_t bits_;
  uint32_t place_;
};

// A slot of a table: a path, or the reason why no path exists. Half a line of the cache.
template <class Packets>
struct alignas(32) Path {
  static constexpr bool kPacketsBeside = std::is_same_v<Packets, TipTnt>;
  static constexpr unsigned kBlockCountShift = 8 * sizeof(EffectTable::Number);
  static constexpr unsigned kNoteShift = kBlockCountShift + 16;

  uint64_t key = 0;
  uint64_t beside = 0;  // the packets; or the effect's number, the count of blocks, note()
  uint64_t hash = 0;    // digest of the path's instructions, Answer::instructions() of them
  Seed next;            // where it leads
  union {
    uint32_t uses = 0;             // that are in no sum yet
    flow::BlockLists::Ref blocks;  // where the memo keeps MemoContent::kBlocks
  };

  Answer AnswerTo(const PathKey<Packets>& asked) const {
    const Answer answer((key ^ asked.bits()) >> Packets::kAnswerShift);
    if constexpr (kPacketsBeside) return beside == asked.packets().word() ? answer : Answer();
    return answer;
  }
  // REQUIRES: it is one.
  Answer answer() const { return Answer(key >> Packets::kAnswerShift & (2 * Answer::kNone - 1)); }
  EffectTable::Number effect() const {
    return static_cast<EffectTable::Number>(kPacketsBeside ? key : beside);
  }
  // Where the memo keeps MemoContent::kUsesAndBlocks, and the packets are not beside.
  unsigned block_count() const { return static_cast<uint16_t>(beside >> kBlockCountShift); }
  void set_block_count(unsigned count) {
    if constexpr (!kPacketsBeside) beside |= uint64_t{count} << kBlockCountShift;
  }
  // The number of what it does to the call stack; 0: nothing, or it is not asked for. REQUIRES: the
  // packets are not beside.
  uint32_t note() const { return static_cast<uint32_t>(beside >> kNoteShift); }
  // REQUIRES: once only.
  void set_note(uint32_t number) { beside |= uint64_t{number} << kNoteShift; }
  void set_effect(EffectTable::Number number) { (kPacketsBeside ? key : beside) |= number; }
};
static_assert(sizeof(Path<TipTnt>) == 32 && sizeof(Path<TntPair>) == 32);
static_assert(sizeof(EffectTable::Number) * 8 == TipTnt::kAnswerShift);

}  // namespace flowback::pt
