// SPDX-License-Identifier: MIT
#include "replay/spikes/causes/causes.h"

#include <algorithm>
#include <cmath>

#include "replay/spikes/causes/branch_causes.h"
#include "replay/spikes/causes/chance.h"

namespace flowback {
namespace {

// Parts below this share of the extra are not named.
constexpr double kLeastPart = 0.02;
// For a rare path, the minimal ratio of slow instances' share to normal ones'.
constexpr double kLift = 3;
// The mean number of calls must grow so much for the number to be the reason.
constexpr double kMoreCalls = 1.5;
// A call costs more in itself if its cost grew at least by this factor.
constexpr double kCostlier = 2;
// A path is `inside` a cause if it has this share of it.
constexpr double kNearlyAll = 0.8;

// Cycles; 0 where none were counted.
double PerInstruction(const PathCost& cost) {
  if (cost.instructions == 0) return 0;
  return static_cast<double>(cost.cycles) / static_cast<double>(cost.instructions);
}

class CauseFinder {
 public:
  explicit CauseFinder(const CauseInput& input) : input_(input) {}

  Causes Find() {
    SumUp();
    causes_.extra = inclusive_.front();
    if (causes_.extra > 0) Divide(PathTree::kRoot);
    std::ranges::stable_sort(causes_.parts, std::ranges::greater(), &Cause::extra);
    causes_.rest = causes_.extra;
    for (Cause& part : causes_.parts) {
      part.share = part.extra / causes_.extra;
      causes_.rest -= part.extra;
    }
    return std::move(causes_);
  }

 private:
  double slow_instances() const { return static_cast<double>(input_.slow.instances); }
  double normal_instances() const { return static_cast<double>(input_.normal.instances); }

  void SumUp();
  void Divide(uint32_t node);
  void DivideBelow(uint32_t node);
  void FoldIntoLoop(size_t own, uint32_t node);
  void FoldBehindBranch(size_t first, uint32_t node);
  InstanceSet SetOf(const Cause& part) const;
  bool IsRare(uint32_t node) const;
  bool IsNamed(double extra) const { return extra >= kLeastPart * causes_.extra; }
  Cause CauseAt(CauseKind kind, uint32_t node, double extra) const;
  void AddRare(uint32_t node);
  bool AddMoreCalls(uint32_t node);
  void AddLeaf(uint32_t node);
  void AddOwn(uint32_t node);
  void LookInside(Cause& cause) const;
  double CallsIn(const GroupSums& sums, uint32_t node) const {
    return static_cast<double>(sums.Path(node).cost.entries) /
           static_cast<double>(std::max<uint64_t>(sums.instances, 1));
  }
  ClassTimes ClassesBelow(uint32_t node) const;

