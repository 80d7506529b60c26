// SPDX-License-Identifier: MIT
// The blocks of one code section: each decoded once, whoever walks over it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback {

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
    kSectionEnd,  // the next instruction may go on in what is mapped behind this section
    kBad,         // the next bytes are no instruction
  };

  uint64_t offset = 0;               // of the first instruction, in the section
  const uint8_t* lengths = nullptr;  // of each instruction, `count` of them
  uint32_t size = 0;                 // bytes of all instructions
  uint16_t count = 0;                // 0 only with kSectionEnd and kBad
  Stop stop = Stop::kBad;
  Instruction last;  // the last instruction: kOther where it is not the reason for the stop

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

// Thread-safety: Get may be called from any thread; one that hits takes no lock.
class BlockCache {
 public:
  // `bytes` must outlive the cache.
  explicit BlockCache(Bytes bytes);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // The block that starts at `offset`; the same object on every call. Past the section's end: a
  // block without instructions.
  const StaticBlock* Get(uint64_t offset, ExecMode mode) {
    const StaticBlock* block = modes_[static_cast<size_t>(mode)].Find(offset);
    return block != nullptr ? block : Build(offset, mode);
  }
  // Whether any instruction has been decoded in `mode`.
  bool HasDecoded(ExecMode mode) const { return modes_[static_cast<size_t>(mode)].HasAny(); }

 private:
  // The blocks by offset, in open addressing. A table that has become too small is replaced, and
  // kept for those who are still reading it.
  class BlockTable {
   public:
    // Null: there is none, or it came into being while this was running.
    const StaticBlock* Find(uint64_t offset) const {
      const Slots* slots = slots_.load(std::memory_order_acquire);
      if (slots == nullptr) return nullptr;
      for (size_t at = slots->First(offset);; at = slots->Next(at)) {
        const StaticBlock* block = slots->blocks[at].load(std::memory_order_acquire);
        if (block == nullptr || block->offset == offset) return block;
      }
    }
    bool HasAny() const { return slots_.load(std::memory_order_acquire) != nullptr; }
    // Only under the cache's mutex. The block's offset must be new.
    void Add(const StaticBlock& block);

   private:
    struct Slots {
      explicit Slots(unsigned size_bits)
          : bits(size_bits),
            blocks(std::make_unique<std::atomic<const StaticBlock*>[]>(size_t{1} << size_bits)) {}
      size_t size() const { return size_t{1} << bits; }
      size_t First(uint64_t offset) const { return offset * FlowDigest::kFactor >> (64 - bits); }
      size_t Next(size_t at) const { return (at + 1) & (size() - 1); }
      void Put(const StaticBlock& block);

      unsigned bits;
      std::unique_ptr<std::atomic<const StaticBlock*>[]> blocks;
    };
    void Grow();

    static constexpr unsigned kFirstBits = 8;
    std::atomic<const Slots*> slots_ = nullptr;  // the newest of all_
    std::vector<std::unique_ptr<Slots>> all_;
    size_t count_ = 0;
  };

  const StaticBlock* Build(uint64_t offset, ExecMode mode);
  const StaticBlock* KeepBlock(const StaticBlock& block);
  const uint8_t* KeepLengths(const uint8_t* lengths, size_t count);

  const Bytes bytes_;
  const StaticBlock past_end_;
  BlockTable modes_[3];
  std::mutex mutex_;  // guards all below, and stores to the tables
  // By mode and offset: what only a full decoder could tell. Length 0: no instruction.
  std::unordered_map<uint64_t, Instruction> uncommon_[3];
  std::vector<std::unique_ptr<StaticBlock[]>> block_chunks_;
  std::vector<std::unique_ptr<uint8_t[]>> length_chunks_;
  size_t blocks_left_ = 0;  // in the newest chunk
  size_t lengths_left_ = 0;
};

}  // namespace flowback
