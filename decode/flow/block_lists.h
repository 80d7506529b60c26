// SPDX-License-Identifier: MIT
// The blocks that a memo's paths pass, for sinks that hand on each block: lists of steps that lie
// in one range of memory, so that using a path means to copy a list, in a few parts of a fixed
// size.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/zeroed_pool.h"
#include "flowback/model/block_batch.h"

namespace flowback::flow {

class BlockLists {
 public:
  // Names a list: where it begins, in units, and in the lowest byte how many steps it has. 0: none.
  using Ref = uint32_t;
  static constexpr unsigned kMost = 64;  // steps in a list
  // Copying may write up to this many steps behind the list's end.
  static constexpr unsigned kSpill = 16;

  // The steps of a path up to the first one that took a packet, and their instructions. 0 steps:
  // none did.
  struct Lead {
    uint16_t steps = 0;
    uint16_t instructions = 0;
  };

  // Keeps a list, with as many counts. REQUIRES: HasRoom for it; 1 to kMost steps.
  Ref Keep(std::span<const BlockStep> steps, const StepCount* counts, Lead lead);
  bool HasRoom(unsigned count) const {
    return !free_[UnitsOf(count)].empty() || used_ + UnitsOf(count) <= kUnits;
  }
  // Gives the list's place to others. 0 may be freed, too: nothing happens then.
  void Free(Ref list);

  // The steps of a list; valid until it is freed.
  std::span<const BlockStep> At(Ref list) const {
    return {steps_ + (list >> kCountBits) * size_t{kUnit}, CountOf(list)};
  }
  void FetchAhead(Ref list) const { __builtin_prefetch(At(list).data()); }
  const Lead& LeadOf(Ref list) const { return leads_[list >> kCountBits]; }
  // Copies the list's steps, and returns how many there are. It copies `kAtOnce` of them at a time,
  // so most lists should have no more than those.
  template <unsigned kAtOnce>
  [[gnu::always_inline]] unsigned Copy(Ref list, BlockStep* to) const {
    return CopyOf<kAtOnce>(steps_, list, to);
  }
  // Copies their counts in the same way.
  template <unsigned kAtOnce>
  [[gnu::always_inline]] unsigned CopyCounts(Ref list, StepCount* to) const {
    return CopyOf<kAtOnce>(counts_, list, to);
  }
  static unsigned CountOf(Ref list) { return list & ((1u << kCountBits) - 1); }

 private:
  static constexpr unsigned kCountBits = 8;
  static constexpr unsigned kUnit = 8;  // steps
  static constexpr size_t kUnits = size_t{1} << 19;
  static unsigned UnitsOf(unsigned count) { return (count + kUnit - 1) / kUnit; }
  template <unsigned kAtOnce, class T>
  [[gnu::always_inline]] static unsigned CopyOf(const T* all, Ref list, T* to) {
    static_assert(kAtOnce <= kSpill);
    const T* const from = all + (list >> kCountBits) * size_t{kUnit};
    std::memcpy(to, from, sizeof(T) * kAtOnce);
    const unsigned count = CountOf(list);
    for (unsigned i = kAtOnce; i < count; i += kAtOnce)
      std::memcpy(to + i, from + i, sizeof(T) * kAtOnce);
    return count;
  }

  ZeroedPool pool_{ZeroedPool::SizeOf<BlockStep>(kUnits * kUnit + kSpill) +
                   ZeroedPool::SizeOf<StepCount>(kUnits * kUnit + kSpill) +
                   ZeroedPool::SizeOf<Lead>(kUnits)};
  BlockStep* const steps_ = pool_.Take<BlockStep>(kUnits * kUnit + kSpill);
  StepCount* const counts_ = pool_.Take<StepCount>(kUnits * kUnit + kSpill);
  Lead* const leads_ = pool_.Take<Lead>(kUnits);               // by the list's first unit
  uint32_t used_ = 1;                                          // units; the first one is of no list
  std::array<std::vector<uint32_t>, kMost / kUnit + 1> free_;  // by size in units
};

}  // namespace flowback::flow
