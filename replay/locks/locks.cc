// SPDX-License-Identifier: MIT
#include "replay/locks/locks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "flowback/replay/player.h"
#include "replay/calls/shadow_stack/stack_judge.h"
#include "replay/locks/lock_instances.h"
#include "replay/locks/lock_player.h"
#include "replay/locks/lock_sites.h"
#include "replay/locks/lock_sums.h"
#include "replay/locks/lock_walk.h"
#include "replay/locks/passive_steps.h"
#include "replay/symbols/elf/data_names.h"
#include "replay/timeline/function_table.h"
#include "replay/timeline/kept_times.h"

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

  // By playing all of the flow.
  Result<LockReport> PlayAll(const TimeAccounts& times);
  // What becomes of calls between places where they matter.
  enum class Calls : uint8_t {
    kPlayed,
    kLeft,   // nothing is known of them; as good where no thread waits
    kLeapt,  // over those that have returned; the index has followed calls
  };
  // By playing what may matter. Empty: something matters that was passed over.
  std::optional<LockReport> PlayParts(FlowIndex& index, const TimeAccounts& times, Calls calls);

 private:
  // The player of the flow and its listener.
  struct Work;

  void Begin(const TimeAccounts& times);
  LockReport Tell(Work& work);
  bool MayHaveLeft(const LockWalk& walk, const PassiveSteps& passive);
  bool IsFunctionsBegin(const std::pair<const AddressSpace*, uint64_t>& place,
                        const std::set<uint32_t>& functions);
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
  std::vector<const TimeAccount*> accounts_;
};

struct LockFinder::Work {
  explicit Work(LockFinder& finder)
      : totals(finder.options_, finder.sites_, AreAlone(finder.sources_.recording, finder.flows_),
               finder.report_),
        instances(finder.Pids()),
        away(finder.sources_.recording, finder.accounts_),
        plan{.unit = TimeUnit(finder.sources_.recording.time),
             .functions = finder.functions_,
             .sites = finder.sites_,
             .instances = instances,
             .paths = finder.report_.paths,
             .sink = totals,
             .blocking = finder.options_.blocking,
             .away = finder.sources_.recording.levels.kernel.value_or(false) ? &away : nullptr},
        player(plan, totals, finder.sources_, finder.accounts_) {
    if (finder.options_.shares.wanted) totals.SplitTimes(finder.accounts_);
  }

  WaitTotals totals;
  LockInstances instances;
  TimeAway away;
  const WaitPlan plan;
  LockPlayer player;
};

void LockFinder::Begin(const TimeAccounts& times) {
  accounts_ = AccountsOf(flows_, times);
  report_.nanoseconds = times.nanoseconds;
  report_.emulated = sources_.recording.machine.emulated;
  // Records contain when threads lived, but not their work.
  report_.has_times = std::ranges::any_of(accounts_, [](const TimeAccount* each) {
    return each != nullptr && each->Of(TimeClass::kExecuting).time != 0;
  });
  TellThreads(accounts_);
}

Result<LockReport> LockFinder::PlayAll(const TimeAccounts& times) {
  Begin(times);
  Work work(*this);
  Player player(sources_.flow, {.threads = options_.threads, .in_flight = options_.in_flight});
  if (Status status = player.Play(flows_, work.player); !status) return Fail(status.error());
  return Tell(work);
}

std::optional<LockReport> LockFinder::PlayParts(FlowIndex& index, const TimeAccounts& times,
                                                Calls calls) {
  Begin(times);
  Work work(*this);
  PassiveSteps passive(work.player.blocks(), IndexSteps::Runs(index), sources_.functions,
                       sources_.symbolizer, options_.blocking);
  LockWalk walk(index, flows_, work.player, passive);
  if (calls == Calls::kLeft) walk.LeaveCalls();
  if (calls == Calls::kLeapt) walk.LeapOverCalls();
  if (options_.pass_over == PassOver::kWhereFaster) walk.GiveUpWhereSlow();
  if (!walk.Play() || (walk.left_calls() && work.totals.has_waits())) return std::nullopt;
  if (options_.passed_over != nullptr) *options_.passed_over = walk.passed_over();
  if (MayHaveLeft(walk, passive)) return std::nullopt;
  return Tell(work);
}

// Whether calls that count as acquisitions may lie in flow whose calls were not looked at: from
// where the function was called, or to its first instruction, as jumps lead.
bool LockFinder::MayHaveLeft(const LockWalk& walk, const PassiveSteps& passive) {
  using Place = std::pair<const AddressSpace*, uint64_t>;
  std::set<uint32_t> functions;
  std::set<Place> calls;
  for (const LockSite& site : sites_.all()) {
    if (site.is_library || site.call == 0) continue;
    functions.insert(site.function);
    calls.emplace(site.space, site.call);
  }
  if (functions.empty()) return false;
  bool found = false;
  std::set<Place> begins;
  for (const SegmentSteps* steps : walk.left())
    passive.ForEachBlock(*steps, [&](const AddressSpace* space, uint64_t first, uint64_t last) {
      begins.emplace(space, first);
      found = found || calls.contains({space, last});
    });
  return found || std::ranges::any_of(begins, [&](const Place& place) {
           return IsFunctionsBegin(place, functions);
         });
}

