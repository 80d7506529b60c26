// SPDX-License-Identifier: MIT
#include "decode/flow/step_buffer.h"

#include <algorithm>

namespace flowback::flow {

StepBuffer& StepBuffer::operator=(const StepBuffer& other) {
  if (this == &other) return *this;
  const size_t waiting = other.position() - other.released_;
  const BlockStep* from = other.steps_.data() + (other.released_ - other.base_);
  steps_.assign(from, from + waiting);
  steps_.resize(waiting + kMargin);
  const StepCount* counts = other.counts_.data() + (other.released_ - other.base_);
  counts_.assign(counts, counts + waiting);
  counts_.resize(waiting + kMargin);
  base_ = released_ = other.released_;
  end_ = steps_.data() + waiting;
  return *this;
}

void StepBuffer::MakeRoom() {
  const size_t waiting = position() - released_;
  const size_t room = steps_.size() - kMargin;
  const auto to_begin = [&](auto& of) {
    const auto begin = of.begin() + static_cast<ptrdiff_t>(released_ - base_);
    std::copy(begin, begin + static_cast<ptrdiff_t>(waiting), of.begin());
  };
  to_begin(steps_);
  to_begin(counts_);
  base_ = released_;
  if (2 * waiting > room || room < kFirst) {
    steps_.resize(std::max(2 * room, kFirst) + kMargin);
    counts_.resize(steps_.size());
  }
  end_ = steps_.data() + waiting;
}

}  // namespace flowback::flow
