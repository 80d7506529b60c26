// SPDX-License-Identifier: MIT
#include "replay/locks/wait_shares.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "replay/timeline/thread_times.h"

namespace flowback {
namespace {

constexpr size_t kMostKept = size_t{1} << 20;

}  // namespace

uint64_t SumOf(const ClassTimes& times) {
  return std::accumulate(times.begin(), times.end(), uint64_t{0});
}

WaitShares::WaitShares(const TimeAccount& account, const TimeSpan& wanted, const TimeSpan& lives,
                       const WaitShareOptions& options, bool has_strip)
    : account_(account),
      life_(LifeOf(account, wanted)),
      wants_spans_(options.spans),
      has_strip_(has_strip && options.columns != 0),
      spinning_(lives.begin, lives.end, has_strip_ ? options.columns : 0),
      sleeping_(lives.begin, lives.end, has_strip_ ? options.columns : 0),
      from_(life_.begin) {}

void WaitShares::AddWait(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  waits_.push_back({begin, end});
  if (waits_.size() + sleeps_.size() >= kMostKept) Flush();
}

void WaitShares::AddSleep(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  sleeps_.push_back({begin, end});
  if (waits_.size() + sleeps_.size() >= kMostKept) Flush();
}

// A sleep comes before the wait that contains it.
void WaitShares::Flush() {
  std::ranges::sort(waits_, {}, &Span::begin);
  std::ranges::sort(sleeps_, {}, &Span::begin);
  size_t sleep = 0;
  const auto sleep_up_to = [&](uint64_t time, uint64_t spins_from) {
    for (; sleep < sleeps_.size() && sleeps_[sleep].begin < time; ++sleep) {
      Tell(spins_from, sleeps_[sleep].begin, false);
      Tell(sleeps_[sleep].begin, sleeps_[sleep].end, true);
    }
  };
  for (const Span& wait : waits_) {
    sleep_up_to(wait.begin, UINT64_MAX);
    sleep_up_to(wait.end, wait.begin);
    Tell(wait.begin, wait.end, false);
  }
  sleep_up_to(UINT64_MAX, UINT64_MAX);
  waits_.clear();
  sleeps_.clear();
}

void WaitShares::Tell(uint64_t begin, uint64_t end, bool sleeps) {
  begin = std::max(begin, from_);
  end = std::min(end, life_.end);
  if (begin >= end) return;
  from_ = end;
  const std::vector<ClassSpan>& classes = account_.spans->spans;
  while (class_at_ < classes.size() && classes[class_at_].end <= begin) ++class_at_;
  ClassTimes& times = sleeps ? told_.times.sleeping : told_.times.spinning;
  for (size_t i = class_at_; i < classes.size() && classes[i].begin < end; ++i) {
    const uint64_t from = std::max(begin, classes[i].begin);
    const uint64_t to = std::min(end, classes[i].end);
    if (from >= to) continue;
    times[static_cast<size_t>(classes[i].kind)] += to - from;
    (sleeps ? sleeping_ : spinning_).Add(from, to, classes[i].kind, CallPath::kNoFunction, false);
  }
  Keep(begin, end, sleeps);
}

void WaitShares::Keep(uint64_t begin, uint64_t end, bool sleeps) {
  if (!wants_spans_ || told_.has_too_many_spans) return;
  told_.spans.push_back({.begin = begin, .end = end, .sleeps = sleeps});
  if (told_.spans.size() <= kMostWaitStretches) return;
  told_.has_too_many_spans = true;
  told_.spans = {};
}

ThreadWaits WaitShares::Take() {
  Flush();
  if (has_strip_ && SumOf(told_.times.spinning) + SumOf(told_.times.sleeping) != 0) {
    const std::vector<StripColumn> spinning = spinning_.Take();
    const std::vector<StripColumn> sleeping = sleeping_.Take();
    for (size_t i = 0; i < spinning.size(); ++i)
      told_.strip.push_back({.spinning = spinning[i].times, .sleeping = sleeping[i].times});
  }
  return std::move(told_);
}

}  // namespace flowback
