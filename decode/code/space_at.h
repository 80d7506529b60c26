// SPDX-License-Identifier: MIT
// A process's address space at a moment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "flowback/decode/code_image.h"

namespace flowback {

// `time` in perf nanoseconds; before the first epoch: that one's. REQUIRES: the history is by time.
inline const AddressSpace& SpaceAt(const AddressSpaceHistory& history, uint64_t time) {
  const auto& epochs = history.epochs;
  const auto after = std::ranges::upper_bound(epochs, time, {}, &AddressSpaceHistory::Epoch::time);
  return after == epochs.begin() ? *after->space : *std::prev(after)->space;
}

}  // namespace flowback
