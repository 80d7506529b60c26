// SPDX-License-Identifier: MIT
#include "replay/spikes/spikes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "flowback/replay/player.h"
#include "replay/spikes/instances/instance_player.h"
#include "replay/spikes/instances/instance_rows.h"
#include "replay/spikes/instances/paired_regions.h"
#include "replay/spikes/instances/step_player.h"
#include "replay/spikes/kept_spikes.h"
#include "replay/spikes/nearest.h"
#include "replay/timeline/function_table.h"
#include "replay/timeline/thread_times.h"

namespace flowback {
namespace {

// The edges of the functions that paths are in, by path.
class EdgesByPath {
 public:
  EdgesByPath(const SpikeReport& report, FunctionFinder& finder, FunctionTable& functions)
      : report_(report) {
    const std::vector<BranchWay>& edges = report.branches.edges();
    for (uint32_t edge = 0; edge < edges.size(); ++edge) {
      const FunctionPiece piece = finder.Find(edges[edge].space, edges[edge].address);
      if (piece.end == 0) continue;
      by_function_[functions.NumberOf(edges[edge].space, piece)].push_back(edge);
    }
    std::vector<uint32_t> roots;
    for (const Instance& instance : report.instances) roots.push_back(instance.function);
    std::ranges::sort(roots);
    roots.erase(std::ranges::unique(roots).begin(), roots.end());
    for (const uint32_t root : roots) {
      const std::vector<uint32_t>& of = by_function_[root];
      of_region_.insert(of_region_.end(), of.begin(), of.end());
    }
  }
  const std::vector<uint32_t>& operator()(uint32_t node) {
    if (node == PathTree::kRoot) return of_region_;
    return by_function_[report_.paths.nodes()[node].function];
  }

 private:
  const SpikeReport& report_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_function_;
  std::vector<uint32_t> of_region_;
};

std::vector<NodeCost> CostsOf(const KeptInstance& kept) {
  std::vector<NodeCost> costs;
  costs.reserve(kept.paths.size());
  for (const auto& [node, cost] : kept.paths) costs.push_back({.node = node, .cost = cost});
  return costs;
}

class SpikeFinder {
 public:
  SpikeFinder(const TimelineSources& sources, const std::vector<const ThreadFlow*>& flows,
              const SpikeOptions& options, const TimesOf& times, KeptSpikes* kept)
      : sources_(sources),
        flows_(flows),
        options_(options),
        times_(times),
        kept_(kept),
        functions_(sources.symbolizer, sources.recorded_path),
        player_(sources.flow, {.threads = options.threads, .in_flight = options.in_flight}) {
    report_.emulated = sources.recording.machine.emulated;
    report_.span = options.span;
    report_.least_time = options.least_time;
  }

  Result<SpikeReport> Find();

 private:
  InstancePlan PlanFor(InstanceSink& sink);
  Status LearnTimes();
  Status FindPairs();
  Status CheckTimes() const;
  Status Measure();
  void DropTables();
  bool LoadInstances();
  bool NumberFunctions();
  void ChooseMeasure();
  void FindSlow(InstanceMeasure measure, const SlowLimit& limit);
  void ChooseShown();
  bool LoadComparison();
  Status Compare();
  double Extra() const;
  bool IsComparison() const;
  bool HasRows() const { return rows_ && rows_->complete(); }
  Status SumUp(InstanceGroups& groups);
  Status PlaySteps(InstanceGroups& groups);
  Status Explain(InstanceGroups& groups);
  static bool AddsUp(const Causes& causes, double extra);
  static Status CheckParts(const Causes& causes, double extra);
  double MeasureOf(uint32_t number) const {
    return static_cast<double>(flowback::MeasureOf(report_.instances[number], report_.measure));
  }

