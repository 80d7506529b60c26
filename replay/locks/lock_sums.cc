// SPDX-License-Identifier: MIT
#include "replay/locks/lock_sums.h"

#include <algorithm>
#include <utility>

#include "base/linux/kernel_address.h"

namespace flowback {
namespace {

bool IsLonger(const LockWait& a, const LockWait& b) {
  return std::pair(a.time(), a.trips) > std::pair(b.time(), b.trips);
}

// A wait lies within the thread's life.
TimeShare BoundsOf(const LockWait& wait, const LockThread& thread) {
  const uint64_t least = wait.begin.hi < wait.end.lo ? wait.end.lo - wait.begin.hi : 0;
  const uint64_t latest = std::min(wait.end.hi, std::max(thread.end, wait.end.time));
  const uint64_t earliest = std::max(wait.begin.lo, std::min(thread.begin, wait.begin.time));
  const uint64_t most = latest - std::min(latest, earliest);
  return {
      .time = wait.time(), .lo = std::min(least, wait.time()), .hi = std::max(most, wait.time())};
}

}  // namespace

void WaitTotals::Add(Sum& sum, const LockWait& wait) const {
  LockSums& sums = sum.sums;
  ++sums.waits;
  sums.trips += wait.trips;
  sums.sleeps += wait.sleeps;
  sums.sleeping += wait.sleeping;
  sums.cycles += wait.cycles;
  ++sums.states[static_cast<size_t>(wait.state)];
  const TimeShare bounds = BoundsOf(wait, report_.threads[wait.thread]);
  sums.waiting.time += bounds.time;
  sums.waiting.lo += bounds.lo;
  sums.waiting.hi += bounds.hi;
  if (wait.state == WaitState::kWhole) sum.durations.Add(wait.time());
}

void WaitTotals::SplitTimes(const std::vector<const TimeAccount*>& accounts) {
  accounts_ = accounts;
  has_strip_ =
      HaveStrips(accounts, {.span = options_.span, .most_strips = options_.shares.most_strips});
}

void WaitTotals::OnThread(uint32_t number) {
  thread_ = number;
  shares_.reset();
  if (accounts_.empty() || accounts_[number] == nullptr) return;
  shares_.emplace(*accounts_[number], options_.span, TimeSpan{report_.begin, report_.end},
                  options_.shares, has_strip_[number]);
}

void WaitTotals::OnWait(const LockWait& wait, std::string_view family) {
  const bool is_kernels = IsKernelAddress(sites_.all()[wait.site].address);
  const bool is_alone = alone_[wait.thread] && wait.sleeps == 0 && !is_kernels;
  // A wait that begins before the span has a part in it.
  if (shares_ && !is_alone) shares_->AddWait(wait.begin.time, wait.end.time);
  has_waits_ = has_waits_ || !is_alone;
  if (!options_.span.Contains(wait.begin.time)) return;
  if (is_alone) {
    trips_alone_[wait.site] += wait.trips;
    return;
  }
  Add(by_site_[{wait.site, 0}], wait);
  Add(by_thread_[{wait.site, wait.thread}], wait);
  if (options_.paths) Add(by_path_[{wait.site, wait.path}], wait);
  if (wait.instance != LockWait::kNoInstance) Add(by_instance_[{wait.site, wait.instance}], wait);
  LockThread& thread = report_.threads[wait.thread];
  thread.sleeping += wait.sleeping;
  thread.spinning += wait.spinning();
  AddToStrip(wait);
  KeepWorst(wait);
  holders_.OnWait(wait, family);
  if (wait.state == WaitState::kCutByEnd) report_.open.push_back(wait);
}

void WaitTotals::Count(uint32_t site, uint32_t thread, uint64_t acquisitions) {
  for (Sum* sum : {&by_site_[{site, 0}], &by_thread_[{site, thread}]})
    sum->sums.acquisitions = sum->sums.acquisitions.value_or(0) + acquisitions;
}

void WaitTotals::OnAcquisitionOf(uint32_t site, uint32_t instance) {
  if (instance == LockWait::kNoInstance) return;
  LockSums& sums = by_instance_[{site, instance}].sums;
  sums.acquisitions = sums.acquisitions.value_or(0) + 1;
}

void WaitTotals::OnCalls(uint32_t number, CallCounts calls) {
  kept_calls_ += calls.size();
  if (kept_calls_ <= kMostCalls) calls_[number] = std::move(calls);
}

// Whether each call of the site's function is an acquisition.
bool WaitTotals::MayCountCalls(uint32_t site) const {
  const LockSite& at = sites_.all()[site];
  if (at.is_library || at.call == 0 || !sites_.WaitsFirst(site)) return false;
  for (auto each = by_thread_.lower_bound({site, 0});
       each != by_thread_.end() && each->first.first == site; ++each) {
    const auto calls = calls_.find(each->first.second);
    if (calls == calls_.end()) return false;
    const auto found = calls->second.find({at.function, at.call});
    if (found == calls->second.end() || found->second < each->second.sums.waits) return false;
  }
  return true;
}

// Threads that did not wait there have acquired as well.
void WaitTotals::CountCalls() {
  if (kept_calls_ > kMostCalls) return;
  for (uint32_t site = 0; site < sites_.all().size(); ++site) {
    if (!MayCountCalls(site)) continue;
    const LockSite& at = sites_.all()[site];
    for (const auto& [thread, calls] : calls_)
      if (const auto found = calls.find({at.function, at.call}); found != calls.end())
        Count(site, thread, found->second);
  }
}

// Where in a wait the thread slept is not kept: each of its moments is taken as both, in the wait's
// shares.
void WaitTotals::AddToStrip(const LockWait& wait) {
  const uint64_t length = report_.end - report_.begin;
  if (options_.columns == 0 || length == 0 || wait.time() == 0) return;
  std::vector<LockColumn>& strip = report_.threads[wait.thread].strip;
  strip.resize(options_.columns);
  const double scale = static_cast<double>(options_.columns) / static_cast<double>(length);
  const double share = static_cast<double>(wait.sleeping) / static_cast<double>(wait.time());
  const auto at = [&](uint64_t time) {
    return static_cast<double>(std::clamp(time, report_.begin, report_.end) - report_.begin) *
           scale;
  };
  const double begin = at(wait.begin.time);
  const double end = at(wait.end.time);
  for (auto i = static_cast<size_t>(begin); i < options_.columns && static_cast<double>(i) < end;
       ++i) {
    const auto left = static_cast<double>(i);
    const double time = (std::min(end, left + 1) - std::max(begin, left)) / scale;
    strip[i].sleeping += static_cast<uint64_t>(time * share);
    strip[i].spinning += static_cast<uint64_t>(time * (1 - share));
  }
}

// Keeps the longest as the first `worst`, in any order, until Tell.
void WaitTotals::KeepWorst(const LockWait& wait) {
  std::vector<LockWait>& worst = report_.worst;
  worst.push_back(wait);
  if (worst.size() < 2 * options_.worst + 1) return;
  std::ranges::nth_element(worst, worst.begin() + static_cast<ptrdiff_t>(options_.worst), IsLonger);
  worst.resize(options_.worst);
}

void WaitTotals::OnThreadEnd(uint32_t number, uint64_t instructions) {
  report_.threads[number].instructions = instructions;
  if (shares_) report_.threads[number].waits = shares_->Take();
  shares_.reset();
  holders_.OnThreadEnd(number, report_.threads[number].end);
  followed_ = 0;
}

std::vector<LockSums> WaitTotals::Told(const SumsByKey& all) {
  std::vector<LockSums> told;
  for (const auto& [key, sum] : all) {
    LockSums& sums = told.emplace_back(sum.sums);
    sums.site = key.first;
    const CallDurations durations = sum.durations.Take();
    sums.median = durations.median;
    sums.p90 = sum.durations.Quantile(0.9);
    sums.p99 = durations.p99;
    sums.max = durations.max;
  }
  return told;
}

void WaitTotals::Tell(bool proves, TimeAway& away) {
  const size_t sites = sites_.all().size();
  CountCalls();
  const auto most_first = [](const LockSums& a, const LockSums& b) {
    return std::pair(a.waiting.time, a.trips) > std::pair(b.waiting.time, b.trips);
  };
  for (auto& [key, sum] : by_thread_) sum.sums.thread = key.second;
  for (auto& [key, sum] : by_path_) sum.sums.path = key.second;
  for (auto& [key, sum] : by_instance_) sum.sums.instance = key.second;
  report_.site_sums.resize(sites);
  for (uint32_t i = 0; i < sites; ++i) report_.site_sums[i].site = i;
  for (const LockSums& sums : Told(by_site_)) report_.site_sums[sums.site] = sums;
  report_.sums = Told(by_thread_);
  report_.path_sums = Told(by_path_);
  report_.instance_sums = Told(by_instance_);
  for (std::vector<LockSums>* sums : {&report_.sums, &report_.path_sums, &report_.instance_sums})
    std::ranges::stable_sort(*sums, most_first);
  std::ranges::stable_sort(report_.worst, IsLonger);
  if (report_.worst.size() > options_.worst) report_.worst.resize(options_.worst);
  holders_.Tell(proves, away, report_);
}

}  // namespace flowback
