// SPDX-License-Identifier: MIT
#include "replay/spikes/spikes_bytes.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/linux/linux_abi.h"
#include "replay/flow/result_bytes.h"

namespace flowback {
namespace {

constexpr auto kPathKinds = static_cast<uint64_t>(PathKind::kCut) + 1;
constexpr auto kCauseKinds = static_cast<uint64_t>(CauseKind::kOtherStack) + 1;
constexpr auto kAbis = static_cast<uint64_t>(LinuxAbi::kAArch64) + 1;

template <class Io, class InstanceType>
void TellInstance(Io& io, InstanceType& instance, size_t threads) {
  io.Below(instance.thread, threads);
  io.Number(instance.tid);
  io.Function(instance.function);
  io.Below(instance.state, kInstanceStates);
  TellPoint(io, instance.begin);
  TellPoint(io, instance.end);
  io.Number(instance.first_instruction);
  io.Number(instance.end_instruction);
  io.Number(instance.instructions);
  io.Number(instance.cycles);
  io.Number(instance.lost_bytes);
  SerializeTimes(io, instance.times);
}

template <class Io, class Report>
void TellInstances(Io& io, Report& report, size_t threads) {
  io.Number(report.nanoseconds);
  io.Number(report.has_times);
  io.List(report.instances, [&](auto& instance) { TellInstance(io, instance, threads); });
  io.Number(report.left_out);
  io.Number(report.unnamed_regions);
  io.Number(report.overlapping);
  auto& unpaired = report.unpaired;
  for (auto* number : {&unpaired.without_begin, &unpaired.without_end, &unpaired.without_value})
    io.Number(*number);
  io.List(report.losses, [&](auto& sum) { TellLosses(io, sum); });
}

template <class Io, class Path>
void TellPath(Io& io, Path& path, size_t before) {
  io.Below(path.parent, std::max<uint64_t>(before, 1));
  io.Below(path.kind, kPathKinds);
  // A system call's number is written as it is.
  if (path.kind == PathKind::kSystemCall)
    io.Number(path.function);
  else
    io.Function(path.function);
  io.Below(path.abi, kAbis);
  io.Number(path.site);
  io.Space(path.space);
  io.Number(path.depth);
}

template <class Io, class Cost>
void TellCost(Io& io, Cost& cost) {
  io.Number(cost.entries);
  io.Number(cost.instructions);
  io.Number(cost.cycles);
  SerializeTimes(io, cost.times);
}

template <class Io, class Way>
void TellWay(Io& io, Way& way) {
  io.Number(way.address);
  io.Number(way.target);
  io.Space(way.space);
  io.Number(way.taken);
  io.Number(way.indirect);
  io.NumberOrNone(way.other, BranchTable::kMostEdges);
}

template <class Io, class Sums>
void TellGroup(Io& io, Sums& sums) {
  io.Number(sums.instances);
  io.List(sums.paths, [&](auto& path) {
    io.Number(path.instances);
    TellCost(io, path.cost);
    io.Word(path.which);
  });
  io.List(sums.branches, [&](auto& branch) {
    for (auto* number : {&branch.instances, &branch.count, &branch.least, &branch.most})
      io.Number(*number);
    io.Word(branch.which);
    io.List(branch.sizes, [&](auto& size) { io.Number(size); });
  });
}

// The numbers of paths and edges that a cause may name.
struct Limits {
  uint64_t nodes = 0;
  uint64_t edges = 0;
};

template <class Io, class CauseType>
void TellCause(Io& io, CauseType& cause, const Limits& limits) {
  io.Below(cause.kind, kCauseKinds);
  io.Below(cause.node, limits.nodes);
  io.Below(cause.inside, limits.nodes);
  for (auto* edge : {&cause.edge, &cause.loop}) io.NumberOrNone(*edge, limits.edges);
  for (auto* number : {&cause.extra, &cause.share, &cause.slow_count, &cause.normal_count,
                       &cause.chance, &cause.slow_cost, &cause.normal_cost})
    io.Real(*number);
  io.Number(cause.slow_with);
  io.Number(cause.normal_with);
  SerializeTimes(io, cause.classes);
}

template <class Io, class CausesType>
void TellCauses(Io& io, CausesType& causes, const Limits& limits) {
  io.Real(causes.extra);
  io.Real(causes.rest);
  io.List(causes.parts, [&](auto& cause) { TellCause(io, cause, limits); });
}

template <class Io, class Costs>
void TellCosts(Io& io, Costs& costs, const Limits& limits) {
  io.List(costs, [&](auto& one) {
    io.Below(one.node, limits.nodes);
    TellCost(io, one.cost);
  });
}

template <class Io, class OutlierType>
void TellOutlier(Io& io, OutlierType& outlier, size_t instances, const Limits& limits) {
  io.Below(outlier.number, instances);
  io.Below(outlier.nearest, instances);
  TellCauses(io, outlier.causes, limits);
  io.Number(outlier.parting.after);
  io.NumberOrNone(outlier.parting.edge, limits.edges);
  io.NumberOrNone(outlier.parting.other, limits.edges);
  io.Number(outlier.parting.is_cut);
  TellCosts(io, outlier.costs, limits);
}

template <class Io, class Report>
void TellComparison(Io& io, Report& report, size_t instances, const Limits& limits) {
  TellGroup(io, report.slow_sums);
  TellGroup(io, report.normal_sums);
  TellCosts(io, report.median_costs, limits);
  TellCauses(io, report.causes, limits);
  io.List(report.outliers, [&](auto& outlier) { TellOutlier(io, outlier, instances, limits); });
}

template <class Io, class LoopType>
void TellLoop(Io& io, LoopType& loop) {
  TellFunction(io, loop.function);
  TellFunction(io, loop.caller);
  for (auto* number : {&loop.calls, &loop.loops, &loop.instructions, &loop.all, &loop.waits})
    io.Number(*number);
  io.Optional(loop.wait, [&](auto& wait) { io.Number(wait); });
  io.Below(loop.wait_abi, kAbis);
}

bool AddsUp(const Instance& instance) {
  uint64_t sum = 0;
  for (const uint64_t time : instance.times) sum += time;
  return instance.begin.time <= instance.end.time && sum == instance.time() &&
         instance.first_instruction <= instance.end_instruction &&
         instance.instructions <= instance.end_instruction - instance.first_instruction;
}

bool MakesSense(const MeasuredInstances& measured, const std::vector<const ThreadFlow*>& flows) {
  if (measured.instances.size() > MeasuredInstances::kMostInstances) return false;
  return std::ranges::all_of(measured.instances, [&](const Instance& instance) {
    return instance.tid == flows[instance.thread]->tid && AddsUp(instance);
  });
}

bool IsPath(const std::vector<InstancePath>& nodes, size_t number) {
  const InstancePath& node = nodes[number];
  if ((node.kind == PathKind::kRegion) != (number == PathTree::kRoot)) return false;
  if (node.kind == PathKind::kCall && node.function == CallPath::kNoFunction) return false;
  // The path that stands for all paths beyond the limit has no depth.
  const bool is_below = number != PathTree::kRoot && node.kind != PathKind::kCut;
  return node.depth == (is_below ? nodes[node.parent].depth + 1 : 0);
}

// Words are made of a cause's path and branch as its kind has them.
bool IsCause(const Cause& cause, const SpikeReport& report) {
  const std::vector<InstancePath>& nodes = report.paths.nodes();
  const bool is_branch = cause.kind == CauseKind::kBranch || cause.kind == CauseKind::kTrips;
  if (is_branch && cause.edge == BranchTable::kNoEdge) return false;
  return cause.kind != CauseKind::kInterrupted ||
         nodes[cause.inside].kind == PathKind::kInterrupted;
}

bool HasPlace(const Parting& parting) {
  return parting.is_cut || parting.edge != BranchTable::kNoEdge ||
         parting.other != BranchTable::kNoEdge;
}

bool FitsTables(const GroupSums& sums, const SpikeReport& report) {
  return sums.paths.size() <= report.paths.nodes().size() &&
         sums.branches.size() <= report.branches.edges().size();
}

bool TablesMakeSense(const SpikeReport& report) {
  const std::vector<InstancePath>& nodes = report.paths.nodes();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!IsPath(nodes, i)) return false;
  const std::vector<BranchWay>& edges = report.branches.edges();
  return FitsTables(report.slow_sums, report) && FitsTables(report.normal_sums, report) &&
         std::ranges::all_of(edges, [&](const BranchWay& way) {
           return way.other == BranchTable::kNoEdge || way.other < edges.size();
         });
}

// Each path comes once, in order.
bool AreCosts(const std::vector<NodeCost>& costs) {
  return std::ranges::adjacent_find(costs, std::ranges::greater_equal(), &NodeCost::node) ==
         costs.end();
}

bool CausesMakeSense(const SpikeReport& report) {
  const auto is_cause = [&](const Cause& cause) { return IsCause(cause, report); };
  return AreCosts(report.median_costs) && std::ranges::all_of(report.causes.parts, is_cause) &&
         std::ranges::all_of(report.outliers, [&](const Outlier& outlier) {
           return HasPlace(outlier.parting) && AreCosts(outlier.costs) &&
                  std::ranges::all_of(outlier.causes.parts, is_cause);
         });
}

// The comparison's functions begin with those of the list.
bool Continues(const std::vector<TimelineFunction>& all,
               const std::vector<TimelineFunction>& first) {
  return all.size() >= first.size() &&
         std::equal(first.begin(), first.end(), all.begin(),
                    [](const auto& a, const auto& b) { return a.name == b.name; });
}

}  // namespace

