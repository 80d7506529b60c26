// SPDX-License-Identifier: MIT
#include "decode/flow/code_view.h"

#include <algorithm>
#include <ranges>
#include <vector>

namespace flowback::flow {

BlockGraph& GraphCache::Get(const std::shared_ptr<const AddressSpace>& space, CodeMode mode) {
  std::unique_ptr<BlockGraph>& graph = graphs_[{space.get(), mode}];
  if (!graph) graph = std::make_unique<BlockGraph>(space, mode);
  return *graph;
}

bool CodeView::Advance(uint64_t time, uint64_t instructions, bool programs) {
  const bool by_time = history_->key == AddressSpaceHistory::Key::kTime;
  const size_t before = current_;
  while (current_ + 1 < history_->epochs.size()) {
    const AddressSpaceHistory::Epoch& next = history_->epochs[current_ + 1];
    if (by_time ? next.time > time : next.instructions > instructions) break;
    if (next.program && !programs) break;
    ++current_;
  }
  return current_ != before;
}

std::optional<uint64_t> CodeView::NextProgram() {
  const std::vector<AddressSpaceHistory::Epoch>& epochs = history_->epochs;
  const bool known =
      program_.history == history_ && program_.from <= current_ && program_.at > current_;
  if (!known) {
    const auto rest =
        std::ranges::subrange(epochs.begin() + static_cast<ptrdiff_t>(current_) + 1, epochs.end());
    const auto found = std::ranges::find(rest, true, &AddressSpaceHistory::Epoch::program);
    program_ = {history_, current_, static_cast<size_t>(found - epochs.begin())};
  }
  if (program_.at == epochs.size()) return std::nullopt;
  return epochs[program_.at].time;
}

bool CodeView::AdvanceFor(uint64_t address) {
  if (history_->key != AddressSpaceHistory::Key::kTime) return false;
  if (current_ + 1 >= history_->epochs.size()) return false;
  if (Epoch().space->WhyNothing(address) != nullptr) return false;
  const AddressSpaceHistory::Epoch& next = history_->epochs[current_ + 1];
  // Lost records may have mapped other code here: the next epoch's code need not have run.
  if (next.records_lost || next.space->Find(address) == nullptr) return false;
  ++current_;
  return true;
}

}  // namespace flowback::flow
