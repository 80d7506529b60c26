// SPDX-License-Identifier: MIT
// How a block is found without decoding anything twice.
//
// Every section offset has a slot. When a block is built from offset 0x10 with instructions at
// 0x10, 0x13 and 0x18, slot 0x10 says "block A starts here" and the slots 0x13 and 0x18 say "block
// A has an instruction here". A later request for 0x13 (a branch into the middle, a sync point in
// mid-block) makes a block B out of A's tail: it shares A's bytes of lengths and decodes nothing. A
// request for 0x0c decodes the instruction at 0x0c and then runs into A at 0x10, whose lengths it
// copies.
//
// Blocks end after kMaxInstructions. The tail of a block cut there must be longer than what is left
// of it, because a block may depend on nothing but its offset (otherwise the order in which threads
// ask would show in the counts of blocks); such a tail is copied and then continued.
//
// Readers take no lock: slots are written once from "nothing" or "inside" to their final block,
// after the block is complete (release), and blocks never move or die before the cache.
#include "decode/code/block_cache.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdlib>
#include <new>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

constexpr size_t kBlocksPerChunk = 512;
constexpr size_t kLengthsPerChunk = 16384;
constexpr uint8_t kStoppingFlags = kFlagPtwrite | kFlagMovCr3 | kFlagVmEntry | kFlagVmPtrld;

// K^n and the sums of the powers below it, for every block length.
struct PowerTable {
  std::array<uint64_t, StaticBlock::kMaxInstructions + 1> power{};
  std::array<uint64_t, StaticBlock::kMaxInstructions + 1> sum{};
  constexpr PowerTable() {
    power[0] = 1;
    for (size_t i = 1; i < power.size(); ++i) {
      power[i] = power[i - 1] * FlowDigest::kFactor;
      sum[i] = sum[i - 1] + power[i - 1];
    }
  }
};
constexpr PowerTable kPowers;

void SetDigest(StaticBlock& block) {
  uint64_t offset = 0;
  FlowDigest digest;
  for (unsigned i = 0; i < block.count; ++i) {
    digest.Append(offset);
    offset += block.lengths[i];
  }
  block.size = static_cast<uint32_t>(offset);
  block.power = kPowers.power[block.count];
  block.address_factor = kPowers.sum[block.count];
  block.offset_hash = digest.hash;
}

}  // namespace

BlockCache::SlotTable::~SlotTable() { std::free(directory_.load(std::memory_order_relaxed)); }

void BlockCache::SlotTable::Store(uint64_t offset, uintptr_t slot) {
  PagePointer* directory = directory_.load(std::memory_order_relaxed);
  if (directory == nullptr) {
    // calloc, because the directory of a large section is mostly never touched: its zero pages
    // cost nothing then.
    static_assert(PagePointer::is_always_lock_free);
    const size_t pages = (size_ >> kPageBits) + 1;
    directory = static_cast<PagePointer*>(std::calloc(pages, sizeof(PagePointer)));
    if (directory == nullptr) throw std::bad_alloc();
    directory_.store(directory, std::memory_order_release);
  }
  PagePointer& page = directory[offset >> kPageBits];
  if (page.load(std::memory_order_relaxed) == nullptr) {
    pages_.push_back(std::make_unique<Page>());
    page.store(pages_.back().get(), std::memory_order_release);
  }
  page.load(std::memory_order_relaxed)
      ->slots[offset & ((1 << kPageBits) - 1)]
      .store(slot, std::memory_order_release);
}

// Builds one block; lives during one miss, under the cache's mutex.
class BlockCache::Builder {
 public:
  Builder(Bytes bytes, const SlotTable& table, ExecMode mode)
      : bytes_(bytes), table_(table), mode_(mode) {}

  // The block at `offset`. Its lengths are shared with an older block or in this object.
  StaticBlock Run(uint64_t offset) {
    block_.offset = at_ = offset;
    while (!done_) {
      if (block_.count == StaticBlock::kMaxInstructions)
        FinishCut(StaticBlock::Stop::kLimit);
      else if (const uintptr_t slot = table_.Load(at_); slot != 0)
        Follow(*reinterpret_cast<const StaticBlock*>(slot & ~kInside));
      else
        DecodeOne();
    }
    if (block_.lengths == nullptr) block_.lengths = lengths_.data();
    SetDigest(block_);
    return block_;
  }

  bool shares_lengths() const { return block_.lengths != lengths_.data(); }
  // Whether no older block has instruction `index` of the new one.
  bool fresh(unsigned index) const { return fresh_[index]; }

