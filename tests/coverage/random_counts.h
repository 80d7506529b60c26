// SPDX-License-Identifier: MIT
// Counts that nothing executed, as they may come from many recordings of the same objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/saturated.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/loss_tally.h"

namespace flowback::testing {

inline ObjectId RandomId(std::mt19937_64& random) {
  ObjectId id;
  const uint64_t which = random() % 7;
  id.path = std::string(random() % 2 == 0 ? "/lib/" : "/usr/lib/") + static_cast<char>('a' + which);
  id.made_at_run_time = which == 6;
  if (which < 3) id.build_id.bytes = {1, static_cast<uint8_t>(which)};
  if (which > 3) id.checksum = which;
  if (which == 3) id.path = "/not/found";
  return id;
}

inline KeptLosses RandomLosses(std::mt19937_64& random) {
  KeptLosses losses;
  for (const LossCause cause : kAllLossCauses)
    if (random() % 8 == 0) losses.Add(cause, {.count = random() % 3, .bytes = random() % 1000});
  losses.trace_bytes = random() % 5000;
  if (random() % 4 == 0) losses.missing_bytes = random() % 300;
  if (random() % 4 == 0) losses.unattributed_bytes = random() % 300;
  losses.damage = random() % 4 == 0 ? 1 : 0;
  return losses;
}

inline CoverageCounts RandomCounts(uint64_t seed) {
  std::mt19937_64 random(seed);
  CoverageCounts counts;
  counts.recordings = 1 + random() % 2;
  counts.emulated = random() % 2 == 0;
  counts.losses = RandomLosses(random);
  for (uint64_t i = random() % 5; i != 0; --i) {
    ObjectCounts object;
    object.id = RandomId(random);
    object.mode = random() % 4 == 0 ? CodeMode::kX86_32 : CodeMode::kX86_64;
    const bool known = std::ranges::any_of(counts.objects, [&](const ObjectCounts& other) {
      return other.id.SameObject(object.id) && other.mode == object.mode;
    });
    if (!known) counts.objects.push_back(std::move(object));
  }
  std::ranges::sort(counts.objects, [](const ObjectCounts& a, const ObjectCounts& b) {
    const auto by = a.id.Compare(b.id);
    return by != 0 ? by < 0 : a.mode < b.mode;
  });
  for (ObjectCounts& object : counts.objects) {
    std::map<uint64_t, InstructionCount> instructions;
    for (uint64_t i = random() % 20; i != 0; --i) {
      const uint64_t offset = random() % 40 * 4;
      const uint64_t times = random() % 50 == 0 ? ~uint64_t{0} - random() % 3 : 1 + random() % 100;
      instructions[offset] = {offset, times, static_cast<uint8_t>(1 + random() % 15)};
    }
    for (const auto& [offset, count] : instructions) {
      object.instructions.push_back(count);
      if (random() % 4 == 0) object.branches.push_back({offset, random() % 9, random() % 9 + 1});
      if (random() % 4 == 0)
        object.targets.push_back({offset, InstructionClass::kIndirectCall,
                                  random() % 5 == 0
                                      ? TargetCount::kNoObject
                                      : static_cast<uint32_t>(random() % counts.objects.size()),
                                  random() % 100, 1 + random() % 9});
    }
    std::ranges::sort(object.targets);
    const auto [begin, end] = std::ranges::unique(object.targets);
    object.targets.erase(begin, end);
    for (const InstructionCount& count : object.instructions)
      AddSaturated(counts.instructions, count.times);
    if (random() % 3 == 0) object.losses["internal buffer overflow"] = 1 + random() % 3;
    if (random() % 3 == 0) object.losses["filtered"] = 1;
  }
  return counts;
}

}  // namespace flowback::testing
