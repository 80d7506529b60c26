// SPDX-License-Identifier: MIT
// How a block is found without a lock, and why code may be decoded twice.
//
// A block is decoded from its offset to its end and put into a table by offset. A branch into the
// middle of a block makes another one of its tail, which is decoded anew: that costs less than
// keeping, for every byte of code, which block has an instruction there. So a block depends on
// nothing but its offset, and the order in which threads ask can't show in the counts of blocks.
// Only instructions that need a full decoder are remembered one by one: it may be a thousand times
// slower (LLVM), and a trace may lead to every byte of such code.
//
// Readers take no lock: a table's slots are written once, after the block is complete (release),
// and neither blocks nor outgrown tables move or die before the cache. A reader of an outgrown
// table may miss a block; it then looks again under the lock.
#include "decode/code/cache/block_cache.h"

#include <algorithm>
#include <array>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

constexpr size_t kBlocksPerSlab = 512;
// A section with fewer blocks has no file: decoding them takes no longer than opening one.
constexpr size_t kFewBlocks = 128;
// A file is written again if it lacks one in kSmallPart of the section's blocks.
constexpr size_t kSmallPart = 8;
constexpr size_t kLengthsPerSlab = 16384;
constexpr uint8_t kStoppingFlags = kFlagPtwrite | kFlagMovCr3 | kFlagVmEntry | kFlagVmPtrld;

void SetDigest(StaticBlock& block) {
  uint64_t offset = 0;
  FlowDigest digest;
  for (unsigned i = 0; i < block.count; ++i) {
    digest.Append(offset);
    offset += block.lengths[i];
  }
  block.size = static_cast<uint32_t>(offset);
  block.offset_hash = digest.hash;
}

// Builds the one block that a look-up has not found, and is gone with that look-up.
class Builder {
 public:
  Builder(Bytes bytes, CodeMode mode, std::unordered_map<uint64_t, UncommonInstruction>& uncommon)
      : bytes_(bytes), mode_(mode), uncommon_(uncommon) {}

  // The block at `offset`. Its lengths are in this object.
  StaticBlock Run(uint64_t offset) {
    block_.offset = at_ = offset;
    block_.lengths = lengths_.data();
    while (!done_) {
      if (block_.count == StaticBlock::kMaxInstructions)
        Finish(StaticBlock::Stop::kLimit);
      else
        DecodeOne();
    }
    SetDigest(block_);
    return block_;
  }

 private:
  void DecodeOne() {
    const size_t longest = TraitsOf(mode_).longest_instruction;
    const Bytes rest = Slice(bytes_, at_, longest);
    Instruction instruction;
    if (!Read(rest, instruction))
      return Finish(rest.size() < longest ? StaticBlock::Stop::kSectionEnd
                                          : StaticBlock::Stop::kBad);
    block_.last = instruction;
    lengths_[block_.count++] = instruction.length;
    at_ += instruction.length;
    if (instruction.kind != InstructionClass::kOther) return Finish(StaticBlock::Stop::kBranch);
    if ((instruction.flags & kStoppingFlags) != 0) Finish(StaticBlock::Stop::kSpecial);
  }

  bool Read(Bytes rest, Instruction& out) {
    if (ClassifyCommonForm(rest, mode_, out)) return true;
    const auto [place, is_new] = uncommon_.try_emplace(at_);
    UncommonInstruction& known = place->second;
    if (is_new) {
      bool needed_llvm = false;
      if (!ClassifyAnyForm(rest, mode_, known.instruction, &needed_llvm)) known.instruction = {};
      known.lasting = !needed_llvm;
    }
    block_.lasting &= known.lasting;
    out = known.instruction;
    return out.length != 0;
  }

  void Finish(StaticBlock::Stop stop) {
    block_.stop = stop;
    done_ = true;
  }

  const Bytes bytes_;
  const CodeMode mode_;
  std::unordered_map<uint64_t, UncommonInstruction>& uncommon_;
  uint64_t at_ = 0;  // where the next instruction starts
  bool done_ = false;
  StaticBlock block_;
  std::array<uint8_t, StaticBlock::kMaxInstructions> lengths_;
};

}  // namespace

void BlockCache::BlocksByOffset::Slots::Put(const StaticBlock& block) {
  size_t at = First(block.offset);
  while (blocks[at].load(std::memory_order_relaxed) != nullptr) at = Next(at);
  blocks[at].store(&block, std::memory_order_release);
}

