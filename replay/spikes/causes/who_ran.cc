// SPDX-License-Identifier: MIT
#include "replay/spikes/causes/who_ran.h"

#include <algorithm>

namespace flowback {
namespace {

// A time without the thread, on the CPU that it had left.
struct LeftCpu {
  uint64_t begin = 0;
  uint64_t end = 0;
  int32_t cpu = -1;
};

std::vector<LeftCpu> TimesOffCpu(const std::vector<LifeStay>& stays, uint64_t begin, uint64_t end) {
  std::vector<LeftCpu> off_cpu;
  const auto first = std::ranges::lower_bound(stays, begin, {}, &LifeStay::end);
  for (auto stay = first; stay != stays.end() && stay->end < end; ++stay) {
    const auto next = std::next(stay);
    const uint64_t back = next == stays.end() ? end : std::min(end, next->begin);
    if (stay->cpu >= 0 && stay->end < back)
      off_cpu.push_back({.begin = stay->end, .end = back, .cpu = stay->cpu});
  }
  return off_cpu;
}

uint64_t TimeWithin(const std::vector<LifeStay>& stays, const LeftCpu& away) {
  uint64_t time = 0;
  auto stay = std::ranges::upper_bound(stays, away.begin, {}, &LifeStay::end);
  for (; stay != stays.end() && stay->begin < away.end; ++stay)
    if (stay->cpu == away.cpu && !stay->missing)
      time += std::min(stay->end, away.end) - std::max(stay->begin, away.begin);
  return time;
}

}  // namespace

std::vector<RanInstead> WhoRan::InsteadOf(int32_t tid, uint64_t begin, uint64_t end) const {
  std::vector<RanInstead> others;
  const std::vector<LifeStay>* const own = lives_.StaysOf(tid);
  if (own == nullptr) return others;
  const std::vector<LeftCpu> off_cpu = TimesOffCpu(*own, begin, end);
  if (off_cpu.empty()) return others;
  for (const int32_t other : lives_.Tids()) {
    const std::vector<LifeStay>* const stays = lives_.StaysOf(other);
    if (other == tid || stays == nullptr) continue;
    uint64_t time = 0;
    for (const LeftCpu& away : off_cpu) time += TimeWithin(*stays, away);
    if (time != 0) others.push_back({.tid = other, .time = time});
  }
  std::ranges::stable_sort(others, std::ranges::greater(), &RanInstead::time);
  return others;
}

}  // namespace flowback
