// SPDX-License-Identifier: MIT
#include "flowback/replay/coverage_counts.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/saturated.h"
#include "replay/coverage/object_id.h"

namespace flowback {
namespace {

auto KeyOf(const InstructionCount& count) { return count.offset; }
auto KeyOf(const BranchCount& count) { return count.offset; }
auto KeyOf(const TargetCount& count) {
  return std::tuple(count.offset, count.kind, count.object, count.target);
}

// One offset may have been decoded in two ways where code was rewritten: the longer one stays, so
// that the order of adding does not matter.
void AddTo(InstructionCount& sum, const InstructionCount& more) {
  AddSaturated(sum.times, more.times);
  sum.length = std::max(sum.length, more.length);
}
void AddTo(BranchCount& sum, const BranchCount& more) {
  AddSaturated(sum.taken, more.taken);
  AddSaturated(sum.not_taken, more.not_taken);
}
void AddTo(TargetCount& sum, const TargetCount& more) { AddSaturated(sum.times, more.times); }

template <class Count>
bool IsBefore(const Count& a, const Count& b) {
  return KeyOf(a) < KeyOf(b);
}

// The first of a sorted list from `at` on that is not before `wanted`. Looks close by first: the
// wanted items come in order, too.
template <class Count>
size_t Seek(const std::vector<Count>& list, size_t at, const Count& wanted) {
  size_t step = 1;
  size_t low = at;
  while (at < list.size() && IsBefore(list[at], wanted)) {
    low = at + 1;
    at += step;
    step *= 2;
  }
  const auto begin = list.begin();
  const auto end = begin + static_cast<ptrdiff_t>(std::min(at, list.size()));
  return static_cast<size_t>(
      std::lower_bound(begin + static_cast<ptrdiff_t>(low), end, wanted, IsBefore<Count>) - begin);
}

template <class Count>
void AddList(std::vector<Count>& sum, const std::vector<Count>& more) {
  std::vector<Count> missing;
  size_t at = 0;
  for (const Count& count : more) {
    at = Seek(sum, at, count);
    if (at < sum.size() && KeyOf(sum[at]) == KeyOf(count))
      AddTo(sum[at], count);
    else
      missing.push_back(count);
  }
  if (missing.empty()) return;
  std::vector<Count> all;
  all.reserve(sum.size() + missing.size());
  std::ranges::merge(sum, missing, std::back_inserter(all), IsBefore<Count>);
  sum = std::move(all);
}

std::strong_ordering Compare(const ObjectCounts& a, const ObjectCounts& b) {
  if (const auto by = a.id.Compare(b.id); by != 0) return by;
  return a.mode <=> b.mode;
}

// Where the objects of each of two sorted lists stand in the list of all of them.
struct Places {
  std::vector<uint32_t> own;
  std::vector<uint32_t> others;
};

Places PlacesOf(const std::vector<ObjectCounts>& own, const std::vector<ObjectCounts>& others) {
  Places places;
  uint32_t number = 0;
  size_t i = 0;
  size_t j = 0;
  for (; i < own.size() || j < others.size(); ++number) {
    const auto by = i == own.size()      ? std::strong_ordering::greater
                    : j == others.size() ? std::strong_ordering::less
                                         : Compare(own[i], others[j]);
    if (by <= 0) {
      places.own.push_back(number);
      ++i;
    }
    if (by >= 0) {
      places.others.push_back(number);
      ++j;
    }
  }
  return places;
}

// Numbers keep their order, so the list stays sorted.
void Renumber(std::vector<TargetCount>& targets, const std::vector<uint32_t>& places) {
  for (TargetCount& target : targets)
    if (target.object < places.size()) target.object = places[target.object];
}

void MakeRoom(std::vector<ObjectCounts>& own, const std::vector<uint32_t>& places, size_t size) {
  for (ObjectCounts& object : own) Renumber(object.targets, places);
  own.resize(size);
  for (size_t i = places.size(); i-- != 0 && places[i] != i;)
    own[places[i]] = std::exchange(own[i], {});
}

void AddObject(ObjectCounts& sum, const ObjectCounts& more, std::vector<TargetCount> targets) {
  sum.id.path = std::min(sum.id.path, more.id.path);
  AddList(sum.instructions, more.instructions);
  AddList(sum.branches, more.branches);
  AddList(sum.targets, targets);
  for (const auto& [cause, count] : more.losses) AddSaturated(sum.losses[cause], count);
  if (more.replaced.empty()) return;
  sum.replaced.insert(sum.replaced.end(), more.replaced.begin(), more.replaced.end());
  Normalize(sum.replaced);
}

}  // namespace

void Normalize(std::vector<ReplacedRange>& ranges) {
  std::ranges::sort(ranges);
  size_t kept = 0;
  for (const ReplacedRange& range : ranges) {
    if (range.begin >= range.end) continue;
    if (kept != 0 && range.begin <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

bool ObjectCounts::operator==(const ObjectCounts& other) const {
  return id.SameObject(other.id) && id.path == other.id.path && mode == other.mode &&
         instructions == other.instructions && branches == other.branches &&
         targets == other.targets && losses == other.losses && replaced == other.replaced;
}

void CoverageCounts::Add(const CoverageCounts& other) {
  if (&other == this) return Add(CoverageCounts(other));
  const Places places = PlacesOf(objects, other.objects);
  const size_t size = 1 + std::max(places.own.empty() ? 0 : size_t{places.own.back()},
                                   places.others.empty() ? 0 : size_t{places.others.back()});
  std::vector<bool> is_new(size, true);
  for (const uint32_t place : places.own) is_new[place] = false;
  if (!other.objects.empty() && size != objects.size()) MakeRoom(objects, places.own, size);
  for (size_t i = 0; i < other.objects.size(); ++i) {
    ObjectCounts& sum = objects[places.others[i]];
    std::vector<TargetCount> targets = other.objects[i].targets;
    Renumber(targets, places.others);
    if (is_new[places.others[i]]) {
      sum = other.objects[i];
      sum.targets = std::move(targets);
    } else {
      AddObject(sum, other.objects[i], std::move(targets));
    }
  }
  AddSaturated(recordings, other.recordings);
  AddSaturated(instructions, other.instructions);
  emulated |= other.emulated;
  losses.Add(other.losses);
}

void CoverageCounts::AddLoss(const std::string& cause, uint64_t count) {
  if (count == 0) return;
  for (ObjectCounts& object : objects) AddSaturated(object.losses[cause], count);
}

}  // namespace flowback
