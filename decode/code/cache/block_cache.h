// SPDX-License-Identifier: MIT
// The blocks of one code section: each decoded once for all walks over it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "decode/code/cache/static_block.h"
#include "decode/code/cache/stored_blocks.h"
#include "flowback/base/bytes.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/instruction.h"

namespace flowback {

// Facts that need a full decoder. Length 0: no instruction.
struct UncommonInstruction {
  Instruction instruction;
  bool lasting = true;  // as StaticBlock's
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
  const StaticBlock* Get(uint64_t offset, CodeMode mode) {
    const StaticBlock* block = modes_[IndexOf(mode)].Find(offset);
    return block != nullptr ? block : Build(offset, mode);
  }
  // Whether any instruction has been asked for in `mode`.
  bool HasDecoded(CodeMode mode) const { return modes_[IndexOf(mode)].HasAny(); }

  // From now on blocks are looked for in `disk` first, under `name`, and Keep puts them there.
  // REQUIRES: Get has not been called yet.
  void UseDisk(std::shared_ptr<const DiskCache> disk, std::string name);
  // Call it after reading bytes of the section, before another thread sees a result of them.
  void NoteRead() {
    if (!read_.load(std::memory_order_seq_cst)) read_.store(true, std::memory_order_seq_cst);
  }
  // Whether any have been read since the last call; at first, that is not known.
  bool TakeRead() {
    return read_.load(std::memory_order_relaxed) &&
           read_.exchange(false, std::memory_order_seq_cst);
  }
  // Writes the blocks to the disk where enough were not there yet. True: it did.
  bool Keep();

 private:
  // The blocks by offset, in open addressing. A table that has become too small is replaced, and
  // kept for those who are still reading it.
  class BlocksByOffset {
   public:
    // Null: there is no such block, or it was added while this was looking.
    const StaticBlock* Find(uint64_t offset) const {
      if (const StoredBlocks* stored = stored_.load(std::memory_order_acquire); stored != nullptr)
        if (const StaticBlock* block = stored->Find(offset); block != nullptr) return block;
      return FindNew(offset);
    }
    const StaticBlock* FindNew(uint64_t offset) const {
      const Slots* slots = slots_.load(std::memory_order_acquire);
      if (slots == nullptr) return nullptr;
      for (size_t at = slots->First(offset);; at = slots->Next(at)) {
        const StaticBlock* block = slots->blocks[at].load(std::memory_order_acquire);
        if (block == nullptr || block->offset == offset) return block;
      }
    }
    bool HasAny() const { return asked_.load(std::memory_order_relaxed); }
    // This and all below are called only under the cache's mutex. False: that was known before.
    bool NoteAsked() { return !asked_.exchange(true, std::memory_order_relaxed); }
    // Adds a copy of the block, and returns that. REQUIRES: there is no block at its offset.
    const StaticBlock* Add(const StaticBlock& block);
    void Use(std::unique_ptr<const StoredBlocks> stored);
    // The blocks to be written to the disk, those that came from there included. None where too few
    // are new for that to pay.
    std::vector<const StaticBlock*> WorthKeeping() const;

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
    const StaticBlock* Keep(const StaticBlock& block);

    static constexpr unsigned kFirstBits = 8;
    std::atomic<bool> asked_ = false;
    std::atomic<const StoredBlocks*> stored_ = nullptr;  // owned_
    std::unique_ptr<const StoredBlocks> owned_;
    std::atomic<const Slots*> slots_ = nullptr;  // the newest of all_
    std::vector<std::unique_ptr<Slots>> all_;
    std::vector<std::unique_ptr<StaticBlock[]>> slabs_;
    size_t count_ = 0;    // blocks in the slabs
    size_t lasting_ = 0;  // of them
  };

  const StaticBlock* Build(uint64_t offset, CodeMode mode);
  std::string NameOnDisk(CodeMode mode) const;
  const uint8_t* KeepLengths(const uint8_t* lengths, size_t count);

  const Bytes bytes_;
  std::atomic<bool> read_ = true;
  const StaticBlock past_end_;
  std::array<BlocksByOffset, kCodeModes.size()> modes_;
  std::mutex mutex_;                       // guards all below, and stores to the tables
  std::shared_ptr<const DiskCache> disk_;  // null: none
  std::string name_;
  // By mode and offset: instructions that need a full decoder.
  std::array<std::unordered_map<uint64_t, UncommonInstruction>, kCodeModes.size()> uncommon_;
  std::vector<std::unique_ptr<uint8_t[]>> length_slabs_;
  size_t lengths_left_ = 0;  // in the newest slab
};

}  // namespace flowback