std::vector<uint8_t> InstancesToBytes(const MeasuredInstances& measured, const SpaceNames& spaces) {
  ResultWriter out(spaces);
  out.List(std::span(measured.functions).first(measured.NamedFunctions()),
           [&](const auto& function) { TellFunction(out, function); });
  TellInstances(out, measured, 0);
  return out.Take();
}

bool InstancesFromBytes(Bytes bytes, const SpikeContext& context, MeasuredInstances& measured) {
  ResultReader in(bytes, context.recording, context.spaces);
  MeasuredInstances read;
  in.List(read.functions, [&](auto& function) { TellFunction(in, function); });
  in.set_functions(read.functions.size());
  TellInstances(in, read, context.flows.size());
  if (!in.Done() || !MakesSense(read, context.flows)) return false;
  read.CountStates();
  measured = std::move(read);
  return true;
}

std::vector<uint8_t> ComparisonToBytes(const SpikeReport& report, const SpaceNames& spaces) {
  ResultWriter out(spaces);
  out.List(report.functions, [&](const auto& function) { TellFunction(out, function); });
  out.List(report.paths.nodes(), [&](const auto& path) { TellPath(out, path, 0); });
  out.List(report.branches.edges(), [&](const auto& way) { TellWay(out, way); });
  TellComparison(out, report, 0, {});
  return out.Take();
}

