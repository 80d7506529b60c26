// SPDX-License-Identifier: MIT
#include "replay/locks/lock_holders.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

namespace flowback {

void LockHolders::OnAcquired(uint32_t thread, std::string_view family, uint32_t site, uint64_t time,
                             bool likely, uint64_t address) {
  std::vector<Hold>& held = held_[{thread, family}];
  if (held.size() == kMostHeld) {
    families_[family].is_released = false;
    held.clear();
  }
  held.push_back({.thread = thread,
                  .site = site,
                  .begin = time,
                  .end = time,
                  .address = address,
                  .likely = likely});
}

void LockHolders::OnReleased(uint32_t thread, std::string_view family, uint64_t time,
                             uint64_t address) {
  Held& held = held_[{thread, family}];
  const auto at = FindHeld(held, family, address);
  if (at == held.end()) return;
  const Hold hold = *at;
  held.erase(at);
  Release(hold, family, time, false);
}

// Returns which of those that a thread holds it releases; the end: none. Where addresses do not
// tell, it is the one that it acquired last. A rwlock may be released by another of its words.
LockHolders::Held::iterator LockHolders::FindHeld(Held& held, std::string_view family,
                                                  uint64_t address) {
  constexpr uint64_t kLargestLock = 56;  // bytes, of a pthread_rwlock_t
  const auto last = [&](auto&& is_it) {
    const auto at = std::ranges::find_if(held.rbegin(), held.rend(), is_it);
    return at == held.rend() ? held.end() : std::prev(at.base());
  };
  if (address == 0) return last([](const Hold&) { return true; });
  const auto exact = last([&](const Hold& each) { return each.address == address; });
  if (exact != held.end()) return exact;
  const auto within = last([&](const Hold& each) {
    return family == "rwlock" && each.address != 0 && address - each.address < kLargestLock;
  });
  if (within != held.end()) return within;
  return last([](const Hold& each) { return each.address == 0; });
}

void LockHolders::Release(const Hold& hold, std::string_view family, uint64_t time, bool open) {
  if (kept_++ >= kMost) return;
  Hold& kept = families_[family].holds.emplace_back(hold);
  kept.end = std::max(time, hold.begin);
  kept.open = open;
}

void LockHolders::OnWait(const LockWait& wait, std::string_view family) {
  if (kept_++ >= kMost) return;
  families_[family].waits.push_back({.thread = wait.thread,
                                     .site = wait.site,
                                     .begin = wait.begin.time,
                                     .end = wait.end.time,
                                     .position = wait.position,
                                     .address = wait.address,
                                     .open = wait.state == WaitState::kCutByEnd});
}

void LockHolders::OnThreadEnd(uint32_t thread, uint64_t time) {
  for (auto& [key, held] : held_) {
    if (key.first != thread) continue;
    for (const Hold& hold : std::views::reverse(held)) Release(hold, key.second, time, true);
    held.clear();
  }
}

// Goes through what one family of one recording did, in the order of time.
class LockHolders::Sweep {
 public:
  Sweep(const Family& family, const LockReport& report) : family_(family), report_(report) {
    for (uint32_t i = 0; i < family.holds.size(); ++i) {
      const Hold& hold = family.holds[i];
      if (hold.begin == hold.end) continue;
      moments_.push_back({hold.begin, kHoldBegins, i});
      moments_.push_back({hold.end, kHoldEnds, i});
    }
    for (uint32_t i = 0; i < family.waits.size(); ++i) {
      const Waiting& wait = family.waits[i];
      if (wait.begin == wait.end) continue;
      moments_.push_back({wait.begin, kWaitBegins, i});
      moments_.push_back({wait.end, kWaitEnds, i});
    }
    std::ranges::sort(moments_, {}, [](const Moment& each) {
      return std::tuple(each.time, each.what, each.number);
    });
  }

  // Returns false if that would take too long. Calls give(wait, thread, time, is_only) for each
  // time in which a thread held something while the wait went on.
  template <typename Give>
  bool Run(Give&& give) {
    uint64_t steps = 0;
    uint64_t now = 0;
    for (const Moment& moment : moments_) {
      if (moment.time > now && !waits_.empty() && !holders_.empty()) {
        steps += waits_.size() * holders_.size();
        if (steps > kMostSteps) return false;
        for (const uint32_t wait : waits_) GiveTo(wait, moment.time - now, give);
      }
      now = moment.time;
      Pass(moment);
    }
    return true;
  }

 private:
  enum What : uint8_t { kHoldEnds, kWaitEnds, kHoldBegins, kWaitBegins };
  struct Moment {
    uint64_t time = 0;
    What what{};
    uint32_t number = 0;
  };

  void Pass(const Moment& moment) {
    switch (moment.what) {
      case kHoldBegins:
        ++holders_[KeyOf(moment)];
        return;
      case kHoldEnds: {
        const Hold& hold = family_.holds[moment.number];
        std::erase_if(only_, [&](const auto& each) {
          return each.second == hold.thread &&
                 MayBeSame(hold.address, family_.waits[each.first].address);
        });
        const auto at = holders_.find(KeyOf(moment));
        if (--at->second == 0) holders_.erase(at);
        return;
      }
      case kWaitBegins:
        waits_.insert(moment.number);
        FindOnly(moment.number);
        return;
      case kWaitEnds:
        waits_.erase(moment.number);
        only_.erase(moment.number);
        return;
    }
  }

