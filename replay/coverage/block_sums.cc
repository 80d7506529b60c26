// SPDX-License-Identifier: MIT
#include "replay/coverage/block_sums.h"

#include <algorithm>
#include <utility>

#include "base/saturated.h"

namespace flowback {
namespace {

template <class Count, class Same, class AddTo>
void SortAndAddUp(std::vector<Count>& list, Same&& same, AddTo&& add) {
  size_t kept = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (kept != 0 && same(list[kept - 1], list[i]))
      add(list[kept - 1], list[i]);
    else
      list[kept++] = list[i];
  }
  list.resize(kept);
  list.shrink_to_fit();
}

void AddUp(ObjectCounts& counts) {
  const auto same = [](const auto& a, const auto& b) { return a.offset == b.offset; };
  std::ranges::sort(counts.instructions, {}, &InstructionCount::offset);
  SortAndAddUp(counts.instructions, same, [](InstructionCount& sum, const InstructionCount& more) {
    AddSaturated(sum.times, more.times);
    sum.length = std::max(sum.length, more.length);
  });
  std::ranges::sort(counts.branches, {}, &BranchCount::offset);
  SortAndAddUp(counts.branches, same, [](BranchCount& sum, const BranchCount& more) {
    AddSaturated(sum.taken, more.taken);
    AddSaturated(sum.not_taken, more.not_taken);
  });
}

}  // namespace

void BlockSums::Add(Place place, const BlockUse& use) {
  const auto next = static_cast<uint32_t>(blocks_.size());
  const uint32_t number = block_numbers_.Find(
      HashOf(place), next,
      [&](uint32_t each) {
        return blocks_[each].offset == place.offset && blocks_[each].body == place.body;
      },
      [&](uint32_t each) { return HashOf(Place{blocks_[each].body, blocks_[each].offset}); });
  if (number == next) blocks_.push_back({.offset = place.offset, .body = place.body});
  if (blocks_[number].count < use.block.count) Lengthen(number, use.block);
  Block& block = blocks_[number];
  if (use.count == block.count)
    block.whole += use.times;
  else
    AddCut(number, use.count, use.times);
  if (use.count != use.block.count || use.block.last != InstructionClass::kConditional) return;
  block.branch = static_cast<uint16_t>(use.count - 1);
  if (use.exit == BlockExit::kTaken) block.taken += use.times;
  if (use.exit == BlockExit::kNotTaken) block.not_taken += use.times;
}

// One that begins there may have been cut before its branch until now.
void BlockSums::Lengthen(uint32_t number, const CodeBlock& longer) {
  Block& block = blocks_[number];
  if (block.count != 0 && block.whole != 0)
    AddCut(number, block.count, std::exchange(block.whole, 0));
  block.count = longer.count;
  block.lengths = static_cast<uint32_t>(lengths_.size());
  lengths_.insert(lengths_.end(), longer.lengths, longer.lengths + longer.count);
}

void BlockSums::AddCut(uint32_t number, uint16_t count, uint64_t times) {
  const auto next = static_cast<uint32_t>(cuts_.size());
  const auto hash = [](uint32_t block, uint16_t of) { return HashOf(Place{of, block}); };
  const uint32_t cut = cut_numbers_.Find(
      hash(number, count), next,
      [&](uint32_t each) { return cuts_[each].block == number && cuts_[each].count == count; },
      [&](uint32_t each) { return hash(cuts_[each].block, cuts_[each].count); });
  if (cut == next) cuts_.push_back({.block = number, .count = count});
  cuts_[cut].times += times;
}

void BlockSums::Add(Place branch, InstructionClass kind, Place target, uint64_t times) {
  const auto same = [](Place a, Place b) { return a.offset == b.offset && a.body == b.body; };
  const Target wanted{.branch = branch, .target = target, .kind = kind};
  const auto next = static_cast<uint32_t>(targets_.size());
  const uint32_t number = target_numbers_.Find(
      HashOf(wanted), next,
      [&](uint32_t each) {
        return same(targets_[each].branch, branch) && same(targets_[each].target, target) &&
               targets_[each].kind == kind;
      },
      [&](uint32_t each) { return HashOf(targets_[each]); });
  if (number == next) targets_.push_back(wanted);
  targets_[number].times += times;
}

// `cut[i]`: how often it ended with i instructions. What ended behind an instruction executed it.
void BlockSums::Spread(const Block& block, std::vector<uint64_t>& cut, const uint8_t* lengths,
                       ObjectCounts& counts) {
  uint64_t times = block.whole;
  for (const uint64_t some : cut) times += some;
  uint64_t offset = block.offset;
  for (size_t i = 0; i < block.count && times != 0; ++i) {
    times -= i < cut.size() ? cut[i] : 0;
    if (times != 0) counts.instructions.push_back({offset, times, lengths[i]});
    if (i == block.branch && (block.taken != 0 || block.not_taken != 0))
      counts.branches.push_back({offset, block.taken, block.not_taken});
    offset += lengths[i];
  }
}

std::vector<ObjectCounts> BlockSums::Take(size_t bodies) {
  std::vector<ObjectCounts> all(bodies);
  std::ranges::sort(cuts_, {}, &Cut::block);
  auto next_cut = cuts_.begin();
  std::vector<uint64_t> cut;
  for (uint32_t number = 0; number < blocks_.size(); ++number) {
    const Block& block = blocks_[number];
    cut.clear();
    for (; next_cut != cuts_.end() && next_cut->block == number; ++next_cut) {
      if (cut.size() <= next_cut->count) cut.resize(next_cut->count + size_t{1});
      cut[next_cut->count] += next_cut->times;
    }
    Spread(block, cut, lengths_.data() + block.lengths, all[block.body]);
  }
  for (const Target& each : targets_)
    all[each.branch.body].targets.push_back(
        {each.branch.offset, each.kind, each.target.body, each.target.offset, each.times});
  for (ObjectCounts& counts : all) AddUp(counts);
  *this = BlockSums();
  return all;
}

}  // namespace flowback
