// SPDX-License-Identifier: MIT
// What a part of an instance's cost was, and where in the code.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/counted.h"

namespace flowback {
namespace {

std::string NumberWords(double number) {
  return number >= 9.95 || std::abs(number - std::round(number)) < 0.05
             ? GroupedDigits(static_cast<uint64_t>(std::llround(std::max(number, 0.0))))
             : fmt::format("{:.1f}", number);
}

// The paths between the region and a path that lie outside of it, the outermost first.
std::vector<uint32_t> WayTo(const SpikesView& view, uint32_t node) {
  std::vector<uint32_t> way;
  const std::vector<InstancePath>& nodes = view.report->paths.nodes();
  for (uint32_t at = nodes[node].parent; at != PathTree::kRoot; at = nodes[at].parent)
    way.insert(way.begin(), at);
  return way;
}

std::string ByWayOf(const SpikesView& view, uint32_t node) {
  constexpr size_t kMost = 3;
  const std::vector<uint32_t> way = WayTo(view, node);
  std::string text;
  for (size_t i = 0; i < way.size(); ++i) {
    if (way.size() > kMost && i == kMost - 1 && i + 1 != way.size()) {
      text += ", ...";
      i = way.size() - 1;
    }
    text += fmt::format("{}{}", text.empty() ? " by way of " : ", ", PathName(view, way[i]));
  }
  return text;
}

// Libraries that come with the language: where a program calls them says more than where they call
// each other.
bool IsRuntime(const CodeWords& words) {
  constexpr std::string_view kRuntime[] = {
      "libc.so.",   "libm.so.",     "libpthread.so.",      "libstdc++.so.",
      "libc++.so.", "libgcc_s.so.", "ld-linux-x86-64.so.", "ld-linux.so."};
  return std::ranges::any_of(kRuntime,
                             [&](std::string_view name) { return words.object.starts_with(name); });
}

// The innermost place on the way to a path that lies in the program's own code, if possible one
// whose source line is known; else the call itself.
CodeWords PlaceOf(const SpikesView& view, uint32_t node) {
  const std::vector<InstancePath>& nodes = view.report->paths.nodes();
  CodeWords own = WordsOf(view, nodes[node].space, nodes[node].site);
  bool has_own = !IsRuntime(own);
  for (uint32_t at = node; at != PathTree::kRoot; at = nodes[at].parent) {
    if (nodes[at].site == 0) continue;
    CodeWords words = WordsOf(view, nodes[at].space, nodes[at].site);
    if (IsRuntime(words)) continue;
    if (words.has_line()) return words;
    if (!std::exchange(has_own, true)) own = std::move(words);
  }
  return own;
}

std::string InFunction(const SpikesView& view, uint32_t node) {
  const std::string way = ByWayOf(view, node);
  return way.empty() ? PathName(view, node)
                     : fmt::format("{} ({})", PathName(view, node), way.substr(1));
}

bool IsRecursion(const SpikesView& view, uint32_t node) {
  const std::vector<InstancePath>& nodes = view.report->paths.nodes();
  const uint32_t parent = nodes[node].parent;
  return parent != PathTree::kRoot && nodes[parent].function == nodes[node].function;
}

std::string CallsWords(const SpikesView& view, const Cause& cause) {
  const std::string counts = fmt::format("{} times rather than {}", NumberWords(cause.slow_count),
                                         NumberWords(cause.normal_count));
  const std::string name = PathName(view, cause.node);
  const std::string place = PlaceOf(view, cause.node).Full();
  if (IsRecursion(view, cause.node))
    return fmt::format("went deeper into a recursion: {} called itself {} ({})", name, counts,
                       place);
  std::string text =
      fmt::format("called {}{} {} ({})", name, ByWayOf(view, cause.node), counts, place);
  if (cause.edge != BranchTable::kNoEdge)
    text += fmt::format(", in the loop at {}", EdgeWords(view, cause.edge).LineOrPlace());
  return text;
}

std::string BranchWords(const SpikesView& view, const Cause& cause) {
  const CodeWords from = EdgeWords(view, cause.edge);
  const CodeWords to = TargetWords(view, cause.edge);
  std::string text = fmt::format("went to {} at the branch in {} ({})", to.LineOrPlace(),
                                 InFunction(view, cause.node), from.Full());
  if (cause.loop != BranchTable::kNoEdge) {
    const WaySums slow = view.report->slow_sums.Branch(cause.loop);
    const double trips = static_cast<double>(slow.count) /
                         static_cast<double>(std::max<uint64_t>(slow.instances, 1));
    if (trips >= 2)
      text += fmt::format(", with {} trips of the loop at {}", NumberWords(trips),
                          EdgeWords(view, cause.loop).LineOrPlace());
  }
  return text;
}

std::string InterruptedWords(const SpikesView& view, const Cause& cause) {
  const InstancePath& inside = view.report->paths.nodes()[cause.inside];
  const std::string count = NumberWords(cause.slow_count);
  std::string text =
      fmt::format("had {} {} rather than {} (page faults, interrupts, preemption)", count,
                  count == "1" ? "interruption" : "interruptions", NumberWords(cause.normal_count));
  if (inside.function == CallPath::kNoFunction) return text;
  text += fmt::format(", mostly in {}", ShortName(view.report->functions[inside.function].name));
  if (inside.site != 0)
    text += fmt::format(" ({})", WordsOf(view, inside.space, inside.site).Full());
  return text;
}
}  // namespace

std::string DataWaitWords(const SpikesView& view, uint32_t number) {
  const auto found = view.data_waits.find(number);
  if (found == view.data_waits.end()) return {};
  const DataWaits& waits = found->second;
  return fmt::format(" Its {} waited {} cycles for data, {} of them at {}.",
                     Counted(waits.samples, "sampled access"), waits.cycles, waits.cycles_there,
                     WordsOf(view, waits.space, waits.ip).Full());
}

CodeWords EdgeWords(const SpikesView& view, uint32_t edge) {
  const BranchWay& of = view.report->branches.edges()[edge];
  return WordsOf(view, of.space, of.address);
}

CodeWords TargetWords(const SpikesView& view, uint32_t edge) {
  const BranchWay& of = view.report->branches.edges()[edge];
  return WordsOf(view, of.space, of.target);
}

CodeWords CauseWords(const SpikesView& view, const Cause& cause) {
  if (cause.kind == CauseKind::kBranch || cause.kind == CauseKind::kTrips)
    return EdgeWords(view, cause.edge);
  if (cause.kind == CauseKind::kInterrupted) {
    const InstancePath& inside = view.report->paths.nodes()[cause.inside];
    return WordsOf(view, inside.space, inside.site);
  }
  return PlaceOf(view, cause.node);
}

std::string CauseFunction(const SpikesView& view, const Cause& cause) {
  return PathName(view, cause.node);
}

std::string PartWords(const SpikesView& view, const Cause& cause) {
  const std::string place = PlaceOf(view, cause.node).Full();
  const std::string called =
      cause.node == PathTree::kRoot ? std::string() : fmt::format(" (called at {})", place);
  switch (cause.kind) {
    case CauseKind::kCallee:
      return fmt::format("called {}{} ({})", PathName(view, cause.node), ByWayOf(view, cause.node),
                         place);
    case CauseKind::kCalls:
      return CallsWords(view, cause);
    case CauseKind::kBranch:
      return BranchWords(view, cause);
    case CauseKind::kTrips:
      return fmt::format("went round the loop in {} ({}) {} times rather than {}",
                         InFunction(view, cause.node), EdgeWords(view, cause.edge).Full(),
                         NumberWords(cause.slow_count), NumberWords(cause.normal_count));
    case CauseKind::kInstructions:
      return fmt::format("executed {} instructions on average in {} itself{} rather than {}",
                         NumberWords(cause.slow_count), InFunction(view, cause.node), called,
                         NumberWords(cause.normal_count));
    case CauseKind::kSlower:
      return fmt::format("executed about as many instructions in {} itself{}, which took longer{}",
                         InFunction(view, cause.node), called, CyclesWords(cause));
    case CauseKind::kSystemCall:
      return fmt::format("made {}{} ({})", PathName(view, cause.node), ByWayOf(view, cause.node),
                         place);
    case CauseKind::kSystemTime:
      return fmt::format("spent more time in {}{} ({})", PathName(view, cause.node),
                         ByWayOf(view, cause.node), place);
    case CauseKind::kInterrupted:
      return InterruptedWords(view, cause);
    case CauseKind::kLost:
      return "lost trace, or met code that is not there to decode it with";
    case CauseKind::kQueued:
      return "waited, begun already, until the thread that ends it came to it";
    case CauseKind::kOtherStack:
      return "waited while the thread ran on another of its stacks";
  }
  return {};
}

}  // namespace flowback