const StaticBlock* BlockCache::BlocksByOffset::Add(const StaticBlock& block) {
  if (all_.empty() || (count_ + 1) * 2 > all_.back()->size()) Grow();
  const StaticBlock* kept = Keep(block);
  all_.back()->Put(*kept);
  return kept;
}

const StaticBlock* BlockCache::BlocksByOffset::Keep(const StaticBlock& block) {
  const size_t at = count_++ % kBlocksPerSlab;
  if (at == 0) slabs_.push_back(std::make_unique<StaticBlock[]>(kBlocksPerSlab));
  StaticBlock& place = slabs_.back()[at];
  place = block;
  lasting_ += block.lasting;
  return &place;
}

void BlockCache::BlocksByOffset::Grow() {
  // Tables grow to four times their size at once, because the outgrown ones keep their memory.
  auto grown = std::make_unique<Slots>(all_.empty() ? kFirstBits : all_.back()->bits + 2);
  if (!all_.empty())
    for (size_t i = 0; i < all_.back()->size(); ++i)
      if (const StaticBlock* block = all_.back()->blocks[i].load(std::memory_order_relaxed);
          block != nullptr)
        grown->Put(*block);
  all_.push_back(std::move(grown));
  slots_.store(all_.back().get(), std::memory_order_release);
}

void BlockCache::BlocksByOffset::Use(std::unique_ptr<const StoredBlocks> stored) {
  owned_ = std::move(stored);
  stored_.store(owned_.get(), std::memory_order_release);
}

std::vector<const StaticBlock*> BlockCache::BlocksByOffset::WorthKeeping() const {
  std::vector<const StaticBlock*> blocks;
  const size_t stored = owned_ == nullptr ? 0 : owned_->blocks().size();
  if (lasting_ < std::max(kFewBlocks, stored / kSmallPart)) return blocks;
  blocks.reserve(stored + lasting_);
  if (owned_ != nullptr)
    for (const StaticBlock& block : owned_->blocks()) blocks.push_back(&block);
  for (size_t i = 0; i < count_; ++i)
    if (const StaticBlock& block = slabs_[i / kBlocksPerSlab][i % kBlocksPerSlab]; block.lasting)
      blocks.push_back(&block);
  return blocks;
}

BlockCache::BlockCache(Bytes bytes)
    : bytes_(bytes),
      past_end_{.offset = bytes.size(),
                .lengths = {},
                .stop = StaticBlock::Stop::kSectionEnd,
                .last = {}} {}

BlockCache::~BlockCache() = default;

const StaticBlock* BlockCache::Build(uint64_t offset, CodeMode mode) {
  if (offset >= bytes_.size()) return &past_end_;
  BlocksByOffset& table = modes_[IndexOf(mode)];
  const std::scoped_lock lock(mutex_);
  if (table.NoteAsked() && disk_ != nullptr)
    table.Use(StoredBlocks::Open(disk_->Load(NameOnDisk(mode)), bytes_));
  // Another thread may have been faster.
  if (const StaticBlock* known = table.Find(offset); known != nullptr) return known;
  Builder builder(bytes_, mode, uncommon_[IndexOf(mode)]);
  StaticBlock block = builder.Run(offset);
  NoteRead();
  block.lengths = KeepLengths(block.lengths, block.count);
  return table.Add(block);
}

void BlockCache::UseDisk(std::shared_ptr<const DiskCache> disk, std::string name) {
  disk_ = std::move(disk);
  name_ = std::move(name);
}

std::string BlockCache::NameOnDisk(CodeMode mode) const {
  return name_ + "-" + std::string(TraitsOf(mode).name);
}

bool BlockCache::Keep() {
  if (disk_ == nullptr) return false;
  bool stored = false;
  const std::scoped_lock lock(mutex_);
  for (const CodeMode mode : kCodeModes) {
    const auto blocks = modes_[IndexOf(mode)].WorthKeeping();
    if (!blocks.empty())
      stored |= disk_->Store(NameOnDisk(mode), blocks.size() * sizeof(StaticBlock),
                             [&] { return StoredBlocks::Write(blocks, bytes_); });
  }
  return stored;
}

const uint8_t* BlockCache::KeepLengths(const uint8_t* lengths, size_t count) {
  if (lengths_left_ < count) {
    length_slabs_.push_back(std::make_unique_for_overwrite<uint8_t[]>(kLengthsPerSlab));
    lengths_left_ = kLengthsPerSlab;
  }
  if (count == 0) return nullptr;
  uint8_t* place = length_slabs_.back().get() + (kLengthsPerSlab - lengths_left_);
  lengths_left_ -= count;
  std::copy_n(lengths, count, place);
  return place;
}

}  // namespace flowback
