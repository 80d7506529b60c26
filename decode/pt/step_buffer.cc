// SPDX-License-Identifier: MIT
#include "decode/pt/step_buffer.h"

#include <algorithm>

namespace flowback::pt {

void StepBuffer::MakeRoom() {
  const size_t waiting = position() - released_;
  const size_t room = steps_.size() - kMargin;
  const auto begin = steps_.begin() + static_cast<ptrdiff_t>(released_ - base_);
  std::copy(begin, begin + static_cast<ptrdiff_t>(waiting), steps_.begin());
  base_ = released_;
  if (2 * waiting > room) steps_.resize(2 * room + kMargin);
  end_ = steps_.data() + waiting;
}

}  // namespace flowback::pt
