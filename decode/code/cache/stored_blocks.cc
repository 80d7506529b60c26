// SPDX-License-Identifier: MIT
#include "decode/code/cache/stored_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "decode/instruction/classify.h"

namespace flowback {
namespace {

constexpr size_t kPageSize = 4096;

// The end of the bytes that decide about a block: the decoder has seen the instruction behind it,
// too.
uint64_t SeenEnd(const StaticBlock& block, Bytes section) {
  return std::min<uint64_t>(block.offset + block.size + kLongestInstruction, section.size());
}

std::vector<uint32_t> PagesOf(const std::vector<const StaticBlock*>& blocks, Bytes section) {
  std::vector<bool> seen(section.size() / kPageSize + 1);
  for (const StaticBlock* block : blocks)
    for (uint64_t page = block->offset / kPageSize; page * kPageSize < SeenEnd(*block, section);
         ++page)
      seen[page] = true;
  std::vector<uint32_t> pages;
  for (uint32_t page = 0; page < seen.size(); ++page)
    if (seen[page]) pages.push_back(page);
  return pages;
}

// Pages that lie side by side are hashed together.
uint64_t HashOfPages(std::span<const uint32_t> pages, Bytes section) {
  uint64_t hash = 0;
  for (size_t i = 0; i < pages.size();) {
    size_t end = i + 1;
    while (end < pages.size() && pages[end] == pages[i] + (end - i)) ++end;
    hash = ContentHash(Slice(section, pages[i] * kPageSize, (end - i) * kPageSize), hash);
    i = end;
  }
  return hash;
}

// Member by member: what lies between them stays zero, so that equal blocks make equal files.
void CopyMembers(const StaticBlock& from, StaticBlock& to) {
  to.offset = from.offset;
  to.size = from.size;
  to.count = from.count;
  to.stop = from.stop;
  to.lasting = from.lasting;
  to.last.length = from.last.length;
  to.last.kind = from.last.kind;
  to.last.flags = from.last.flags;
  to.last.displacement = from.last.displacement;
  to.last.target_mask = from.last.target_mask;
  to.last.kept_address_bits = from.last.kept_address_bits;
  to.offset_hash = from.offset_hash;
}

template <class T>
Bytes AsBytes(std::span<const T> items) {
  return {reinterpret_cast<const uint8_t*>(items.data()), items.size_bytes()};
}

}  // namespace

struct StoredBlocks::Head {
  uint64_t section_size = 0;
  uint64_t pages_hash = 0;  // of the bytes of all pages in the list
  uint64_t blocks = 0;
  uint64_t bits = 0;  // the table has 2^bits entries
  uint64_t pages = 0;
  uint64_t lengths = 0;
  uint64_t unused[2] = {};

