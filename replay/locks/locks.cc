// SPDX-License-Identifier: MIT
#include "replay/locks/locks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "flowback/replay/player.h"
#include "replay/locks/lock_instances.h"
#include "replay/locks/lock_player.h"
#include "replay/locks/lock_sites.h"
#include "replay/locks/lock_sums.h"
#include "replay/symbols/data_names.h"
#include "replay/timeline/function_table.h"

namespace flowback {
namespace {

// Whether each thread is the only one that its process is known to have.
std::vector<bool> AreAlone(const Recording& recording,
                           const std::vector<const ThreadFlow*>& flows) {
  std::map<int32_t, std::set<int32_t>> threads;
  const Threads known(recording);
  for (const auto& [tid, pid] : known.traced()) threads[pid].insert(tid);
  for (const ThreadFlow* flow : flows) threads[flow->pid].insert(flow->tid);
  std::vector<bool> alone;
  alone.reserve(flows.size());
  for (const ThreadFlow* flow : flows) alone.push_back(threads[flow->pid].size() == 1);
  return alone;
}

uint32_t FunctionAt(const AddressSpace* space, uint64_t address, FunctionFinder& finder,
                    FunctionTable& functions) {
  FunctionPiece piece = finder.Find(space, address);
  if (piece.end == 0) piece.begin = address;
  return functions.NumberOf(space, piece);
}

// Whether a loop is worth a look although it is not reported as a wait.
bool IsNear(const TripVerdict& verdict) {
  if (verdict.kind == LoopKind::kWait) return false;
  return verdict.kind == LoopKind::kDoubtful || verdict.pauses || verdict.atomic;
}

class LockFinder {
 public:
  LockFinder(const TimelineSources& sources, const std::vector<const ThreadFlow*>& flows,
             const LockOptions& options)
      : sources_(sources),
        flows_(flows),
        options_(options),
        functions_(sources.symbolizer, sources.recorded_path) {}

  Result<LockReport> Find(const TimesOf& times);

 private:
  bool AreAllPlayed() const;
  void TellThreads(const std::vector<const TimeAccount*>& accounts);
  void TellLoops(const WaitLoops& loops, const WaitTotals& totals);
  std::vector<int32_t> Pids() const;
  void TellInstances(LockInstances& instances);

  const TimelineSources& sources_;
  const std::vector<const ThreadFlow*>& flows_;
  const LockOptions& options_;
  FunctionTable functions_;
  LockSites sites_;
  LockReport report_;
};

Result<LockReport> LockFinder::Find(const TimesOf& times) {
  const Result<TimeAccounts> known = times();
  if (!known) return Fail(known.error());
  const std::vector<const TimeAccount*> accounts = AccountsOf(flows_, *known);
  report_.nanoseconds = known->nanoseconds;
  report_.emulated = sources_.recording.machine.emulated;
  // Records tell when threads lived, but not what they did then.
  report_.has_times = std::ranges::any_of(accounts, [](const TimeAccount* each) {
    return each != nullptr && each->Of(TimeClass::kExecuting).time != 0;
  });
  TellThreads(accounts);
  WaitTotals totals(options_, sites_, AreAlone(sources_.recording, flows_), report_);
  if (options_.shares.wanted) totals.SplitTimes(accounts);
  LockInstances instances(Pids());
  TimeAway away(sources_.recording, accounts);
  const WaitPlan plan{.unit = TimeUnit(sources_.recording.time),
                      .functions = functions_,
                      .sites = sites_,
                      .instances = instances,
                      .paths = report_.paths,
                      .sink = totals,
                      .blocking = options_.blocking,
                      .away = sources_.recording.levels.kernel.value_or(false) ? &away : nullptr};
  LockPlayer locks(plan, totals, sources_, accounts);
  Player player(sources_.flow, {.threads = options_.threads, .in_flight = options_.in_flight});
  if (Status status = player.Play(flows_, locks); !status) return Fail(status.error());
  report_.losses = locks.TakeLosses();
  totals.Tell(report_.losses.empty() && AreAllPlayed(), away);
  TellLoops(locks.loops(), totals);
  TellInstances(instances);
  report_.sites = sites_.Take();
  report_.functions = std::move(functions_.all());
  return std::move(report_);
}

// Whether there is flow of each thread that the recording knows of.
bool LockFinder::AreAllPlayed() const {
  std::set<int32_t> played;
  for (const ThreadFlow* flow : flows_) played.insert(flow->tid);
  const Threads known(sources_.recording);
  return options_.span.begin == 0 && options_.span.end == UINT64_MAX &&
         std::ranges::all_of(known.traced(),
                             [&](const auto& each) { return played.contains(each.first); });
}

void LockFinder::TellThreads(const std::vector<const TimeAccount*>& accounts) {
  for (size_t i = 0; i < flows_.size(); ++i) {
    LockThread& thread = report_.threads.emplace_back();
    thread.pid = flows_[i]->pid;
    thread.tid = flows_[i]->tid;
    if (accounts[i] == nullptr) continue;
    const TimeSpan life = LifeOf(*accounts[i], options_.span);
    thread.begin = life.begin;
    thread.end = std::max(life.begin, life.end);
  }
  const TimeSpan lives = LivesOf(accounts, options_.span);
  report_.begin = lives.begin;
  report_.end = std::max(lives.begin, lives.end);
}

std::vector<int32_t> LockFinder::Pids() const {
  std::vector<int32_t> pids;
  pids.reserve(flows_.size());
  for (const ThreadFlow* flow : flows_) pids.push_back(flow->pid);
  return pids;
}

void LockFinder::TellInstances(LockInstances& instances) {
  report_.has_addresses = instances.uses() != 0;
  report_.instances = instances.Take();
  report_.shared_lines = SharedLines(report_.instances);
  DataNames names;
  for (LockInstance& lock : report_.instances) {
    if (lock.space == nullptr) continue;
    std::optional<DataNames::Name> name = names.Find(*lock.space, lock.address);
    if (!name) continue;
    lock.file = sources_.recorded_path ? sources_.recorded_path(name->file) : name->file;
    lock.place = name->place;
    lock.symbol = std::move(name->symbol);
    lock.symbol_offset = name->offset;
  }
}

void LockFinder::TellLoops(const WaitLoops& loops, const WaitTotals& totals) {
  std::map<std::pair<const AddressSpace*, uint64_t>, OtherLoop> near;
  for (const WaitLoop& loop : loops.all()) {
    if (!IsNear(loop.verdict)) continue;
    OtherLoop& other = near[{loop.space(), loop.address()}];
    other.space = loop.space();
    other.address = loop.address();
    other.trips += loop.trips;
    other.verdict = loop.verdict;
  }
  for (auto& [place, other] : near) {
    other.function = FunctionAt(other.space, other.address, sources_.functions, functions_);
    report_.loops.push_back(other);
  }
  for (const auto& [site, trips] : totals.trips_alone()) {
    const LockSite& at = sites_.all()[site];
    report_.loops.push_back({.space = at.space,
                             .address = at.address,
                             .function = at.function,
                             .trips = trips,
                             .verdict = {.kind = LoopKind::kWait},
                             .alone = true});
  }
  std::ranges::stable_sort(report_.loops, std::ranges::greater(), &OtherLoop::trips);
}

}  // namespace

Result<LockReport> FindLocks(const TimelineSources& sources,
                             const std::vector<const ThreadFlow*>& flows,
                             const LockOptions& options, const TimesOf& times) {
  return LockFinder(sources, flows, options).Find(times);
}

}  // namespace flowback