  const CauseInput& input_;
  std::vector<std::vector<uint32_t>> children_;
  std::vector<double> own_;        // extra of each node
  std::vector<double> inclusive_;  // with the nodes below it
  // Its cost in as many normal instances as there are slow ones, with the nodes below it.
  std::vector<double> usual_;
  Causes causes_;
};

void CauseFinder::SumUp() {
  const std::vector<InstancePath>& nodes = input_.paths.nodes();
  const double scale = slow_instances() / std::max(normal_instances(), 1.0);
  children_.resize(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const uint64_t slow = WeightOf(input_.slow.Path(i).cost, input_.measure);
    const uint64_t normal = WeightOf(input_.normal.Path(i).cost, input_.measure);
    usual_.push_back(static_cast<double>(normal) * scale);
    own_.push_back(static_cast<double>(slow) - usual_.back());
  }
  inclusive_ = own_;
  for (size_t i = nodes.size() - 1; i > 0; --i) {
    inclusive_[nodes[i].parent] += inclusive_[i];
    usual_[nodes[i].parent] += usual_[i];
    children_[nodes[i].parent].push_back(static_cast<uint32_t>(i));
  }
}

bool CauseFinder::IsRare(uint32_t node) const {
  const double slow =
      static_cast<double>(input_.slow.Path(node).instances) / std::max(slow_instances(), 1.0);
  const double normal =
      static_cast<double>(input_.normal.Path(node).instances) / std::max(normal_instances(), 1.0);
  return normal <= kRareShare && slow > 0 && slow >= kLift * normal;
}

void CauseFinder::Divide(uint32_t node) {
  const size_t own = causes_.parts.size();
  const bool has_own = IsNamed(own_[node]);
  if (has_own) AddOwn(node);
  DivideBelow(node);
  if (has_own) FoldIntoLoop(own, node);
  FoldBehindBranch(own, node);
}

InstanceSet CauseFinder::SetOf(const Cause& part) const {
  if (part.kind == CauseKind::kBranch) return SetOfWay(input_, part.edge);
  return {.slow = input_.slow.Path(part.node).which, .normal = input_.normal.Path(part.node).which};
}

// Several calls that the same instances make, and no others, are made because of one branch. If one
// of them is nearly all, that is the better name.
void CauseFinder::FoldBehindBranch(size_t first, uint32_t node) {
  const auto is_rare = [&](const Cause& part) {
    if (part.node == node) return part.kind == CauseKind::kBranch;
    return input_.paths.nodes()[part.node].parent == node &&
           (part.kind == CauseKind::kCallee || part.kind == CauseKind::kSystemCall);
  };
  const auto begin = causes_.parts.begin() + static_cast<ptrdiff_t>(first);
  auto largest = causes_.parts.end();
  for (auto part = begin; part != causes_.parts.end(); ++part)
    if (is_rare(*part) && (largest == causes_.parts.end() || part->extra > largest->extra))
      largest = part;
  if (largest == causes_.parts.end()) return;
  const InstanceSet set = SetOf(*largest);
  Cause folded = CauseAt(CauseKind::kBranch, node, 0);
  folded.classes = {};
  for (auto part = begin; part != causes_.parts.end(); ++part) {
    if (!is_rare(*part) || SetOf(*part) != set) continue;
    folded.extra += part->extra;
    if (part->kind == CauseKind::kBranch) folded.loop = part->loop;
    for (size_t i = 0; i < folded.classes.size(); ++i) folded.classes[i] += part->classes[i];
  }
  if (largest->extra >= kNearlyAll * folded.extra) return;
  const uint32_t way = WayOfSet(input_, node, set);
  if (way == BranchTable::kNoEdge) return;
  TakeWay(input_, way, folded);
  const auto is_folded = [&](const Cause& part) { return is_rare(part) && SetOf(part) == set; };
  causes_.parts.erase(std::remove_if(begin, causes_.parts.end(), is_folded), causes_.parts.end());
  causes_.parts.push_back(folded);
}

// Calls that are made in a loop are not a reason of their own beside it, as long as they are not
// most of what it costs.
void CauseFinder::FoldIntoLoop(size_t own, uint32_t node) {
  constexpr double kMostFolded = 2;
  const auto is_folded = [&](const Cause& part) {
    const Cause& reason = causes_.parts[own];
    if (reason.kind != CauseKind::kTrips || input_.paths.nodes()[part.node].parent != node)
      return false;
    if (part.extra > kMostFolded * own_[node]) return false;
    return part.kind == CauseKind::kCalls && part.edge == reason.edge;
  };
  const auto begin = causes_.parts.begin() + static_cast<ptrdiff_t>(own) + 1;
  for (auto part = begin; part != causes_.parts.end(); ++part)
    if (is_folded(*part)) causes_.parts[own].extra += part->extra;
  causes_.parts.erase(std::remove_if(begin, causes_.parts.end(), is_folded), causes_.parts.end());
}

void CauseFinder::DivideBelow(uint32_t node) {
  for (const uint32_t child : children_[node]) {
    if (!IsNamed(inclusive_[child])) continue;
    const PathKind kind = input_.paths.nodes()[child].kind;
    if (kind != PathKind::kCall)
      AddLeaf(child);
    else if (IsRare(child))
      AddRare(child);
    else if (!AddMoreCalls(child))
      Divide(child);
  }
}

Cause CauseFinder::CauseAt(CauseKind kind, uint32_t node, double extra) const {
  const PathSums slow = input_.slow.Path(node);
  const PathSums normal = input_.normal.Path(node);
  Cause cause{.kind = kind,
              .node = node,
              .extra = extra,
              .slow_with = slow.instances,
              .normal_with = normal.instances,
              .slow_count = CallsIn(input_.slow, node),
              .normal_count = CallsIn(input_.normal, node),
              .slow_cost = PerInstruction(slow.cost),
              .normal_cost = PerInstruction(normal.cost),
              .inside = node,
              .classes = slow.cost.times};
  cause.chance = ChanceOf(slow.instances, input_.slow.instances, slow.instances + normal.instances,
                          input_.slow.instances + input_.normal.instances);
  return cause;
}

void CauseFinder::AddRare(uint32_t node) {
  Cause cause = CauseAt(CauseKind::kCallee, node, inclusive_[node]);
  LookInside(cause);
  causes_.parts.push_back(cause);
}

// Goes inwards as long as one path has nearly all of it.
void CauseFinder::LookInside(Cause& cause) const {
  for (;;) {
    const std::vector<uint32_t>& children = children_[cause.inside];
    const auto largest =
        std::ranges::max_element(children, {}, [&](uint32_t child) { return inclusive_[child]; });
    if (largest == children.end() || inclusive_[*largest] < kNearlyAll * cause.extra) break;
    cause.inside = *largest;
  }
  cause.classes = ClassesBelow(cause.inside);
}

ClassTimes CauseFinder::ClassesBelow(uint32_t node) const {
  ClassTimes times = input_.slow.Path(node).cost.times;
  for (const uint32_t child : children_[node]) {
    const ClassTimes below = ClassesBelow(child);
    for (size_t i = 0; i < times.size(); ++i) times[i] += below[i];
  }
  return times;
}

// Each call cost about as much as it does in normal instances, but there were more of them.
bool CauseFinder::AddMoreCalls(uint32_t node) {
  const double slow = CallsIn(input_.slow, node);
  const double normal = CallsIn(input_.normal, node);
  if (slow < kMoreCalls * normal || slow < normal + 1) return false;
  const double usual = usual_[node];
  const double each = (inclusive_[node] + usual) / (slow * slow_instances());
  if (usual > 0 && each > kCostlier * usual / (normal * slow_instances())) return false;
  Cause cause = CauseAt(CauseKind::kCalls, node, inclusive_[node]);
  cause.edge = LoopOf(input_, input_.paths.nodes()[node].parent);
  LookInside(cause);
  causes_.parts.push_back(cause);
  return true;
}

void CauseFinder::AddLeaf(uint32_t node) {
  CauseKind kind = CauseKind::kOtherStack;
  const PathKind of = input_.paths.nodes()[node].kind;
  if (of == PathKind::kSystemCall)
    kind = IsRare(node) ? CauseKind::kSystemCall : CauseKind::kSystemTime;
  if (of == PathKind::kInterrupted) kind = CauseKind::kInterrupted;
  if (of == PathKind::kLost) kind = CauseKind::kLost;
  if (of == PathKind::kQueued) kind = CauseKind::kQueued;
  Cause cause = CauseAt(kind, node, inclusive_[node]);
  if (of == PathKind::kInterrupted) LookInside(cause);
  causes_.parts.push_back(cause);
}

// What the path's own code cost.
void CauseFinder::AddOwn(uint32_t node) {
  Cause cause = CauseAt(CauseKind::kSlower, node, own_[node]);
  ExplainOwn(input_, cause);
  causes_.parts.push_back(cause);
}

}  // namespace

uint64_t WeightOf(const PathCost& cost, InstanceMeasure measure) {
  switch (measure) {
    case InstanceMeasure::kTime:
      return cost.time();
    case InstanceMeasure::kInstructions:
      return cost.instructions;
    case InstanceMeasure::kOffCpu:
      return cost.times[static_cast<size_t>(TimeClass::kOffCpu)];
    case InstanceMeasure::kKernel:
      return cost.times[static_cast<size_t>(TimeClass::kKernel)];
    case InstanceMeasure::kCycles:
      return cost.cycles;
  }
  return 0;
}

const char* Name(CauseKind kind) {
  switch (kind) {
    case CauseKind::kCallee:
      return "callee";
    case CauseKind::kCalls:
      return "calls";
    case CauseKind::kBranch:
      return "branch";
    case CauseKind::kTrips:
      return "trips";
    case CauseKind::kInstructions:
      return "instructions";
    case CauseKind::kSlower:
      return "slower";
    case CauseKind::kSystemCall:
      return "system-call";
    case CauseKind::kSystemTime:
      return "system-time";
    case CauseKind::kInterrupted:
      return "interrupted";
    case CauseKind::kLost:
      return "lost";
    case CauseKind::kQueued:
      return "queued";
    case CauseKind::kOtherStack:
      return "other-stack";
  }
  return "";
}

Causes FindCauses(const CauseInput& input) { return CauseFinder(input).Find(); }

}  // namespace flowback
