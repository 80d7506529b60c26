// SPDX-License-Identifier: MIT
#include "tests/locks/made_report.h"

#include <algorithm>

#include "flowback/writers.h"
#include "replay/writers/writers.h"

namespace flowback::test {
namespace {

constexpr uint64_t kBegin = 5'000'000'000;
constexpr uint64_t kLife = 1'000'000;
constexpr int32_t kFirstThread = 101;

Recording RecordingOf(uint32_t threads) {
  Recording recording;
  for (uint32_t i = 0; i < threads; ++i) {
    CommRecord comm;
    comm.tid = kFirstThread + static_cast<int32_t>(i);
    comm.comm = "srv";
    recording.sideband.emplace_back(comm);
  }
  return recording;
}

void Add(LockSums& sums, const LockWait& wait) {
  ++sums.waits;
  sums.trips += wait.trips;
  sums.waiting.time += wait.time();
  sums.waiting.lo += wait.time();
  sums.waiting.hi += wait.time();
  sums.max = std::max(sums.max, wait.time());
  sums.median = sums.p90 = sums.p99 = sums.max;
  ++sums.states[static_cast<size_t>(wait.state)];
}

}  // namespace

MadeReport::MadeReport(uint32_t threads) : recording_(RecordingOf(threads)), threads_(recording_) {
  report.begin = kBegin;
  report.end = kBegin + kLife;
  for (uint32_t i = 0; i < threads; ++i) {
    LockThread thread;
    thread.pid = kFirstThread;
    thread.tid = kFirstThread + static_cast<int32_t>(i);
    thread.begin = kBegin;
    thread.end = kBegin + kLife;
    thread.instructions = 1'000'000;
    report.threads.push_back(thread);
  }
}

uint32_t MadeReport::Function(const std::string& name) {
  const auto found = std::ranges::find(report.functions, name, &TimelineFunction::name);
  const auto number = static_cast<uint32_t>(found - report.functions.begin());
  if (found == report.functions.end()) {
    TimelineFunction function;
    function.name = name;
    function.named = true;
    report.functions.push_back(function);
  }
  return number;
}

uint32_t MadeReport::Site(const std::string& function, const std::string& caller,
                          const std::string& outer) {
  const auto number = static_cast<uint32_t>(report.sites.size());
  const uint64_t base = 0x401000 + 0x100 * uint64_t{number};
  LockSite site;
  site.function = Function(function);
  site.caller = Function(caller);
  site.address = base;
  site.call = base + 0x50;
  report.sites.push_back(site);
  report.site_sums.emplace_back().site = number;
  uint32_t path = PathTree::kRoot;
  uint64_t call = 0x400000;
  for (const std::string& name : {outer, caller, function}) {
    if (name == function) call = site.call;
    path = report.paths.Find(
        {.parent = path, .kind = PathKind::kCall, .function = Function(name), .site = call});
    call += 0x10;
  }
  paths_.push_back(path);
  return number;
}

LockSums& MadeReport::SumsOf(uint32_t site, uint32_t thread) {
  for (LockSums& each : report.sums)
    if (each.site == site && each.thread == thread) return each;
  LockSums& sums = report.sums.emplace_back();
  sums.site = site;
  sums.thread = thread;
  return sums;
}

void MadeReport::Wait(uint32_t site, uint32_t thread, uint64_t time, uint64_t trips,
                      WaitState state) {
  LockWait wait;
  wait.site = site;
  wait.thread = thread;
  wait.state = state;
  wait.begin = TimePoint::Exact(kBegin + 1000 * report.worst.size());
  wait.end = TimePoint::Exact(wait.begin.time + time);
  wait.trips = trips;
  wait.path = paths_[site];
  Add(report.site_sums[site], wait);
  Add(SumsOf(site, thread), wait);
  report.threads[thread].spinning += time;
  report.worst.push_back(wait);
  std::ranges::stable_sort(report.worst, std::ranges::greater(), &LockWait::time);
  if (state == WaitState::kCutByEnd) report.open.push_back(wait);
}

void MadeReport::Holder(uint32_t site, uint32_t thread, uint64_t time, uint64_t certain,
                        const std::string& function) {
  const uint32_t path = report.paths.Find({.parent = PathTree::kRoot,
                                           .kind = PathKind::kCall,
                                           .function = Function(function),
                                           .site = 0x400800});
  report.holders.push_back(
      {.site = site, .thread = thread, .waits = 1, .time = time, .certain = certain, .path = path});
}

void MadeReport::TakeTimes() {
  const auto take = [](LockSums& sums) {
    sums.waiting = {};
    sums.max = sums.median = sums.p90 = sums.p99 = 0;
  };
  report.has_times = false;
  report.begin = report.end = 0;
  std::ranges::for_each(report.site_sums, take);
  std::ranges::for_each(report.sums, take);
  for (LockThread& thread : report.threads) thread.begin = thread.end = thread.spinning = 0;
  for (std::vector<LockWait>* const waits : {&report.worst, &report.open})
    for (LockWait& wait : *waits) wait.begin = wait.end = {};
  report.holders.clear();
}

LocksView MadeReport::View() const {
  LocksView view;
  view.report = &report;
  view.threads = &threads_;
  view.input = "work.data";
  return view;
}

std::string MadeReport::Text() const {
  StringSink sink;
  WriteLocksText(View(), sink);
  return sink.text();
}

MadeReport BusyReport() {
  MadeReport made(4);
  const uint32_t lock = made.Site("spin_lock", "worker", "start_thread");
  const uint32_t other = made.Site("pthread_mutex_lock", "log_line", "worker");
  for (const uint32_t thread : {1U, 2U, 3U}) made.Wait(lock, thread, 380'000, 1000);
  made.Wait(other, 1, 90'000, 20);
  for (LockWait& wait : made.report.worst) {
    wait.begin = TimePoint::Exact(kBegin + 100'000 + 10'000 * wait.thread +
                                  (wait.site == other ? 600'000 : 0));
    wait.end = TimePoint::Exact(wait.begin.time + (wait.site == other ? 90'000 : 380'000));
    if (wait.site == other) continue;
    wait.holder = 0;
    wait.is_certain = true;
  }
  made.Holder(lock, 0, 800'000, 700'000, "malloc");
  made.Holder(lock, 2, 300'000, 0, "free");
  made.Holder(lock, 3, 200'000, 0, "free");
  return made;
}

}  // namespace flowback::test
