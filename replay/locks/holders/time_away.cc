// SPDX-License-Identifier: MIT
#include "replay/locks/holders/time_away.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace flowback {

TimeAway::TimeAway(const Recording& recording, std::vector<const TimeAccount*> accounts)
    : accounts_(std::move(accounts)) {
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* change = std::get_if<SwitchRecord>(&record); change != nullptr && change->out)
      leaves_[change->tid].push_back(*change);
  for (auto& [tid, leaves] : leaves_)
    std::ranges::stable_sort(leaves, {}, [](const SwitchRecord& each) { return each.time; });
}

// The record lies between the last time that the trace has of the thread and the first that it has
// when the thread is back.
bool TimeAway::IsPreempted(int32_t tid, const ClassSpan& span) const {
  const auto found = leaves_.find(tid);
  if (found == leaves_.end()) return false;
  const std::vector<SwitchRecord>& leaves = found->second;
  const auto next = std::ranges::upper_bound(leaves, span.begin_hi, {},
                                             [](const SwitchRecord& each) { return each.time; });
  return next != leaves.begin() && std::prev(next)->preempted;
}

const std::vector<TimeAway::Span>& TimeAway::SpansOf(uint32_t thread) {
  const auto [at, added] = spans_.try_emplace(thread);
  const TimeAccount* const account = accounts_[thread];
  if (!added || account == nullptr || !account->spans || account->spans->condensed)
    return at->second;
  Sum before;
  for (const ClassSpan& span : account->spans->spans) {
    if (span.kind != TimeClass::kOffCpu || span.begin == span.end) continue;
    const bool preempted = IsPreempted(account->tid, span);
    at->second.push_back({.begin = span.begin,
                          .end = span.end,
                          .begin_lo = span.begin_lo,
                          .begin_hi = span.begin_hi,
                          .end_lo = span.end_lo,
                          .end_hi = span.end_hi,
                          .preempted = preempted,
                          .before = before});
    before.off_cpu += span.end - span.begin;
    if (preempted) before.preempted += span.end - span.begin;
  }
  return at->second;
}

TimeAway::Sum TimeAway::UpTo(const std::vector<Span>& spans, uint64_t time) {
  const auto next = std::ranges::upper_bound(spans, time, {}, &Span::begin);
  if (next == spans.begin()) return {};
  const Span& last = *std::prev(next);
  const uint64_t within = std::min(time, last.end) - last.begin;
  return {.off_cpu = last.before.off_cpu + within,
          .preempted = last.before.preempted + (last.preempted ? within : 0)};
}

TimeAway::Sum TimeAway::Between(uint32_t thread, uint64_t begin, uint64_t end) {
  const std::vector<Span>& spans = SpansOf(thread);
  const Sum first = UpTo(spans, begin);
  const Sum last = UpTo(spans, end);
  return {.off_cpu = last.off_cpu - first.off_cpu, .preempted = last.preempted - first.preempted};
}

std::vector<TimeAway::Sleep> TimeAway::SleepsBetween(uint32_t thread, uint64_t begin,
                                                     uint64_t end) {
  const std::vector<Span>& spans = SpansOf(thread);
  std::vector<Sleep> sleeps;
  auto at = std::ranges::lower_bound(spans, begin, {}, &Span::begin);
  for (; at != spans.end() && at->begin < end; ++at)
    if (!at->preempted)
      sleeps.push_back({.begin = {at->begin, at->begin_lo, at->begin_hi},
                        .end = {at->end, at->end_lo, at->end_hi}});
  return sleeps;
}

}  // namespace flowback
