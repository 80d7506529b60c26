// SPDX-License-Identifier: MIT
// The blocks of one code section: each instruction decoded once, whoever walks over it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback {

// Instructions that run in sequence, only the last of which may branch. Immutable; lives as long as
// its cache. A function of the section's bytes, the offset and the mode alone: neither the order of
// requests nor the number of threads changes it.
struct StaticBlock {
  static constexpr unsigned kMaxInstructions = 256;

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

  // For the flow digest: the addresses are `address` + offset_i, so the digest is linear in it.
  uint64_t power = 1;           // K^count
  uint64_t address_factor = 0;  // sum of K^i over i < count
  uint64_t offset_hash = 0;     // digest of the offsets from the block's start

  // Digest of the whole block executed at `address`.
  FlowDigest At(uint64_t address) const { return {count, address * address_factor + offset_hash}; }
};

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
    if (const uintptr_t slot = modes_[static_cast<size_t>(mode)].Load(offset);
        slot != 0 && (slot & kInside) == 0)
      return reinterpret_cast<const StaticBlock*>(slot);
    return Build(offset, mode);
  }
  // Whether any instruction has been decoded in `mode`.
  bool HasDecoded(ExecMode mode) const { return modes_[static_cast<size_t>(mode)].HasAny(); }

 private:
  // A slot per section offset: 0, a block that starts there, or, marked with kInside, a block that
  // has an instruction starting there. Pages of slots come into being as code is walked.
  static constexpr uintptr_t kInside = 1;
  static constexpr unsigned kPageBits = 6;
  using Slot = std::atomic<uintptr_t>;
  struct Page {
    Slot slots[1 << kPageBits];
  };

  class SlotTable {
   public:
    uintptr_t Load(uint64_t offset) const {
      const PagePointer* directory = directory_.load(std::memory_order_acquire);
      if (directory == nullptr || offset >= size_) return 0;
      const Page* page = directory[offset >> kPageBits].load(std::memory_order_acquire);
      if (page == nullptr) return 0;
      return page->slots[offset & ((1 << kPageBits) - 1)].load(std::memory_order_acquire);
    }
    bool HasAny() const { return directory_.load(std::memory_order_acquire) != nullptr; }
    // Only under the cache's mutex; `offset` is inside the section.
    void Store(uint64_t offset, uintptr_t slot);
    void SetSize(uint64_t size) { size_ = size; }
    ~SlotTable();

   private:
    using PagePointer = std::atomic<Page*>;
    std::atomic<PagePointer*> directory_ = nullptr;
    uint64_t size_ = 0;
    std::vector<std::unique_ptr<Page>> pages_;
  };

  class Builder;

  const StaticBlock* Build(uint64_t offset, ExecMode mode);
  const StaticBlock* KeepBlock(const StaticBlock& block);
  const uint8_t* KeepLengths(const uint8_t* lengths, size_t count);

  const Bytes bytes_;
  const StaticBlock past_end_;
  SlotTable modes_[3];
  std::mutex mutex_;  // guards all below, and stores to the tables
  std::vector<std::unique_ptr<StaticBlock[]>> block_chunks_;
  std::vector<std::unique_ptr<uint8_t[]>> length_chunks_;
  size_t blocks_left_ = 0;  // in the newest chunk
  size_t lengths_left_ = 0;
};

}  // namespace flowback
