// SPDX-License-Identifier: MIT
#include "replay/locks/holders/hold_sweep.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace flowback {

HoldSweep::HoldSweep(const HoldFamily& family, const std::vector<LockThread>& threads)
    : family_(family), threads_(threads) {
  for (uint32_t i = 0; i < family.holds.size(); ++i) Add(family.holds[i], i);
  for (uint32_t i = 0; i < family.waits.size(); ++i) {
    const HoldWait& wait = family.waits[i];
    if (wait.begin == wait.end) continue;
    moments_.push_back({wait.begin_lo, kMayWait, i});
    moments_.push_back({wait.begin, kWaitBegins, i});
    moments_.push_back({wait.begin_hi, kWaits, i});
    moments_.push_back({wait.end, kWaitEnds, i});
  }
  std::ranges::sort(moments_, {}, [](const Moment& each) {
    return std::tuple(each.time, each.what, each.number);
  });
}

void HoldSweep::Add(const Hold& hold, uint32_t number) {
  moments_.push_back({hold.earliest, kMayHold, number});
  moments_.push_back({std::max(hold.earliest, hold.end_lo), kRelease, number});
  moments_.push_back({hold.latest, kMayNotHold, number});
  if (hold.begin == hold.end || hold.is_doubtful()) return;
  moments_.push_back({hold.begin, kHoldBegins, number});
  moments_.push_back({hold.end, kHoldEnds, number});
}

bool HoldSweep::Run(const std::function<void(const Part&)>& give) {
  uint64_t steps = 0;
  uint64_t now = 0;
  for (const Moment& moment : moments_) {
    if (moment.time > now && !waits_.empty()) {
      steps += waits_.size() * (holders_.size() + 1);
      if (steps > kMostSteps) return false;
      for (const uint32_t wait : waits_) GiveTo(wait, now, moment.time, give);
    }
    now = moment.time;
    Pass(moment);
  }
  return true;
}

void HoldSweep::Pass(const Moment& moment) {
  switch (moment.what) {
    case kMayHold:
    case kRelease:
    case kHoldEnds:
    case kHoldBegins:
    case kMayNotHold:
      return PassHold(moment, family_.holds[moment.number]);
    case kMayWait:
    case kWaitBegins:
    case kWaits:
    case kWaitEnds:
      return PassWait(moment);
  }
}

void HoldSweep::PassHold(const Moment& moment, const Hold& hold) {
  switch (moment.what) {
    case kMayHold:
      return MayHold(hold);
    case kRelease:
      ++possible_[KeyOf(hold)].releasing;
      std::erase_if(only_, [&](const auto& each) {
        return each.second.thread == hold.thread &&
               MayBeSame(hold.address, family_.waits[each.first].address);
      });
      return;
    case kHoldBegins:
      ++holders_[KeyOf(hold)];
      return;
    case kHoldEnds:
      if (const auto at = holders_.find(KeyOf(hold)); --at->second == 0) holders_.erase(at);
      return;
    default:
      return MayNotHold(hold);
  }
}

void HoldSweep::PassWait(const Moment& moment) {
  const uint32_t wait = moment.number;
  switch (moment.what) {
    case kMayWait: {
      std::set<uint32_t>& may = beginning_[wait];
      for (const auto& [holder, holds] : possible_)
        if (CanHold(holder, wait)) may.insert(holder.thread);
      return;
    }
    case kWaitBegins:
      waits_.insert(wait);
      return;
    case kWaits:
      if (waits_.contains(wait)) FindOnly(wait);
      beginning_.erase(wait);
      return;
    default:
      waits_.erase(wait);
      only_.erase(wait);
      beginning_.erase(wait);
      return;
  }
}

void HoldSweep::MayHold(const Hold& hold) {
  Possible& possible = possible_[KeyOf(hold)];
  ++possible.may;
  possible.doubtful += hold.is_doubtful() ? 1 : 0;
  for (auto& [wait, may] : beginning_)
    if (CanHold(KeyOf(hold), wait)) may.insert(hold.thread);
}

void HoldSweep::MayNotHold(const Hold& hold) {
  const auto at = possible_.find(KeyOf(hold));
  --at->second.releasing;
  at->second.doubtful -= hold.is_doubtful() ? 1 : 0;
  if (--at->second.may == 0) possible_.erase(at);
}

bool HoldSweep::CanHold(const Key& holder, uint32_t wait) const {
  const HoldWait& waiting = family_.waits[wait];
  return holder.thread != waiting.thread && MayBeSame(holder.address, waiting.address) &&
         (family_.is_kernels || threads_[holder.thread].pid == threads_[waiting.thread].pid);
}

void HoldSweep::FindOnly(uint32_t wait) {
  const std::set<uint32_t>& may = beginning_[wait];
  if (may.size() != 1) return;
  Possible all;
  for (auto at = possible_.lower_bound({*may.begin(), 0});
       at != possible_.end() && at->first.thread == *may.begin(); ++at) {
    if (!CanHold(at->first, wait)) continue;
    all.may += at->second.may;
    all.doubtful += at->second.doubtful;
    all.releasing += at->second.releasing;
  }
  if (all.may != 0 && all.releasing == 0)
    only_[wait] = {.thread = *may.begin(), .certain = family_.is_whole && all.doubtful < all.may};
}

// Returns the thread that holds the very lock, as its address says; kNoThread: none, or several
// may.
uint32_t HoldSweep::OnlyByAddress(uint32_t wait) const {
  const uint64_t address = family_.waits[wait].address;
  uint32_t only = LockWait::kNoThread;
  if (address == 0) return only;
  for (const auto& [holder, holds] : holders_) {
    if (!CanHold(holder, wait)) continue;
    // Several threads read under one lock.
    if (holder.address != address && family_.is_shared) return LockWait::kNoThread;
    if (holder.address != address) continue;
    const Possible& possible = possible_.at(holder);
    if (possible.releasing != 0 || possible.doubtful != 0 || only != LockWait::kNoThread)
      return LockWait::kNoThread;
    only = holder.thread;
  }
  return only;
}

void HoldSweep::GiveTo(uint32_t wait, uint64_t begin, uint64_t end,
                       const std::function<void(const Part&)>& give) const {
  Part part{.wait = wait, .begin = begin, .end = end};
  if (const uint32_t thread = OnlyByAddress(wait); thread != LockWait::kNoThread) {
    part.thread = thread;
    part.is_only = true;
    return give(part);
  }
  if (const auto only = only_.find(wait); only != only_.end()) {
    part.thread = only->second.thread;
    part.is_only = only->second.certain;
    return give(part);
  }
  uint32_t last = LockWait::kNoThread;  // a thread may hold several: they are next to each other
  for (const auto& [holder, holds] : holders_) {
    part.thread = holder.thread;
    if (CanHold(holder, wait) && std::exchange(last, holder.thread) != holder.thread) give(part);
  }
}

}  // namespace flowback