bool LockFinder::IsFunctionsBegin(const std::pair<const AddressSpace*, uint64_t>& place,
                                  const std::set<uint32_t>& functions) {
  const FunctionPiece piece = sources_.functions.Find(place.first, place.second);
  const bool is_begin = piece.end == 0 || piece.begin == place.second;
  return is_begin &&
         functions.contains(FunctionAt(place.first, place.second, sources_.functions, functions_));
}

LockReport LockFinder::Tell(Work& work) {
  report_.losses = work.player.TakeLosses();
  work.totals.Tell(report_.losses.empty() && AreAllPlayed(), work.away);
  TellLoops(work.player.loops(), work.totals);
  TellInstances(work.instances);
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

// Whether an index covers the flows' whole flow, as Player does.
bool AreIndexed(const FlowSource& source, const std::vector<const ThreadFlow*>& flows) {
  if (source.piece_filter) return false;
  for (const ThreadFlow* flow : flows)
    for (const FlowPiece& piece : flow->pieces) {
      const DecodeInput& input = source.inputs.For(*piece.stream);
      const bool is_its =
          input.changes.empty() ? piece.stay == nullptr : input.changes.front().stay == piece.stay;
      if (input.from != 0 || !IsWholeStream(piece) || input.changes.size() > 1 || !is_its)
        return false;
    }
  return true;
}

std::vector<ThreadFlow> CopiesOf(const std::vector<const ThreadFlow*>& flows) {
  std::vector<ThreadFlow> copies;
  copies.reserve(flows.size());
  for (const ThreadFlow* flow : flows) copies.push_back(*flow);
  return copies;
}

bool AreAllAlone(const Recording& recording, const std::vector<const ThreadFlow*>& flows) {
  return std::ranges::all_of(AreAlone(recording, flows), std::identity());
}

// An index's counts beside losses may differ from the delivered flow.
bool HaveLosses(const FlowIndex& index) {
  return std::ranges::any_of(index.threads(), [](const IndexedThread& thread) {
    return std::ranges::any_of(thread.shares,
                               [](const FlowShare& share) { return share.losses != 0; });
  });
}

// A part costs the first pass something at its begin and its end. Where calls matter, or a
// recording is short, small parts save more than that: less of the flow is played.
uint64_t PartBytes(const Recording& recording, bool may_leave) {
  constexpr uint64_t kLeast = uint64_t{64} << 10;
  constexpr uint64_t kMost = uint64_t{256} << 10;
  constexpr uint64_t kParts = 1024;
  uint64_t bytes = 0;
  for (const Stream& stream : recording.streams) bytes += stream.bytes.size();
  return may_leave ? std::clamp(bytes / kParts, kLeast, kMost) : kLeast;
}

// As FindLocks, by playing what may matter. Empty: all must be played. `learned` gets the times.
// Where a thread is alone in its process it waits for none, and its calls matter nowhere, mostly.
// It is not tried where something was lost, nor where all had to be read in full, as where the
// trace counts cycles.
Result<std::optional<LockReport>> FindInParts(const TimelineSources& sources,
                                              const std::vector<const ThreadFlow*>& flows,
                                              const LockOptions& options, const TimeAccounts* times,
                                              std::optional<FlowTimes>& learned) {
  const Result<std::unique_ptr<Decoder>> decoder = sources.flow.make_decoder();
  if (!decoder) return Fail(decoder.error());
  const bool is_test = options.pass_over != PassOver::kWhereFaster;
  const bool may_leave =
      options.pass_over != PassOver::kByLeaps && AreAllAlone(sources.recording, flows);
  StackJudge judge(sources.functions);
  Result<TimedIndex> timed = MakeTimedIndex(
      sources.recording, sources.flow.inputs, CopiesOf(flows), **decoder,
      {.segment_bytes = options.segment_bytes != 0 ? options.segment_bytes
                                                   : PartBytes(sources.recording, may_leave),
       .calls = may_leave && !is_test ? nullptr : &judge,
       .steps = true});
  if (!timed) return std::optional<LockReport>();
  learned = std::move(timed->times);
  if (IndexSteps::GoneOver(timed->index) == 0 || HaveLosses(timed->index))
    return std::optional<LockReport>();
  const TimeAccounts& known = times != nullptr ? *times : learned->accounts;
  std::optional<LockReport> report;
  const auto play = [&](LockFinder::Calls calls) {
    if (!report) report = LockFinder(sources, flows, options).PlayParts(timed->index, known, calls);
  };
  if (may_leave) play(LockFinder::Calls::kLeft);
  if (is_test || !may_leave) play(LockFinder::Calls::kLeapt);
  if (is_test) play(LockFinder::Calls::kPlayed);
  return report;
}

}  // namespace

Result<LockReport> FindLocks(const TimelineSources& sources,
                             const std::vector<const ThreadFlow*>& flows,
                             const LockOptions& options, const TimeAccounts* times) {
  std::optional<FlowTimes> learned;
  if (options.pass_over != PassOver::kNever && AreIndexed(sources.flow, flows)) {
    Result<std::optional<LockReport>> report = FindInParts(sources, flows, options, times, learned);
    if (!report) return Fail(report.error());
    if (*report) return **std::move(report);
  }
  LockFinder finder(sources, flows, options);
  if (times != nullptr) return finder.PlayAll(*times);
  if (learned) return finder.PlayAll(learned->accounts);
  const Result<TimeAccounts> known = AccountTimes(sources);
  if (!known) return Fail(known.error());
  return finder.PlayAll(*known);
}

}  // namespace flowback
