// SPDX-License-Identifier: MIT
// Instructions that run in sequence, as the decoders keep them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback {

// A pointer that is kept as a distance, so that it stays right when the memory in which it lies is
// moved together with what it points to. A copy points to the same object.
template <class T>
class RelativePointer {
 public:
  RelativePointer() = default;
  RelativePointer(const T* target) { Set(target); }
  RelativePointer(const RelativePointer& other) { Set(other); }
  RelativePointer& operator=(const RelativePointer& other) {
    Set(other);
    return *this;
  }

  operator const T*() const {
    return distance_ == 0 ? nullptr : reinterpret_cast<const T*>(Here() + distance_);
  }
  // From here to the object, in bytes; 0: null.
  intptr_t distance() const { return distance_; }

 private:
  void Set(const T* target) {
    distance_ = target == nullptr ? 0 : reinterpret_cast<intptr_t>(target) - Here();
  }
  intptr_t Here() const { return reinterpret_cast<intptr_t>(this); }

  intptr_t distance_ = 0;
};

// Powers of the flow digest's K, by number of instructions.
template <size_t N>
struct DigestPowers {
  std::array<uint64_t, N + 1> power{};  // K^n
  std::array<uint64_t, N + 1> sum{};    // of K^i over i < n

  constexpr DigestPowers() {
    power[0] = 1;
    for (size_t i = 1; i <= N; ++i) {
      power[i] = power[i - 1] * FlowDigest::kFactor;
      sum[i] = sum[i - 1] + power[i - 1];
    }
  }
};

// Instructions that run in sequence, only the last of which may branch. Immutable; lives as long as
// its cache. A function of the section's bytes, the offset and the mode alone: neither the order of
// requests nor the number of threads changes it.
struct StaticBlock {
  static constexpr unsigned kMaxInstructions = 256;
  static constexpr DigestPowers<kMaxInstructions> kPowers{};

  enum class Stop : uint8_t {
    kBranch,      // the last instruction may transfer control
    kSpecial,     // the last instruction binds packets: PTWRITE, MOV to CR3, VMPTRLD
    kLimit,       // kMaxInstructions reached
    kSectionEnd,  // the next instruction may go on behind this section
    kBad,         // the next bytes are no instruction
  };

  uint64_t offset = 0;               // of the first instruction, in the section
  RelativePointer<uint8_t> lengths;  // of each instruction, `count` of them
  uint32_t size = 0;                 // bytes of all instructions
  uint16_t count = 0;                // 0 only with kSectionEnd and kBad
  Stop stop = Stop::kBad;
  bool lasting = true;  // false: what it is depends on which libraries are installed
  Instruction last;     // the last instruction: kOther where it is not the reason for the stop

  uint64_t offset_hash = 0;  // digest of the offsets from the block's start

  uint64_t power() const { return kPowers.power[count]; }
  // Digest of the whole block executed at `address`: the addresses of its instructions are
  // `address` + offset_i, so the digest is linear in it.
  FlowDigest At(uint64_t address) const {
    return {count, address * kPowers.sum[count] + offset_hash};
  }
};
// A cold decode touches each block a few times, and waits for memory each time.
static_assert(sizeof(StaticBlock) <= 64);

}  // namespace flowback