  // A thread, the address of what it holds, and whether it may only have tried to.
  struct Key {
    uint32_t thread = 0;
    uint64_t address = 0;
    bool likely = false;
    auto operator<=>(const Key&) const = default;
  };
  Key KeyOf(const Moment& moment) const {
    const Hold& hold = family_.holds[moment.number];
    return {hold.thread, hold.address, hold.likely};
  }

  bool CanHold(const Key& holder, uint32_t wait) const {
    const Waiting& waiting = family_.waits[wait];
    return holder.thread != waiting.thread && MayBeSame(holder.address, waiting.address) &&
           report_.threads[holder.thread].pid == report_.threads[waiting.thread].pid;
  }

  // Somebody holds what a thread begins to wait for. If one thread alone can, it does until it
  // releases something.
  void FindOnly(uint32_t wait) {
    uint32_t only = LockWait::kNoThread;
    for (const auto& [holder, holds] : holders_) {
      if (!CanHold(holder, wait) || holder.thread == only) continue;
      if (only != LockWait::kNoThread) return;
      only = holder.thread;
    }
    if (only != LockWait::kNoThread) only_[wait] = only;
  }

  // Returns the thread that holds the very lock, as its address says; kNoThread: none or several.
  uint32_t OnlyByAddress(uint32_t wait) const {
    uint32_t only = LockWait::kNoThread;
    if (family_.waits[wait].address == 0) return only;
    for (const auto& [holder, holds] : holders_) {
      const bool is_it = holder.address == family_.waits[wait].address && !holder.likely;
      if (!is_it || !CanHold(holder, wait) || holder.thread == only) continue;
      if (only != LockWait::kNoThread) return LockWait::kNoThread;
      only = holder.thread;
    }
    return only;
  }

  template <typename Give>
  void GiveTo(uint32_t wait, uint64_t time, Give& give) {
    if (const auto only = only_.find(wait); only != only_.end())
      return give(wait, only->second, time, true);
    if (const uint32_t thread = OnlyByAddress(wait); thread != LockWait::kNoThread)
      return give(wait, thread, time, true);
    uint32_t last = LockWait::kNoThread;  // a thread may hold several: they are next to each other
    for (const auto& [holder, holds] : holders_)
      if (CanHold(holder, wait) && std::exchange(last, holder.thread) != holder.thread)
        give(wait, holder.thread, time, false);
  }

  const Family& family_;
  const LockReport& report_;
  std::vector<Moment> moments_;
  std::map<Key, uint32_t> holders_;  // how often each is held
  std::set<uint32_t> waits_;
  std::map<uint32_t, uint32_t> only_;  // by wait: the thread that holds what it is for
};

void LockHolders::TellFamily(bool proves, Family& family, LockReport& report) {
  std::map<std::pair<uint32_t, uint32_t>, Share> shares;  // by wait and thread
  const auto give = [&](uint32_t wait, uint32_t thread, uint64_t time, bool is_only) {
    Share& share = shares[{wait, thread}];
    share.time += time;
    if (is_only && proves) share.certain += time;
  };
  if (!family.is_released || !Sweep(family, report).Run(give)) return;
  std::map<std::pair<uint32_t, uint64_t>, std::pair<uint32_t, Share>> most;  // by thread, position
  for (const auto& [key, share] : shares) {
    const Waiting& wait = family.waits[key.first];
    Sums& sums = sums_[{wait.site, key.second}];
    ++sums.waits;
    sums.share.time += share.time;
    sums.share.certain += share.certain;
    auto& best = most[{wait.thread, wait.position}];
    if (share.time > best.second.time) best = {key.second, share};
  }
  for (std::vector<LockWait>* waits : {&report.worst, &report.open})
    for (LockWait& wait : *waits) {
      const auto found = most.find({wait.thread, wait.position});
      if (found == most.end()) continue;
      wait.holder = found->second.first;
      wait.is_certain = found->second.second.certain == found->second.second.time;
    }
  TellOpen(proves, family, report);
}

// What a thread waits for when all ends is held by one of those that did not release what they
// held.
void LockHolders::TellOpen(bool proves, const Family& family, LockReport& report) {
  for (LockWait& wait : report.open) {
    const auto is_it = [&](const Waiting& each) {
      return each.open && each.thread == wait.thread && each.position == wait.position;
    };
    if (std::ranges::none_of(family.waits, is_it)) continue;
    std::set<uint32_t> holders;
    for (const Hold& hold : family.holds)
      if (hold.open && hold.thread != wait.thread && MayBeSame(hold.address, wait.address) &&
          report.threads[hold.thread].pid == report.threads[wait.thread].pid)
        holders.insert(hold.thread);
    if (holders.size() != 1) continue;
    wait.holder = *holders.begin();
    wait.is_certain = proves;
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

void LockHolders::Tell(bool proves, LockReport& report) {
  if (kept_ > kMost) return;
  for (auto& [name, family] : families_) TellFamily(proves, family, report);
  for (const auto& [key, sums] : sums_)
    report.holders.push_back({.site = key.first,
                              .thread = key.second,
                              .waits = sums.waits,
                              .time = sums.share.time,
                              .certain = sums.share.certain});
  std::ranges::stable_sort(report.holders, [](const LockHolder& a, const LockHolder& b) {
    return a.site != b.site ? a.site < b.site : a.time > b.time;
  });
  FindCycles(report);
}

}  // namespace flowback