  const TimelineSources& sources_;
  const std::vector<const ThreadFlow*>& flows_;
  const SpikeOptions& options_;
  const TimesOf& times_;
  KeptSpikes* const kept_;
  std::optional<TimeAccounts> known_times_;
  std::vector<const TimeAccount*> accounts_;  // into known_times_, by number of the flow
  FunctionTable functions_;
  Player player_;
  SpikeReport report_;
  std::optional<InstanceRows> rows_;
  std::optional<PairedRegions> pairs_;
  std::vector<uint32_t> shown_;   // slow instances, the slowest first
  std::vector<uint32_t> normal_;  // by measure, the least first
};

InstancePlan SpikeFinder::PlanFor(InstanceSink& sink) {
  return {.is_region = options_.is_region,
          .unit = TimeUnit(sources_.recording.time),
          .functions = functions_,
          .paths = report_.paths,
          .sink = sink,
          .counts_cycles = !report_.emulated,
          .pairs = pairs_ ? &*pairs_ : nullptr,
          .regions = options_.regions};
}

Result<SpikeReport> SpikeFinder::Find() {
  const bool loaded = LoadInstances();
  if (!loaded)
    if (Status status = Measure(); !status) return Fail(status.error());
  if (Status status = CheckTimes(); !status) return Fail(status.error());
  ChooseMeasure();
  if (report_.slow == 0 || report_.normal == 0) {
    DropTables();
    report_.functions.resize(report_.NamedFunctions());
    return std::move(report_);
  }
  ChooseShown();
  if (loaded && LoadComparison()) return std::move(report_);
  if (loaded && !NumberFunctions())
    if (Status status = Measure(); !status) return Fail(status.error());
  if (Status status = Compare(); !status) return Fail(status.error());
  return std::move(report_);
}

// Without times nothing but instructions can be compared, and without CYC packets no cycles.
Status SpikeFinder::CheckTimes() const {
  const bool by_cycles = options_.measure == InstanceMeasure::kCycles;
  if (by_cycles && !report_.instances.empty() &&
      std::ranges::all_of(report_.instances, [](const auto& each) { return each.cycles == 0; }))
    return Fail(Error(ErrorCode::kUsage, "nothing counted cycles in this trace")
                    .Remedy("`flowback record -e intel_pt/cyc/u`, or --by instructions"));
  if (report_.has_times || !options_.measure || *options_.measure == InstanceMeasure::kInstructions)
    return {};
  return Fail(Error(ErrorCode::kUsage,
                    std::string("the trace has no times, so nothing can be compared by ") +
                        Name(*options_.measure))
                  .Remedy("--by instructions, or a recording with timing packets (TSC, MTC, CYC)"));
}

Status SpikeFinder::LearnTimes() {
  if (known_times_) return {};
  Result<TimeAccounts> times = times_();
  if (!times) return Fail(times.error());
  known_times_ = *std::move(times);
  accounts_ = AccountsOf(flows_, *known_times_);
  return {};
}

// The ends of other threads' regions are known when all threads have been played.
Status SpikeFinder::FindPairs() {
  if (!options_.across_threads || pairs_) return {};
  PassFinder passes(*options_.places, TimeUnit(sources_.recording.time));
  if (Status status = player_.Play(flows_, passes); !status) return status;
  pairs_ = PairPasses(passes.TakePasses(), flows_.size());
  report_.unpaired = pairs_->unpaired;
  report_.unpaired.without_value += passes.left_out();
  return {};
}

Status SpikeFinder::Measure() {
  if (Status status = LearnTimes(); !status) return status;
  report_.nanoseconds = known_times_->nanoseconds;
  report_.has_times =
      std::ranges::any_of(accounts_, [](const auto* account) { return account != nullptr; });
  if (Status status = FindPairs(); !status) return status;
  DropTables();
  rows_.emplace(SpikeReport::kMostInstances, options_.row_bytes);
  const InstancePlan plan = PlanFor(*rows_);
  InstancePlayer instances(plan, sources_, accounts_, options_.places, report_.branches, *rows_);
  if (Status status = player_.Play(flows_, instances); !status) return status;
  if (!HasRows()) DropTables();
  report_.instances = rows_->TakeInstances();
  report_.left_out = rows_->left_out();
  if (options_.regions != nullptr) report_.unnamed_regions = options_.regions->unnamed();
  report_.overlapping = instances.overlapping();
  report_.losses = instances.TakeLosses();
  report_.CountStates();
  report_.functions = functions_.all();
  return {};
}

// The tables of a pass whose numbers are not used.
void SpikeFinder::DropTables() {
  report_.paths = {};
  report_.branches = {};
}

bool SpikeFinder::LoadInstances() { return kept_ != nullptr && kept_->LoadInstances(report_); }

// Gives the functions of kept instances the numbers that they had. Returns false if that cannot be
// done: then the first pass must number them.
bool SpikeFinder::NumberFunctions() {
  for (uint32_t number = 0; number < report_.functions.size(); ++number) {
    const TimelineFunction& function = report_.functions[number];
    Call call;
    call.entry_ip = function.entry_ip;
    call.space = function.space;
    call.function = sources_.functions.Find(function.space, function.entry_ip).id;
    const bool same =
        functions_.NumberOf(call) == number && functions_.all()[number].name == function.name;
    if (!same) return false;
  }
  return true;
}

void SpikeFinder::ChooseMeasure() {
  // Shorter ones are those of an emulator on a busy machine, however quiet the others were.
  constexpr uint64_t kLeastWait = 1'000'000;
  const SlowLimit& limit = options_.limit;
  if (options_.measure) return FindSlow(*options_.measure, limit);
  const bool by_time = report_.has_times && !report_.emulated;
  FindSlow(by_time ? InstanceMeasure::kTime : InstanceMeasure::kInstructions, limit);
  if (by_time || !report_.has_times || limit.kind != SlowLimit::Kind::kKnee) return;
  const size_t slow = report_.slow;
  FindSlow(InstanceMeasure::kKernel, limit);
  if (report_.slow != 0 && report_.slowness.threshold < kLeastWait)
    FindSlow(InstanceMeasure::kKernel, {.kind = SlowLimit::Kind::kValue, .value = kLeastWait});
  report_.by_kernel_instead = slow == 0 && report_.slow != 0;
  if (report_.by_kernel_instead) return;
  report_.slow_in_kernel = report_.slow;
  FindSlow(InstanceMeasure::kInstructions, limit);
}

void SpikeFinder::FindSlow(InstanceMeasure measure, const SlowLimit& limit) {
  report_.measure = measure;
  report_.sorted.clear();
  for (const Instance& instance : report_.instances)
    if (report_.IsCompared(instance))
      report_.sorted.push_back(flowback::MeasureOf(instance, measure));
  std::ranges::sort(report_.sorted);
  report_.distribution = DistributionOf(report_.sorted);
  report_.slowness = flowback::FindSlow(report_.sorted, limit);
  report_.slow = report_.normal = 0;
  for (const Instance& instance : report_.instances) {
    const InstanceGroup group = report_.GroupOf(instance);
    report_.slow += group == InstanceGroup::kSlow ? 1 : 0;
    report_.normal += group == InstanceGroup::kNormal ? 1 : 0;
  }
}

void SpikeFinder::ChooseShown() {
  shown_ = SlowestOf(report_, options_.top);
  normal_ = NumbersOf(report_, InstanceGroup::kNormal);
  report_.median = normal_[(normal_.size() - 1) / 2];
}

bool SpikeFinder::LoadComparison() {
  if (!kept_->LoadComparison(options_, report_)) return false;
  if (IsComparison()) return true;
  report_.causes = {};
  report_.outliers.clear();
  report_.median_costs.clear();
  DropTables();
  return false;
}

// Checks a kept comparison against facts known without it.
bool SpikeFinder::IsComparison() const {
  const auto is_normal = [&](uint32_t number) {
    return report_.GroupOf(report_.instances[number]) == InstanceGroup::kNormal;
  };
  if (report_.outliers.size() != shown_.size() || !AddsUp(report_.causes, Extra())) return false;
  for (size_t i = 0; i < shown_.size(); ++i) {
    const Outlier& outlier = report_.outliers[i];
    const double more = MeasureOf(shown_[i]) - MeasureOf(report_.median);
    if (outlier.number != shown_[i] || !is_normal(outlier.nearest) || !AddsUp(outlier.causes, more))
      return false;
  }
  return true;
}

Status SpikeFinder::Compare() {
  if (Status status = LearnTimes(); !status) return status;
  std::vector<InstanceGroup> of;
  for (const Instance& instance : report_.instances) of.push_back(report_.GroupOf(instance));
  std::vector<uint32_t> kept = CandidatesOf(normal_);
  kept.insert(kept.end(), shown_.begin(), shown_.end());
  kept.push_back(report_.median);
  InstanceGroups groups(std::move(of), kept);
  if (Status status = SumUp(groups); !status) return status;
  if (Status status = Explain(groups); !status) return status;
  report_.functions = std::move(functions_.all());
  return {};
}

Status SpikeFinder::SumUp(InstanceGroups& groups) {
  if (HasRows()) {
    rows_->TellAgain(report_.instances, groups);
    return {};
  }
  if (Status status = FindPairs(); !status) return status;
  const InstancePlan plan = PlanFor(groups);
  InstancePlayer instances(plan, sources_, accounts_, options_.places, report_.branches, groups);
  return player_.Play(flows_, instances);
}

// Rows have no steps: those of the outliers and of the instances next to them are played.
Status SpikeFinder::PlaySteps(InstanceGroups& groups) {
  if (!HasRows()) return {};
  std::vector<uint32_t> numbers = shown_;
  for (const Outlier& outlier : report_.outliers) numbers.push_back(outlier.nearest);
  StepPlayer steps(report_.instances, numbers, report_.branches, groups);
  return player_.Play(flows_, steps);
}

// What the slow ones took beyond as many normal ones.
double SpikeFinder::Extra() const {
  const double scale = static_cast<double>(report_.slow) / static_cast<double>(report_.normal);
  double extra = 0;
  for (uint32_t i = 0; i < report_.instances.size(); ++i) {
    const InstanceGroup group = report_.GroupOf(report_.instances[i]);
    if (group == InstanceGroup::kSlow) extra += MeasureOf(i);
    if (group == InstanceGroup::kNormal) extra -= MeasureOf(i) * scale;
  }
  return extra;
}

Status SpikeFinder::Explain(InstanceGroups& groups) {
  EdgesByPath edges(report_, sources_.functions, functions_);
  CauseInput input{.paths = report_.paths,
                   .branches = report_.branches,
                   .slow = groups.Of(InstanceGroup::kSlow),
                   .normal = groups.Of(InstanceGroup::kNormal),
                   .measure = report_.measure,
                   .edges_of = std::ref(edges)};
  report_.causes = FindCauses(input);
  if (Status status = CheckParts(report_.causes, Extra()); !status) return status;
  report_.median_costs = CostsOf(*groups.Kept(report_.median));
  const GroupSums median = groups.Kept(report_.median)->Alone();
  const std::vector<uint32_t> candidates = CandidatesOf(normal_);
  for (const uint32_t number : shown_) {
    const KeptInstance& kept = *groups.Kept(number);
    const GroupSums alone = kept.Alone();
    Outlier outlier;
    outlier.number = number;
    outlier.causes = FindCauses({.paths = report_.paths,
                                 .branches = report_.branches,
                                 .slow = alone,
                                 .normal = median,
                                 .measure = report_.measure,
                                 .edges_of = std::ref(edges)});
    const double more = MeasureOf(number) - MeasureOf(report_.median);
    if (Status status = CheckParts(outlier.causes, more); !status) return status;
    outlier.costs = CostsOf(kept);
    outlier.nearest = NearestOf(kept, candidates, groups);
    report_.outliers.push_back(std::move(outlier));
  }
  if (Status status = PlaySteps(groups); !status) return status;
  for (Outlier& outlier : report_.outliers)
    outlier.parting = PartingOf(*groups.Kept(outlier.number), *groups.Kept(outlier.nearest));
  report_.slow_sums = groups.Of(InstanceGroup::kSlow);
  report_.normal_sums = groups.Of(InstanceGroup::kNormal);
  return {};
}

// The paths' costs add up to the instances' own.
bool SpikeFinder::AddsUp(const Causes& causes, double extra) {
  const double most = 1 + std::abs(extra) * 1e-6;
  return std::abs(causes.extra - extra) <= most;
}

Status SpikeFinder::CheckParts(const Causes& causes, double extra) {
  if (AddsUp(causes, extra)) return {};
  return Fail(Error(ErrorCode::kSystem, "the parts of what slow instances took add up to " +
                                            std::to_string(causes.extra) + ", not to " +
                                            std::to_string(extra) + ": a fault in flowback")
                  .Remedy("report it with the recording"));
}

}  // namespace

void MeasuredInstances::CountStates() {
  states = {};
  for (const Instance& instance : instances) ++states[static_cast<size_t>(instance.state)];
}

size_t MeasuredInstances::NamedFunctions() const {
  size_t count = 0;
  for (const Instance& instance : instances)
    if (instance.function != CallPath::kNoFunction)
      count = std::max<size_t>(count, size_t{instance.function} + 1);
  return std::min(count, functions.size());
}

InstanceGroup SpikeReport::GroupOf(const Instance& instance) const {
  if (!IsCompared(instance)) return InstanceGroup::kOther;
  const bool is_slow =
      slowness.slow != 0 && flowback::MeasureOf(instance, measure) > slowness.threshold;
  return is_slow && instance.time() >= least_time ? InstanceGroup::kSlow : InstanceGroup::kNormal;
}

std::vector<uint32_t> NumbersOf(const SpikeReport& report, InstanceGroup group) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < report.instances.size(); ++i)
    if (report.GroupOf(report.instances[i]) == group) numbers.push_back(i);
  std::ranges::stable_sort(numbers, {}, [&](uint32_t number) {
    return MeasureOf(report.instances[number], report.measure);
  });
  return numbers;
}

std::vector<uint32_t> SlowestOf(const SpikeReport& report, size_t most) {
  std::vector<uint32_t> numbers = NumbersOf(report, InstanceGroup::kSlow);
  std::ranges::reverse(numbers);
  numbers.resize(std::min(numbers.size(), most));
  return numbers;
}

Result<SpikeReport> FindSpikes(const TimelineSources& sources,
                               const std::vector<const ThreadFlow*>& flows,
                               const SpikeOptions& options, const TimesOf& times,
                               KeptSpikes* kept) {
  return SpikeFinder(sources, flows, options, times, kept).Find();
}

}  // namespace flowback
