// SPDX-License-Identifier: MIT
#include "replay/locks/holders/lock_holders.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "replay/locks/holders/hold_sweep.h"

namespace flowback {

// A thread that tries in vain many times holds nothing of what it tried for.
void LockHolders::MakeRoom(std::string_view family, std::vector<Hold>& holds) {
  const auto tried = std::ranges::find(holds, true, &Hold::likely);
  if (tried != holds.end()) {
    families_[family].is_whole = false;
    holds.erase(tried);
    --held_now_;
    return;
  }
  families_[family].is_released = false;
  held_now_ -= holds.size();
  holds.clear();
}

// A lock with an address needs one hold, however often the thread tries in vain.
bool LockHolders::HasTriedAgain(const Acquired& acquired, std::vector<Hold>& holds) {
  const auto tried = std::ranges::find_if(
      holds, [&](const Hold& each) { return each.likely && each.address == acquired.address; });
  if (tried == holds.end()) return false;
  tried->again = true;
  tried->begin = tried->end = acquired.time;
  return true;
}

void LockHolders::OnAcquired(uint32_t thread, const Acquired& acquired) {
  std::vector<Hold>& holds = held_[{thread, acquired.family}].holds;
  if (acquired.likely && acquired.address != 0 && HasTriedAgain(acquired, holds)) return;
  if (holds.size() == kMostHeld) MakeRoom(acquired.family, holds);
  const uint64_t earliest = std::min(acquired.earliest, acquired.time);
  holds.push_back({.thread = thread,
                   .site = acquired.site,
                   .address = acquired.address,
                   .earliest = earliest,
                   .begin = acquired.time,
                   .end = acquired.time,
                   .likely = acquired.likely});
  ++held_now_;
}

// Returns which of those that a thread holds it releases; the end: none. Without addresses, it is
// the one that it acquired last. A rwlock may be released by another of its words.
LockHolders::Holds::iterator LockHolders::FindHeld(Holds& holds, std::string_view family,
                                                   uint64_t address) {
  constexpr uint64_t kLargestLock = 56;  // bytes, of a pthread_rwlock_t
  const auto last = [&](auto&& is_it) {
    const auto at = std::ranges::find_if(holds.rbegin(), holds.rend(), is_it);
    return at == holds.rend() ? holds.end() : std::prev(at.base());
  };
  if (address == 0) return last([](const Hold&) { return true; });
  const auto exact = last([&](const Hold& each) { return each.address == address; });
  if (exact != holds.end()) return exact;
  const auto within = last([&](const Hold& each) {
    return family == "rwlock" && each.address != 0 && address - each.address < kLargestLock;
  });
  if (within != holds.end()) return within;
  return last([](const Hold& each) { return each.address == 0; });
}

// If addresses do not show which it releases, and it had only tried to acquire one of them, those
// that are left are not certain.
void LockHolders::OnReleasing(uint32_t thread, std::string_view family, const TimePoint& time,
                              uint64_t address) {
  Held& held = held_[{thread, family}];
  held.last = SIZE_MAX;
  const auto at = FindHeld(held.holds, family, address);
  if (at == held.holds.end()) return;
  Hold hold = *at;
  if (address == 0 || hold.address == 0) {
    const bool tried = std::ranges::any_of(held.holds, &Hold::likely);
    for (Hold& each : held.holds) each.likely = each.likely || tried;
  }
  // A thread may hold a lock several times: it may hold it yet.
  if (!std::exchange(at->again, false)) {
    held.holds.erase(at);
    --held_now_;
  }
  hold.end = std::max(time.time, hold.begin);
  hold.end_lo = std::min(time.lo, hold.end);
  hold.latest = UINT64_MAX;
  if (held_now_ == 0) activity_.End(hold.end);
  if (kept_++ >= kMost) return;
  std::vector<Hold>& holds = families_[family].holds;
  held.last = holds.size();
  holds.push_back(hold);
}

void LockHolders::OnReleased(uint32_t thread, std::string_view family, uint64_t latest) {
  const Held& held = held_[{thread, family}];
  if (held.last == SIZE_MAX) return;
  Hold& hold = families_[family].holds[held.last];
  hold.latest = std::max(latest, hold.end);
}

void LockHolders::OnWait(const LockWait& wait, std::string_view family) {
  if (kept_++ >= kMost) return;
  own_waits_[wait.thread].push_back(
      {.begin = wait.begin.time, .end = wait.end.time, .site = wait.site});
  if (family.empty()) return;
  families_[family].waits.push_back({.thread = wait.thread,
                                     .site = wait.site,
                                     .address = wait.address,
                                     .begin = wait.begin.time,
                                     .begin_lo = wait.begin.lo,
                                     .begin_hi = wait.begin.hi,
                                     .end = wait.end.time,
                                     .position = wait.position,
                                     .open = wait.state == WaitState::kCutByEnd});
}

void LockHolders::OnDoing(uint32_t thread, uint32_t node, size_t depth, uint64_t time) {
  if (held_now_ == 0) return;
  if (activity_.followed() == 0) return activity_.Begin(thread, node, depth, time);
  activity_.Move(node, time);
}

void LockHolders::OnThreadEnd(uint32_t thread, uint64_t time) {
  for (auto& [key, held] : held_) {
    if (key.first != thread) continue;
    for (Hold& hold : held.holds) {
      hold.open = true;
      hold.end = hold.end_lo = hold.latest = std::max(time, hold.begin);
      if (kept_++ < kMost) families_[key.second].holds.push_back(hold);
    }
    held.holds.clear();
  }
  activity_.End(time);
  held_now_ = 0;
}

// What the thread did between two times in which others waited for it. Returns for how long it
// waited itself or was off the CPU.
uint64_t LockHolders::AddDoing(uint32_t thread, uint64_t begin, uint64_t end, TimeAway& away,
                               Sums& sums) const {
  uint64_t waited = 0;
  activity_.Between(thread, begin, end,
                    [&](uint32_t node, uint64_t time) { sums.doing[node] += time; });
  TimeAway::Sum off = away.Between(thread, begin, end);
  if (const auto own = own_waits_.find(thread); own != own_waits_.end()) {
    const std::vector<OwnWait>& waits = own->second;
    auto wait = std::ranges::upper_bound(waits, begin, {}, &OwnWait::end);
    uint64_t from = begin;
    for (; wait != waits.end() && wait->begin < end; ++wait) {
      const uint64_t first = std::max(from, wait->begin);
      from = std::max(first, std::min(end, wait->end));
      sums.waiting[wait->site] += from - first;
      waited += from - first;
      const TimeAway::Sum within = away.Between(thread, first, from);
      off.off_cpu -= within.off_cpu;
      off.preempted -= within.preempted;
    }
  }
  sums.holder.waiting += waited;
  sums.holder.off_cpu += off.off_cpu;
  sums.holder.preempted += off.preempted;
  return waited + off.off_cpu;
}

void LockHolders::Convoy::Add(uint32_t thread, uint64_t from, LockHolder& holder) {
  if (begin != from) *this = {.begin = from, .threads = {}, .holders = {}};
  threads.insert(thread);
  holders.insert(&holder);
  for (LockHolder* each : holders)
    each->convoy = std::max(each->convoy, static_cast<uint32_t>(threads.size()));
}

// Returns the innermost call in which it was for at least half of the time.
uint32_t LockHolders::MainCall(const Sums& sums) const {
  const std::vector<InstancePath>& nodes = paths_.nodes();
  std::map<uint32_t, uint64_t> times;  // with what each calls
  for (const auto& [node, time] : sums.doing)
    for (uint32_t at = node; at != PathTree::kRoot; at = nodes[at].parent) times[at] += time;
  uint32_t main = PathTree::kRoot;
  for (const auto& [node, time] : times)
    if (2 * time >= sums.holder.time && nodes[node].depth > nodes[main].depth) main = node;
  return main;
}

void LockHolders::TellFamily(bool proves, const HoldFamily& family, TimeAway& away,
                             LockReport& report) {
  std::map<std::pair<uint32_t, uint32_t>, Share> shares;  // by wait and thread
  std::map<uint32_t, Convoy> convoys;                     // by thread that holds
  const auto give = [&](const HoldSweep::Part& part) {
    Share& share = shares[{part.wait, part.thread}];
    share.time += part.end - part.begin;
    if (part.is_only && proves) share.certain += part.end - part.begin;
    const HoldWait& wait = family.waits[part.wait];
    Sums& sums = sums_[{wait.site, part.thread}];
    const uint64_t time = AddDoing(part.thread, part.begin, part.end, away, sums);
    if (2 * time > part.end - part.begin)
      convoys[part.thread].Add(wait.thread, part.begin, sums.holder);
  };
  if (!family.is_released || !HoldSweep(family, report.threads).Run(give)) return;
  std::map<std::pair<uint32_t, uint64_t>, std::pair<uint32_t, Share>> most;  // by thread, position
  for (const auto& [key, share] : shares) {
    const HoldWait& wait = family.waits[key.first];
    LockHolder& holder = sums_[{wait.site, key.second}].holder;
    ++holder.waits;
    holder.time += share.time;
    holder.certain += share.certain;
    auto& best = most[{wait.thread, wait.position}];
    if (share.time > best.second.time) best = {key.second, share};
  }
  for (std::vector<LockWait>* waits : {&report.worst, &report.open})
    for (LockWait& wait : *waits) {
      const auto found = most.find({wait.thread, wait.position});
      if (found == most.end()) continue;
      wait.holder = found->second.first;
      // It may have been released a little earlier than its end is known to be.
      const Share& share = found->second.second;
      wait.is_certain = share.certain >= share.time - share.time / 100;
    }
  TellOpen(proves, family, report);
}

// What a thread waits for when all ends is held by one of those that did not release what they
// held.
void LockHolders::TellOpen(bool proves, const HoldFamily& family, LockReport& report) {
  for (LockWait& wait : report.open) {
    const auto is_it = [&](const HoldWait& each) {
      return each.open && each.thread == wait.thread && each.position == wait.position;
    };
    if (std::ranges::none_of(family.waits, is_it)) continue;
    std::map<uint32_t, bool> holders;  // by thread: whether it does hold something
    for (const Hold& hold : family.holds)
      if (hold.open && hold.thread != wait.thread && MayBeSame(hold.address, wait.address) &&
          (family.is_kernels || report.threads[hold.thread].pid == report.threads[wait.thread].pid))
        holders[hold.thread] |= !hold.likely;
    if (holders.size() != 1) continue;
    wait.holder = holders.begin()->first;
    wait.is_certain = proves && family.is_whole && holders.begin()->second;
  }
}

// Each thread waits for one at most, so a cycle is found by going on from any of its threads.
void LockHolders::FindCycles(LockReport& report) {
  std::map<uint32_t, uint32_t> open_of;  // by thread, in report.open
  for (uint32_t i = 0; i < report.open.size(); ++i) open_of[report.open[i].thread] = i;
  std::set<uint32_t> seen;
  for (const auto& [thread, first] : open_of) {
    std::vector<uint32_t> way;
    uint32_t at = thread;
    while (!seen.contains(at) && open_of.contains(at)) {
      seen.insert(at);
      way.push_back(open_of[at]);
      const LockWait& wait = report.open[way.back()];
      if (!wait.is_certain) break;
      at = wait.holder;
    }
    const auto begin =
        std::ranges::find_if(way, [&](uint32_t each) { return report.open[each].thread == at; });
    if (begin == way.end() || !report.open[way.back()].is_certain) continue;
    report.cycles.push_back({.waits = {begin, way.end()}});
  }
}

void LockHolders::Tell(bool proves, TimeAway& away, LockReport& report) {
  if (kept_ > kMost) return;
  for (auto& [thread, waits] : own_waits_) std::ranges::stable_sort(waits, {}, &OwnWait::begin);
  for (auto& [name, family] : families_) {
    family.is_kernels = name.starts_with("kernel");
    family.is_shared = name == "rwlock" || name == "kernel rwsem";
    TellFamily(proves, family, away, report);
  }
  for (auto& [key, sums] : sums_) {
    sums.holder.site = key.first;
    sums.holder.thread = key.second;
    sums.holder.path = MainCall(sums);
    const auto longest =
        std::ranges::max_element(sums.waiting, {}, [](const auto& each) { return each.second; });
    if (longest != sums.waiting.end() && longest->second != 0)
      sums.holder.waits_at = longest->first;
    report.holders.push_back(sums.holder);
  }
  std::ranges::stable_sort(report.holders, [](const LockHolder& a, const LockHolder& b) {
    return a.site != b.site ? a.site < b.site : a.time > b.time;
  });
  FindCycles(report);
}

}  // namespace flowback
