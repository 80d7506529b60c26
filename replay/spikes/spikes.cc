// SPDX-License-Identifier: MIT
#include "replay/spikes/spikes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "flowback/replay/player.h"
#include "replay/spikes/instance_player.h"
#include "replay/spikes/nearest.h"
#include "replay/timeline/function_table.h"
#include "replay/timeline/thread_times.h"

namespace flowback {
namespace {

// The first pass: the instances alone.
class InstanceList final : public InstanceSink {
 public:
  void OnInstance(uint32_t, const Instance& instance, const PathCosts&) override {
    if (instances.size() < SpikeReport::kMostInstances)
      instances.push_back(instance);
    else
      ++left_out;
  }
  std::vector<Instance> instances;
  uint64_t left_out = 0;
};

// The edges of the functions that paths are in, by path.
class EdgesByPath {
 public:
  EdgesByPath(const SpikeReport& report, FunctionFinder& finder, FunctionTable& functions)
      : report_(report) {
    const std::vector<BranchWay>& edges = report.branches.edges();
    for (uint32_t edge = 0; edge < edges.size(); ++edge) {
      const FunctionPiece piece = finder.Find(edges[edge].space, edges[edge].address);
      if (piece.end == 0) continue;
      Call call;
      call.entry_ip = piece.begin;
      call.function = piece.id;
      call.space = edges[edge].space;
      by_function_[functions.NumberOf(call)].push_back(edge);
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
              const SpikeOptions& options, const TimeAccounts& accounts)
      : sources_(sources),
        flows_(flows),
        options_(options),
        accounts_(AccountsOf(flows, accounts)),
        functions_(sources.symbolizer, sources.recorded_path),
        player_(sources.flow, {.threads = options.threads, .in_flight = options.in_flight}) {
    report_.nanoseconds = accounts.nanoseconds;
    report_.emulated = sources.recording.machine.emulated;
    report_.has_times = std::ranges::any_of(
        accounts_, [](const TimeAccount* account) { return account != nullptr; });
    report_.span = options.span;
    report_.least_time = options.least_time;
  }

  Result<SpikeReport> Find();

 private:
  InstancePlan PlanFor(InstanceSink& sink, bool call_numbers);
  Status Measure();
  void ChooseMeasure();
  void FindSlow(InstanceMeasure measure, const SlowLimit& limit);
  Status Compare();
  std::vector<uint32_t> ByMeasure(InstanceGroup group) const;
  Status Explain(const InstanceGroups& groups);
  Status CheckParts(const Causes& causes, double extra) const;
  double MeasureOf(uint32_t number) const {
    return static_cast<double>(flowback::MeasureOf(report_.instances[number], report_.measure));
  }

  const TimelineSources& sources_;
  const std::vector<const ThreadFlow*>& flows_;
  const SpikeOptions& options_;
  const std::vector<const TimeAccount*> accounts_;
  FunctionTable functions_;
  Player player_;
  SpikeReport report_;
  std::vector<uint32_t> shown_;   // slow instances, the slowest first
  std::vector<uint32_t> normal_;  // by measure, the least first
};

InstancePlan SpikeFinder::PlanFor(InstanceSink& sink, bool call_numbers) {
  return {.is_region = options_.is_region,
          .unit = TimeUnit(sources_.recording.time),
          .functions = functions_,
          .paths = report_.paths,
          .sink = sink,
          .call_numbers = call_numbers};
}

Result<SpikeReport> SpikeFinder::Find() {
  if (Status status = Measure(); !status) return Fail(status.error());
  ChooseMeasure();
  if (report_.slow != 0 && report_.normal != 0)
    if (Status status = Compare(); !status) return Fail(status.error());
  report_.functions = std::move(functions_.all());
  return std::move(report_);
}

Status SpikeFinder::Measure() {
  InstanceList list;
  const InstancePlan plan = PlanFor(list, false);
  InstancePlayer instances(plan, sources_, accounts_, options_.places, nullptr, nullptr);
  if (Status status = player_.Play(flows_, instances); !status) return status;
  report_.instances = std::move(list.instances);
  report_.left_out = list.left_out;
  report_.losses = instances.TakeLosses();
  for (const Instance& instance : report_.instances)
    ++report_.states[static_cast<size_t>(instance.state)];
  return {};
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

// Returns the numbers of a group's instances, the least first.
std::vector<uint32_t> SpikeFinder::ByMeasure(InstanceGroup group) const {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < report_.instances.size(); ++i)
    if (report_.GroupOf(report_.instances[i]) == group) numbers.push_back(i);
  std::ranges::stable_sort(numbers, {}, [&](uint32_t number) { return MeasureOf(number); });
  return numbers;
}

Status SpikeFinder::Compare() {
  shown_ = ByMeasure(InstanceGroup::kSlow);
  std::ranges::reverse(shown_);
  shown_.resize(std::min(shown_.size(), options_.top));
  normal_ = ByMeasure(InstanceGroup::kNormal);
  report_.median = normal_[(normal_.size() - 1) / 2];
  std::vector<InstanceGroup> of;
  for (const Instance& instance : report_.instances) of.push_back(report_.GroupOf(instance));
  std::vector<uint32_t> kept = CandidatesOf(normal_);
  kept.insert(kept.end(), shown_.begin(), shown_.end());
  kept.push_back(report_.median);
  InstanceGroups groups(std::move(of), kept);
  const InstancePlan plan = PlanFor(groups, true);
  InstancePlayer instances(plan, sources_, accounts_, options_.places, &report_.branches, &groups);
  if (Status status = player_.Play(flows_, instances); !status) return status;
  return Explain(groups);
}

Status SpikeFinder::Explain(const InstanceGroups& groups) {
  EdgesByPath edges(report_, sources_.functions, functions_);
  CauseInput input{.paths = report_.paths,
                   .branches = report_.branches,
                   .slow = groups.Of(InstanceGroup::kSlow),
                   .normal = groups.Of(InstanceGroup::kNormal),
                   .measure = report_.measure,
                   .edges_of = std::ref(edges)};
  report_.causes = FindCauses(input);
  double extra = 0;
  for (uint32_t i = 0; i < report_.instances.size(); ++i) {
    const InstanceGroup group = report_.GroupOf(report_.instances[i]);
    const double scale = static_cast<double>(report_.slow) / static_cast<double>(report_.normal);
    if (group == InstanceGroup::kSlow) extra += MeasureOf(i);
    if (group == InstanceGroup::kNormal) extra -= MeasureOf(i) * scale;
  }
  if (Status status = CheckParts(report_.causes, extra); !status) return status;
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
    outlier.parting = PartingOf(kept, *groups.Kept(outlier.nearest));
    report_.outliers.push_back(std::move(outlier));
  }
  report_.slow_sums = groups.Of(InstanceGroup::kSlow);
  report_.normal_sums = groups.Of(InstanceGroup::kNormal);
  return {};
}

// The paths' costs add up to the instances' own.
Status SpikeFinder::CheckParts(const Causes& causes, double extra) const {
  const double most = 1 + std::abs(extra) * 1e-6;
  if (std::abs(causes.extra - extra) <= most) return {};
  return Fail(Error(ErrorCode::kSystem, "the parts of what slow instances took add up to " +
                                            std::to_string(causes.extra) + ", not to " +
                                            std::to_string(extra) + ": a fault in flowback")
                  .Remedy("report it with the recording"));
}

}  // namespace

InstanceGroup SpikeReport::GroupOf(const Instance& instance) const {
  if (!IsCompared(instance)) return InstanceGroup::kOther;
  const bool is_slow =
      slowness.slow != 0 && flowback::MeasureOf(instance, measure) > slowness.threshold;
  return is_slow && instance.time() >= least_time ? InstanceGroup::kSlow : InstanceGroup::kNormal;
}

Result<SpikeReport> FindSpikes(const TimelineSources& sources,
                               const std::vector<const ThreadFlow*>& flows,
                               const SpikeOptions& options, const TimeAccounts& accounts) {
  return SpikeFinder(sources, flows, options, accounts).Find();
}

Result<SpikeReport> FindSpikes(const TimelineSources& sources,
                               const std::vector<const ThreadFlow*>& flows,
                               const SpikeOptions& options) {
  const Result<TimeAccounts> accounts = AccountTimes(sources);
  if (!accounts) return Fail(accounts.error());
  return FindSpikes(sources, flows, options, *accounts);
}

}  // namespace flowback
