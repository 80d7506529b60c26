// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/step_player.h"

#include <algorithm>
#include <tuple>

namespace flowback {

StepPlayer::StepPlayer(const std::vector<Instance>& instances, const std::vector<uint32_t>& numbers,
                       BranchTable& branches, BranchSink& sink)
    : branches_(branches), sink_(sink) {
  for (const uint32_t number : numbers) {
    const Instance& instance = instances[number];
    stretches_.push_back({.thread = instance.thread,
                          .begin = instance.first_instruction,
                          .end = instance.end_instruction,
                          .number = number});
  }
  std::ranges::sort(stretches_, {}, [](const Stretch& each) {
    return std::tuple(each.thread, each.begin, each.number);
  });
  const auto same = std::ranges::unique(stretches_, {}, &Stretch::number);
  stretches_.erase(same.begin(), same.end());
}

void StepPlayer::OnThreadBegin(const ThreadFlow&, size_t number) {
  const auto of_thread = std::ranges::equal_range(stretches_, number, {}, &Stretch::thread);
  next_ = static_cast<size_t>(of_thread.begin() - stretches_.begin());
  end_ = static_cast<size_t>(of_thread.end() - stretches_.begin());
  wanted_ = true;
  instructions_ = 0;
}

// Whether some of these instructions lie in a stretch.
bool StepPlayer::Comes(uint64_t begin, uint64_t end) {
  for (; next_ < end_ && stretches_[next_].end <= begin; ++next_) wanted_ = true;
  return next_ < end_ && stretches_[next_].begin < end;
}

// A step belongs to the instance that is open where the step begins.
void StepPlayer::Step(uint64_t position, uint32_t edge) {
  if (edge == BranchTable::kNoEdge || !wanted_ || stretches_[next_].begin > position) return;
  wanted_ = sink_.OnStep(stretches_[next_].number, edge);
}

void StepPlayer::OnBlock(const BlockRun& run) {
  const uint64_t begin = instructions_;
  instructions_ += run.lengths.size();
  if (Comes(begin, instructions_)) Step(begin, branches_.OfRun(run));
}

void StepPlayer::OnBlocks(const BlockBatch& batch) {
  const BlockTable& table = *batch.table;
  uint64_t position = instructions_;
  instructions_ += batch.instructions();
  if (!Comes(position, instructions_)) return;
  const bool has_all = !wanted_ && stretches_[next_].end >= instructions_;
  if (has_all) return;
  for (size_t i = 0; i < batch.steps.size(); ++i) {
    const uint64_t behind = position + table[batch.steps[i].number()].count;
    if (Comes(position, behind)) Step(position, branches_.OfStep(batch, i));
    position = behind;
  }
}

}  // namespace flowback
