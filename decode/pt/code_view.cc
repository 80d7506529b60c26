// SPDX-License-Identifier: MIT
#include "decode/pt/code_view.h"

#include <algorithm>

namespace flowback::pt {

BlockGraph& GraphCache::Get(const std::shared_ptr<const AddressSpace>& space, ExecMode mode) {
  std::unique_ptr<BlockGraph>& graph = graphs_[{space.get(), mode}];
  if (!graph) graph = std::make_unique<BlockGraph>(space, mode);
  return *graph;
}

PathMemo& GraphCache::Memo(BlockGraph& graph, bool compressed_returns, bool lists_blocks) {
  const auto found = std::ranges::find_if(memos_, [&](const PathMemo& memo) {
    return &memo.graph() == &graph && memo.compressed_returns() == compressed_returns &&
           memo.lists_blocks() == lists_blocks;
  });
  if (found != memos_.end()) {
    memos_.splice(memos_.begin(), memos_, found);
  } else {
    if (memos_.size() == kMostMemos) memos_.pop_back();
    memos_.emplace_front(graph, compressed_returns, lists_blocks);
  }
  return memos_.front();
}

bool CodeView::Advance(uint64_t time, uint64_t instructions) {
  const bool by_time = history_->key == AddressSpaceHistory::Key::kTime;
  const size_t before = current_;
  while (current_ + 1 < history_->epochs.size()) {
    const AddressSpaceHistory::Epoch& next = history_->epochs[current_ + 1];
    if (by_time ? next.time > time : next.instructions > instructions) break;
    ++current_;
  }
  return current_ != before;
}

bool CodeView::AdvanceFor(uint64_t address) {
  if (history_->key != AddressSpaceHistory::Key::kTime) return false;
  if (current_ + 1 >= history_->epochs.size()) return false;
  if (Epoch().space->WhyNothing(address) != nullptr) return false;
  if (history_->epochs[current_ + 1].space->Find(address) == nullptr) return false;
  ++current_;
  return true;
}

}  // namespace flowback::pt
