// SPDX-License-Identifier: MIT
// The decoded blocks of one section and mode as a file keeps them: as they lie in memory, so that
// nothing is parsed or copied.
//
//   Head
//   blocks    StaticBlock each; their pointers are relative to themselves
//   table     numbers of blocks, from 1 on, by offset, in open addressing; a power of two of them
//   pages     numbers of the section's pages that the blocks were decoded from, ascending
//   lengths   of the blocks' instructions
//
// A file may come from another build of the code under the same build-id (a patched program, the
// kernel's memory), so it counts only where those pages have the same bytes now.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/code/cache/disk_cache.h"
#include "decode/code/cache/static_block.h"
#include "flowback/base/bytes.h"

namespace flowback {

// Immutable, so any thread may ask.
class StoredBlocks {
 public:
  // Null when the bytes are not what `section` was decoded to.
  static std::unique_ptr<const StoredBlocks> Open(std::unique_ptr<const CachedBytes> bytes,
                                                  Bytes section);
  // The content of such a file. REQUIRES: all blocks are of `section` and differ in their offset.
  static std::vector<uint8_t> Write(const std::vector<const StaticBlock*>& blocks, Bytes section);
  // A number for all that decides what blocks are: this program's sources, its libraries, and how
  // they lay out memory.
  static uint64_t Version();

  // Null: no block begins at that offset.
  const StaticBlock* Find(uint64_t offset) const {
    for (size_t at = First(offset, bits_);; at = (at + 1) & mask()) {
      const uint32_t number = table_[at];
      if (number == 0) return nullptr;
      if (blocks_[number - 1].offset == offset) return &blocks_[number - 1];
    }
  }
  std::span<const StaticBlock> blocks() const { return blocks_; }

 private:
  struct Head;

  StoredBlocks() = default;
  size_t mask() const { return (size_t{1} << bits_) - 1; }
  static size_t First(uint64_t offset, unsigned bits) {
    return offset * FlowDigest::kFactor >> (64 - bits);
  }
  bool TakeApart(Bytes section);
  bool IsSound(Bytes section) const;
  bool IsSound(const StaticBlock& block, Bytes section) const;

  std::unique_ptr<const CachedBytes> bytes_;
  std::span<const StaticBlock> blocks_;
  std::span<const uint32_t> table_;
  std::span<const uint32_t> pages_;
  Bytes lengths_;
  unsigned bits_ = 0;
};

}  // namespace flowback
