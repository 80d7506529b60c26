// SPDX-License-Identifier: MIT
#include "replay/locks/cycle_marks.h"

#include <algorithm>
#include <iterator>

namespace flowback {

void CycleMarks::Add(uint64_t position, const CycleMark& mark) {
  if (!mark.any()) return;
  const uint64_t before = sums_.empty() ? 0 : sums_.back().cycles;
  // Without a mark before, it is not known where its instructions begin.
  const bool counts = mark.since() == CycleMark::Since::kFlow && !sums_.empty();
  sums_.push_back({position, before + (counts ? mark.cycles() : 0)});
}

uint64_t CycleMarks::UpTo(uint64_t position) const {
  const auto next = std::ranges::lower_bound(sums_, position, {}, &Sum::position);
  if (next == sums_.end()) return sums_.empty() ? 0 : sums_.back().cycles;
  if (next == sums_.begin()) return next->cycles;
  const auto last = std::prev(next);
  const double share = static_cast<double>(position - last->position) /
                       static_cast<double>(next->position - last->position);
  return last->cycles +
         static_cast<uint64_t>(static_cast<double>(next->cycles - last->cycles) * share);
}

void CycleMarks::ForgetOld() {
  if (sums_.size() > kMost)
    sums_.erase(sums_.begin(), sums_.end() - static_cast<std::ptrdiff_t>(kMost));
}

}  // namespace flowback
