// SPDX-License-Identifier: MIT
#include "replay/locks/loops/wait_loops.h"

#include <algorithm>

namespace flowback {
uint64_t HashOf(std::span<const TrailPart> path) {
  uint64_t hash = path.empty() ? 0 : reinterpret_cast<uintptr_t>(path.front().block->space);
  for (const TrailPart& part : path) {
    hash = (hash ^ part.begin) * 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 29) ^ part.end << 1 ^ uint64_t{part.taken}) * 0xbf58476d1ce4e5b9;
  }
  return hash ^ hash >> 32;
}

std::vector<TripPart> PartsOf(std::span<const TrailPart> path) {
  std::vector<TripPart> parts;
  parts.reserve(path.size());
  for (const TrailPart& part : path)
    parts.push_back(
        {.address = part.begin,
         .code = part.block->code.subspan(part.begin - part.block->address, part.end - part.begin),
         .mode = part.block->mode,
         .taken = part.taken});
  return parts;
}

WaitLoop& WaitLoops::Of(std::span<const TrailPart> path) {
  const auto is_same = [](const TrailPart& a, const TrailPart& b) { return a.IsSame(b); };
  const uint64_t hash = HashOf(path);
  for (auto [at, end] = by_hash_.equal_range(hash); at != end; ++at)
    if (std::ranges::equal(at->second->path, path, is_same)) return *at->second;
  if (loops_.size() == kMost) {
    other_.path.assign(path.begin(), path.end());
    other_.verdict = {.kind = LoopKind::kDoubtful, .reason = LoopReason::kTooLong};
    return other_;
  }
  WaitLoop& loop = loops_.emplace_back();
  loop.path.assign(path.begin(), path.end());
  loop.path.back().taken = true;
  if (loop.path.front().block->is_vdso)
    loop.verdict = {.kind = LoopKind::kWork, .reason = LoopReason::kReadsClock};
  else
    loop.verdict = JudgeTrip(PartsOf(loop.path));
  by_hash_.emplace(hash, &loop);
  return loop;
}

}  // namespace flowback
