// SPDX-License-Identifier: MIT
#include "replay/flow/code_shares.h"

#include <numeric>

namespace flowback {

void ShareCounter::OnCounts(const ThreadStay*, const BlockCounts& counts) {
  for (const BlockUse& use : counts.uses) {
    Block& block = blocks_[{counts.space, use.block.address}];
    // Blocks that begin at one place may end at several.
    if (block.lengths.size() < use.count) {
      block.lengths.assign(use.block.lengths, use.block.lengths + use.count);
      block.times.resize(use.count);
    }
    block.times[use.count - 1u] += use.times;
  }
  entries_.Add(counts);
}

CodeShares ShareCounter::Take() {
  CodeShares shares;
  for (const auto& [place, block] : blocks_) {
    uint64_t ip = place.second;
    uint64_t times = std::accumulate(block.times.begin(), block.times.end(), uint64_t{0});
    for (size_t i = 0; i < block.lengths.size(); ++i) {
      shares[PlaceOf(place.first, ip)].instructions += times;
      times -= block.times[i];
      ip += block.lengths[i];
    }
  }
  for (const auto& [place, entry] : entries_.Take()) {
    CodeShare& share = shares[PlaceOf(place.first, place.second)];
    share.calls += entry.calls;
    share.call_instructions += entry.call_instructions;
  }
  blocks_.clear();
  return shares;
}

SharePlace ShareCounter::PlaceOf(const AddressSpace* space, uint64_t ip) const {
  SharePlace result;
  const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(ip);
  if (mapping == nullptr) return result;
  if (kind_ == ShareKind::kLine) {
    const SourcePlace place = names_.lines.Find(*space, ip);
    if (!place.known()) return result;
    result.file = place.frames.front().file;
    result.line = place.frames.front().line;
    return result;
  }
  result.object = names_.recorded_path(mapping->section->name());
  if (kind_ == ShareKind::kObject) return result;
  if (const auto symbol = names_.symbolizer.Find(*space, ip)) result.function = symbol->function;
  return result;
}

}  // namespace flowback
