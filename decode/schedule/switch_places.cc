// SPDX-License-Identifier: MIT
#include "decode/schedule/switch_places.h"

#include <algorithm>
#include <utility>

namespace flowback {

void SwitchPlaces::Add(size_t begin, size_t end, const SwitchPlace& place) {
  if (begin >= end) return;
  if (!runs_.empty() && runs_.back().end == begin && runs_.back().place == place)
    runs_.back().end = end;
  else
    runs_.push_back({begin, end, place});
}

// All places within a run are the same, so only those on the two sides of a border can be in the
// wrong order.
void SwitchPlaces::KeepOrder() {
  const auto meet = [this](size_t run) {
    return runs_[run - 1].end == runs_[run].begin && runs_[run - 1].place.known() &&
           runs_[run].place.known();
  };
  for (size_t i = 1; i < runs_.size(); ++i)
    if (meet(i)) runs_[i].place.first = std::max(runs_[i].place.first, runs_[i - 1].place.first);
  for (size_t i = runs_.size(); i-- > 1;)
    if (meet(i)) runs_[i - 1].place.last = std::min(runs_[i - 1].place.last, runs_[i].place.last);
  for (const Run& run : std::exchange(runs_, {})) Add(run.begin, run.end, run.place);
}

SwitchPlace SwitchPlaces::operator[](size_t stay) const {
  const auto behind = std::ranges::upper_bound(runs_, stay, {}, &Run::begin);
  if (behind == runs_.begin() || std::prev(behind)->end <= stay) return {};
  return std::prev(behind)->place;
}

}  // namespace flowback