bool ComparisonFromBytes(Bytes bytes, const SpikeContext& context, SpikeReport& report) {
  ResultReader in(bytes, context.recording, context.spaces);
  SpikeReport read;
  in.List(read.functions, [&](auto& function) { TellFunction(in, function); });
  in.set_functions(read.functions.size());
  std::vector<InstancePath> nodes;
  in.List(nodes, [&](auto& path) { TellPath(in, path, nodes.size() - 1); });
  std::vector<BranchWay> edges;
  in.List(edges, [&](auto& way) { TellWay(in, way); });
  if (nodes.empty() || !Continues(read.functions, report.functions)) return false;
  const Limits limits{.nodes = nodes.size(), .edges = edges.size()};
  read.paths = PathTree(std::move(nodes));
  read.branches = BranchTable(std::move(edges));
  TellComparison(in, read, report.instances.size(), limits);
  if (!in.Done() || !TablesMakeSense(read) || !CausesMakeSense(read) ||
      read.slow_sums.instances != report.slow || read.normal_sums.instances != report.normal)
    return false;
  report.functions = std::move(read.functions);
  report.paths = std::move(read.paths);
  report.branches = std::move(read.branches);
  report.slow_sums = std::move(read.slow_sums);
  report.normal_sums = std::move(read.normal_sums);
  report.median_costs = std::move(read.median_costs);
  report.causes = std::move(read.causes);
  report.outliers = std::move(read.outliers);
  return true;
}

std::vector<uint8_t> LoopsToBytes(const std::vector<RequestLoop>& loops, const SpaceNames& spaces) {
  ResultWriter out(spaces);
  out.List(loops, [&](const auto& loop) { TellLoop(out, loop); });
  return out.Take();
}

bool LoopsFromBytes(Bytes bytes, const SpikeContext& context, std::vector<RequestLoop>& loops) {
  ResultReader in(bytes, context.recording, context.spaces);
  in.List(loops, [&](auto& loop) { TellLoop(in, loop); });
  return in.Done();
}

}  // namespace flowback