  // The size of all that the header counts; 0 where it can't be true.
  uint64_t Size() const {
    constexpr uint64_t kMost = uint64_t{1} << 40;
    if (bits == 0 || bits > 32 || blocks > kMost || pages > kMost || lengths > kMost) return 0;
    return sizeof(Head) + blocks * sizeof(StaticBlock) + (sizeof(uint32_t) << bits) +
           pages * sizeof(uint32_t) + lengths;
  }
};

uint64_t StoredBlocks::Version() {
  static_assert(sizeof(Head) == 64, "blocks begin at a multiple of their alignment");
  constexpr std::string_view kSources = FLOWBACK_BLOCK_SOURCES;  // a hash of them
  const uint64_t numbers[] = {1, sizeof(StaticBlock), sizeof(void*), ClassifierLibraryVersion()};
  return ContentHash({reinterpret_cast<const uint8_t*>(kSources.data()), kSources.size()},
                     ContentHash(AsBytes(std::span<const uint64_t>(numbers))));
}

std::unique_ptr<const StoredBlocks> StoredBlocks::Open(std::unique_ptr<const CachedBytes> bytes,
                                                       Bytes section) {
  if (bytes == nullptr) return nullptr;
  std::unique_ptr<StoredBlocks> stored(new StoredBlocks);
  stored->bytes_ = std::move(bytes);
  if (!stored->TakeApart(section) || !stored->IsSound(section)) return nullptr;
  return stored;
}

bool StoredBlocks::TakeApart(Bytes section) {
  Bytes rest = bytes_->content();
  Head head;
  if (rest.size() < sizeof head) return false;
  std::memcpy(&head, rest.data(), sizeof head);
  if (head.section_size != section.size() || head.Size() != rest.size()) return false;
  rest = rest.subspan(sizeof head);
  const auto take = [&]<class T>(std::span<const T>& items, uint64_t count) {
    items = {reinterpret_cast<const T*>(rest.data()), count};
    rest = rest.subspan(items.size_bytes());
  };
  take(blocks_, head.blocks);
  take(table_, uint64_t{1} << head.bits);
  take(pages_, head.pages);
  lengths_ = rest;
  bits_ = static_cast<unsigned>(head.bits);
  const bool inside =
      std::ranges::all_of(pages_, [&](uint32_t page) { return page * kPageSize < section.size(); });
  return inside && HashOfPages(pages_, section) == head.pages_hash;
}

// Makes certain that nothing outside of the file is read, and that no search is endless.
bool StoredBlocks::IsSound(Bytes section) const {
  const bool has_end = std::ranges::find(table_, 0U) != table_.end();
  const bool in_range =
      std::ranges::all_of(table_, [&](uint32_t number) { return number <= blocks_.size(); });
  return has_end && in_range && std::ranges::all_of(blocks_, [&](const StaticBlock& block) {
           return IsSound(block, section);
         });
}

bool StoredBlocks::IsSound(const StaticBlock& block, Bytes section) const {
  const auto lengths = reinterpret_cast<intptr_t>(&block.lengths) + block.lengths.distance() -
                       reinterpret_cast<intptr_t>(lengths_.data());
  const auto all = static_cast<intptr_t>(lengths_.size());
  return block.offset < section.size() && block.size <= section.size() - block.offset &&
         block.count <= StaticBlock::kMaxInstructions && block.stop <= StaticBlock::Stop::kBad &&
         block.last.kind <= InstructionClass::kFarReturn && block.last.length <= block.size &&
         (block.count == 0 || (lengths >= 0 && lengths <= all - block.count));
}

std::vector<uint8_t> StoredBlocks::Write(const std::vector<const StaticBlock*>& blocks,
                                         Bytes section) {
  const std::vector<uint32_t> pages = PagesOf(blocks, section);
  Head head{.section_size = section.size(), .pages_hash = HashOfPages(pages, section)};
  head.blocks = blocks.size();
  head.bits = std::bit_width(blocks.size() * 2);
  head.pages = pages.size();
  for (const StaticBlock* block : blocks) head.lengths += block->count;

  std::vector<uint8_t> content(head.Size());
  uint8_t* at = content.data();
  const auto put = [&](const void* from, size_t size) {
    if (size != 0) std::memcpy(at, from, size);
    at += size;
  };
  put(&head, sizeof head);
  auto* const kept = reinterpret_cast<StaticBlock*>(at);
  at += head.blocks * sizeof(StaticBlock);
  auto* const table = reinterpret_cast<uint32_t*>(at);
  at += sizeof(uint32_t) << head.bits;
  put(pages.data(), pages.size() * sizeof(uint32_t));
  const size_t mask = (size_t{1} << head.bits) - 1;
  for (size_t i = 0; i < blocks.size(); ++i) {
    CopyMembers(*blocks[i], kept[i]);
    kept[i].lengths = blocks[i]->count == 0 ? nullptr : at;
    put(blocks[i]->lengths, blocks[i]->count);
    size_t slot = First(blocks[i]->offset, static_cast<unsigned>(head.bits));
    while (table[slot] != 0) slot = (slot + 1) & mask;
    table[slot] = static_cast<uint32_t>(i + 1);
  }
  return content;
}

}  // namespace flowback
