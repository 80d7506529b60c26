// SPDX-License-Identifier: MIT
#include "replay/locks/lock_instances.h"

#include <algorithm>
#include <map>

namespace flowback {

// Null: there are too many.
LockInstances::Place* LockInstances::PlaceOf(uint32_t thread, uint64_t address) {
  const Key key{.pid = pids_[thread], .address = address};
  if (places_.size() >= kMost) {
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : &found->second;
  }
  const auto [at, is_new] = places_.try_emplace(key);
  if (is_new) {
    at->second.lock.pid = key.pid;
    at->second.lock.address = address;
  }
  return &at->second;
}

uint32_t LockInstances::NumberOf(uint32_t thread, const AtomicUse& use, bool is_event) {
  Place* place = PlaceOf(thread, use.address);
  if (place == nullptr) return LockWait::kNoInstance;
  if (!place->number) {
    place->number = static_cast<uint32_t>(numbered_.size());
    place->lock.is_event = is_event;
    numbered_.push_back({.pid = pids_[thread], .address = use.address});
  }
  place->lock.is_event = place->lock.is_event && is_event;
  if (!is_event && !use.futex) acquiring_.insert(use.ip);
  return *place->number;
}

// Neighbours that nobody waited for matter as well: what they share a line with is slower for it.
std::vector<LockInstance> LockInstances::Take() {
  std::vector<LockInstance> locks;
  for (const Key& key : numbered_) locks.push_back(places_[key].lock);
  std::vector<LockInstance> others;
  for (auto& [key, place] : places_)
    if (!place.number && acquiring_.contains(place.lock.ip)) others.push_back(place.lock);
  std::ranges::sort(others, {},
                    [](const LockInstance& each) { return std::pair(each.pid, each.address); });
  locks.insert(locks.end(), others.begin(), others.end());
  return locks;
}

namespace {

// Whether one thread uses one of them and another thread another one.
bool AreOfSeveralThreads(const std::vector<LockInstance>& locks,
                         const std::vector<uint32_t>& line) {
  std::set<uint32_t> threads;
  for (const uint32_t lock : line)
    threads.insert(locks[lock].threads.begin(), locks[lock].threads.end());
  return threads.size() > 1;
}

}  // namespace

std::vector<std::vector<uint32_t>> SharedLines(const std::vector<LockInstance>& locks) {
  constexpr uint64_t kLine = 64;
  std::map<std::pair<int32_t, uint64_t>, std::vector<uint32_t>> lines;
  for (uint32_t i = 0; i < locks.size(); ++i)
    if (!locks[i].is_event) lines[{locks[i].pid, locks[i].address / kLine}].push_back(i);
  std::vector<std::vector<uint32_t>> shared;
  for (auto& [key, line] : lines) {
    if (line.size() < 2 || !AreOfSeveralThreads(locks, line)) continue;
    std::ranges::sort(line, {}, [&](uint32_t each) { return locks[each].address; });
    shared.push_back(line);
  }
  return shared;
}

}  // namespace flowback