 private:
  void DecodeOne() {
    const Bytes rest = Slice(bytes_, at_, kMaxInstructionBytes);
    Instruction instruction;
    if (!Classify(rest, mode_, instruction))
      return FinishCut(rest.size() < kMaxInstructionBytes ? StaticBlock::Stop::kSectionEnd
                                                          : StaticBlock::Stop::kBad);
    fresh_[block_.count] = true;
    lengths_[block_.count++] = instruction.length;
    at_ += instruction.length;
    if (instruction.kind != InstructionClass::kOther)
      return Finish(StaticBlock::Stop::kBranch, instruction);
    if ((instruction.flags & kStoppingFlags) != 0) Finish(StaticBlock::Stop::kSpecial, instruction);
  }

  // Takes over what `other` has from at_ on.
  void Follow(const StaticBlock& other) {
    unsigned first = 0;
    for (uint64_t offset = other.offset; offset != at_; ++first) offset += other.lengths[first];
    const unsigned available = other.count - first;
    const unsigned taken = std::min(available, StaticBlock::kMaxInstructions - block_.count);
    const uint8_t* begin = other.lengths + first;
    const bool whole = taken == available && other.stop != StaticBlock::Stop::kLimit;
    if (whole && block_.count == 0) block_.lengths = begin;
    std::copy_n(begin, taken, lengths_.data() + block_.count);
    block_.count = static_cast<uint16_t>(block_.count + taken);
    for (unsigned i = 0; i < taken; ++i) at_ += begin[i];
    // An instruction past the limit is not looked at, so neither is what follows it.
    const bool cut =
        other.stop == StaticBlock::Stop::kBad || other.stop == StaticBlock::Stop::kSectionEnd;
    if (!whole || (cut && block_.count == StaticBlock::kMaxInstructions)) return;
    if (taken != 0)
      Finish(other.stop, other.last);
    else
      FinishCut(other.stop);
  }

  void Finish(StaticBlock::Stop stop, const Instruction& last) {
    block_.stop = stop;
    block_.last = last;
    done_ = true;
  }

  // Ends the block behind an instruction that is not the reason for it.
  void FinishCut(StaticBlock::Stop stop) {
    Instruction last;
    if (block_.count != 0) {
      const uint8_t length = lengths_[block_.count - 1];
      Classify(Slice(bytes_, at_ - length, length), mode_, last);
    }
    Finish(stop, last);
  }

  const Bytes bytes_;
  const SlotTable& table_;
  const ExecMode mode_;
  uint64_t at_ = 0;  // where the next instruction starts
  bool done_ = false;
  StaticBlock block_;
  std::array<uint8_t, StaticBlock::kMaxInstructions> lengths_;
  std::bitset<StaticBlock::kMaxInstructions> fresh_;
};

BlockCache::BlockCache(Bytes bytes)
    : bytes_(bytes),
      past_end_{.offset = bytes.size(), .stop = StaticBlock::Stop::kSectionEnd, .last = {}} {
  for (SlotTable& table : modes_) table.SetSize(bytes.size());
}

BlockCache::~BlockCache() = default;

const StaticBlock* BlockCache::Build(uint64_t offset, ExecMode mode) {
  if (offset >= bytes_.size()) return &past_end_;
  SlotTable& table = modes_[static_cast<size_t>(mode)];
  const std::scoped_lock lock(mutex_);
  // Another thread may have been faster.
  if (const uintptr_t slot = table.Load(offset); slot != 0 && (slot & kInside) == 0)
    return reinterpret_cast<const StaticBlock*>(slot);

  Builder builder(bytes_, table, mode);
  StaticBlock block = builder.Run(offset);
  if (!builder.shares_lengths()) block.lengths = KeepLengths(block.lengths, block.count);
  const StaticBlock* kept = KeepBlock(block);
  const auto slot = reinterpret_cast<uintptr_t>(kept);
  uint64_t at = offset;
  for (unsigned i = 0; i < kept->count; ++i) {
    if (i != 0 && builder.fresh(i)) table.Store(at, slot | kInside);
    at += kept->lengths[i];
  }
  table.Store(offset, slot);
  return kept;
}

const StaticBlock* BlockCache::KeepBlock(const StaticBlock& block) {
  if (blocks_left_ == 0) {
    block_chunks_.push_back(std::make_unique<StaticBlock[]>(kBlocksPerChunk));
    blocks_left_ = kBlocksPerChunk;
  }
  StaticBlock* place = block_chunks_.back().get() + (kBlocksPerChunk - blocks_left_--);
  *place = block;
  return place;
}

const uint8_t* BlockCache::KeepLengths(const uint8_t* lengths, size_t count) {
  if (lengths_left_ < count) {
    length_chunks_.push_back(std::make_unique_for_overwrite<uint8_t[]>(kLengthsPerChunk));
    lengths_left_ = kLengthsPerChunk;
  }
  if (count == 0) return nullptr;
  uint8_t* place = length_chunks_.back().get() + (kLengthsPerChunk - lengths_left_);
  lengths_left_ -= count;
  std::copy_n(lengths, count, place);
  return place;
}

}  // namespace flowback
