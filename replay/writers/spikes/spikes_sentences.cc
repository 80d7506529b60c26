// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/linux/linux_call_names.h"
#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

std::string TenthsWords(double share) {
  return share > 0 && share < 0.0005 ? "<0.1 %" : fmt::format("{:.1f} %", 100 * share);
}

// "calls of handle()", "instances of A to B".
std::string ThingsOf(const SpikesView& view, uint64_t count) {
  std::set<uint32_t> functions;
  for (const Instance& instance : view.report->instances) functions.insert(instance.function);
  std::string text = fmt::format("{} of {}", Counted(count, view.is_function ? "call" : "instance"),
                                 NameWords(view.region, 60));
  if (view.is_function && functions.size() > 1)
    text += fmt::format(" ({} functions)", functions.size());
  return text;
}

std::string VerbOf(InstanceMeasure measure) {
  switch (measure) {
    case InstanceMeasure::kTime:
      return "took";
    case InstanceMeasure::kInstructions:
      return "executed";
    case InstanceMeasure::kOffCpu:
      return "were off the CPU for";
    case InstanceMeasure::kKernel:
      return "were in the kernel for";
    case InstanceMeasure::kCycles:
      return "took";
  }
  return "took";
}

std::string NounOf(InstanceMeasure measure) {
  switch (measure) {
    case InstanceMeasure::kTime:
      return "time";
    case InstanceMeasure::kInstructions:
      return "instructions";
    case InstanceMeasure::kOffCpu:
      return "time off the CPU";
    case InstanceMeasure::kKernel:
      return "time in the kernel";
    case InstanceMeasure::kCycles:
      return "cycles";
  }
  return "time";
}

size_t CountAbove(const std::vector<uint64_t>& sorted, uint64_t limit) {
  return static_cast<size_t>(sorted.end() - std::ranges::upper_bound(sorted, limit));
}

// The limit that the user gave, as it was given; one that was found, as a multiple of the median
// where a round one says the same.
std::string LimitWords(const SpikesView& view) {
  const SpikeReport& report = *view.report;
  const uint64_t median = report.distribution.p50;
  const std::string limit = MeasureWords(view, static_cast<double>(report.slowness.threshold));
  if (report.slowness.multiple != 0)
    return fmt::format("{} x the median ({})", report.slowness.multiple,
                       MeasureWords(view, static_cast<double>(median)));
  if (median == 0 || report.slowness.reason == Slowness::Reason::kAsked) return limit;
  for (uint64_t scale = 1; scale <= report.slowness.threshold / median; scale *= 10)
    for (const uint64_t times : {2 * scale, 3 * scale, 5 * scale, 10 * scale})
      if (CountAbove(report.sorted, times * median) == report.slowness.slow)
        return fmt::format("{} x the median ({})", times,
                           MeasureWords(view, static_cast<double>(median)));
  return limit;
}

std::string HowManySlow(const SpikesView& view) {
  const SpikeReport& report = *view.report;
  uint64_t least = UINT64_MAX;
  for (const Instance& instance : report.instances)
    if (report.GroupOf(instance) == InstanceGroup::kSlow)
      least = std::min(least, MeasureOf(instance, report.measure));
  const uint64_t most = report.distribution.max;
  const std::string range =
      least == most ? MeasureWords(view, static_cast<double>(most))
                    : fmt::format("{} to {}", MeasureWords(view, static_cast<double>(least)),
                                  MeasureWords(view, static_cast<double>(most)));
  const std::string verb =
      report.slow == 1 && report.measure == InstanceMeasure::kKernel   ? "was in the kernel for"
      : report.slow == 1 && report.measure == InstanceMeasure::kOffCpu ? "was off the CPU for"
                                                                       : VerbOf(report.measure);
  return fmt::format("{} of {} {} more than {}: {}.", report.slow,
                     ThingsOf(view, report.sorted.size()), verb, LimitWords(view), range);
}

// There are fewer than two whole instances.
std::string WhyTooFew(const SpikesView& view) {
  const SpikeReport& report = *view.report;
  const std::string region = NameWords(view.region, 60);
  const char* const thing = view.is_function ? "call" : "instance";
  if (!report.sorted.empty())
    return fmt::format("There is only one whole {} of {} ({}): nothing to compare it with.", thing,
                       region, MeasureWords(view, static_cast<double>(report.sorted.front())));
  std::string text = fmt::format("There is no whole {} of {} to compare.", thing, region);
  const auto count = [&](InstanceState state) { return report.states[static_cast<size_t>(state)]; };
  if (count(InstanceState::kLost) != 0)
    return text + " The trace has a loss in each of them, which ends what is known of it.";
  if (count(InstanceState::kCutByEnd) == 0) return text;
  if (!view.is_function)
    return text + " The flow came to the first place, but never to the second.";
  return text + " It did not return before the trace ended: compare what it calls, or use --auto.";
}

std::string WhyNoneSlow(const SpikesView& view) {
  const SpikeReport& report = *view.report;
  const auto words = [&](uint64_t value) { return MeasureWords(view, static_cast<double>(value)); };
  const Distribution& of = report.distribution;
  switch (report.slowness.reason) {
    case Slowness::Reason::kTooFew:
      return WhyTooFew(view);
    case Slowness::Reason::kAllEqual:
      if (of.min == of.max)
        return fmt::format("None of {} stands out: all {} {}.", ThingsOf(view, of.count),
                           VerbOf(report.measure), words(of.max));
      return fmt::format("None of {} stands out: all lie between {} and {}.",
                         ThingsOf(view, of.count), words(of.min), words(of.max));
    case Slowness::Reason::kNoKnee:
      return fmt::format(
          "None of {} stands out: the largest, {}, is {:.1f} x the median ({}), and nothing lies "
          "apart from the others (p90 {}, p99 {}). --over p99 compares the largest hundredth.",
          ThingsOf(view, of.count), words(of.max),
          static_cast<double>(of.max) / static_cast<double>(std::max<uint64_t>(of.p50, 1)),
          words(of.p50), words(of.p90), words(of.p99));
    default:
      return fmt::format("None of {} lies above {}: the largest is {}.", ThingsOf(view, of.count),
                         LimitWords(view), words(of.max));
  }
}

std::string NotCompared(const SpikesView& view) {
  const auto& states = view.report->states;
  std::string text;
  const auto add = [&](InstanceState state, std::string_view how) {
    const size_t count = states[static_cast<size_t>(state)];
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, how);
  };
  const bool has_lost = states[static_cast<size_t>(InstanceState::kLost)] != 0;
  add(InstanceState::kBegunBefore,
      has_lost ? "begun before the trace or within a loss" : "begun before the trace");
  add(InstanceState::kCutByEnd, "cut by its end");
  add(InstanceState::kLost, "cut by a loss");
  const size_t whole = states[static_cast<size_t>(InstanceState::kWhole)];
  if (whole != view.report->sorted.size())
    text += fmt::format("{}{} outside of --time", text.empty() ? "" : ", ",
                        whole - view.report->sorted.size());
  if (view.report->left_out != 0)
    text += fmt::format("{}{} after the first {}", text.empty() ? "" : ", ", view.report->left_out,
                        view.report->instances.size());
  if (view.report->overlapping != 0)
    text += fmt::format("{}{} begun while another one waited on its own stack",
                        text.empty() ? "" : ", ", view.report->overlapping);
  const auto add_passes = [&](uint64_t count, std::string_view how) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, how);
  };
  add_passes(view.report->unpaired.without_begin, "ended but not begun");
  add_passes(view.report->unpaired.without_end, "begun but not ended");
  add_passes(view.report->unpaired.without_value, "at a place with no PTWRITE behind it");
  return text.empty() ? text : fmt::format("Not compared: {}.", text);
}

// "All 7, and no other,".
std::string WhoHas(const SpikesView& view, const Cause& cause) {
  const SpikeReport& report = *view.report;
  std::string who;
  if (report.slow == 1)
    who = "The slow one";
  else if (cause.slow_with == report.slow)
    who = fmt::format("All {}", report.slow);
  else
    who = fmt::format("{} of the {}", cause.slow_with, report.slow);
  const bool has_all = cause.normal_with == report.normal || cause.kind == CauseKind::kSlower ||
                       cause.kind == CauseKind::kInstructions;
  if (has_all && report.slow == 1) return "The slow one";
  if (has_all && cause.slow_with == report.slow) return fmt::format("All {}", report.slow);
  if (has_all) return fmt::format("{} of the {}", cause.slow_with, report.slow);
  if (cause.normal_with == 0) return who + ", and no other,";
  return who + fmt::format(", and {} of the {} others,", cause.normal_with, report.normal);
}

// Where nearly all of a cause was spent, if that is further in.
std::string InsideWords(const SpikesView& view, const Cause& cause) {
  const bool further = cause.inside != cause.node &&
                       view.report->paths.nodes()[cause.inside].kind != PathKind::kInterrupted;
  uint64_t all = 0;
  for (const uint64_t time : cause.classes) all += time;
  std::string text;
  if (further) text = fmt::format(" Nearly all of that was in {}.", PathName(view, cause.inside));
  text += LockWaitWords(view, cause);
  const InstanceMeasure measure = view.report->measure;
  const bool is_time =
      measure != InstanceMeasure::kInstructions && measure != InstanceMeasure::kCycles;
  if (all == 0 || !is_time) return text;
  for (const auto& [kind, words] :
       {std::pair(TimeClass::kOffCpu, "off the CPU"),
        std::pair(TimeClass::kKernel, "in the kernel"), std::pair(TimeClass::kLost, "lost")}) {
    const double share =
        static_cast<double>(cause.classes[static_cast<size_t>(kind)]) / static_cast<double>(all);
    if (share >= 0.5)
      text += fmt::format(" {} of this time was {}{}.", TenthsWords(share), words,
                          kind == TimeClass::kOffCpu ? WhoMostlyRan(view) : "");
  }
  return text;
}

std::string AccountsFor(const SpikesView& view, const Cause& cause) {
  // Where something else cost less than usual, a part can be more than all.
  const std::string share = cause.share >= 0.9995 ? "all" : TenthsWords(cause.share);
  return fmt::format("accounts for {} of the extra {}", share, NounOf(view.report->measure));
}

std::string ChosenLoop(const SpikesView& view) {
  constexpr size_t kMost = 4;
  std::string text =
      fmt::format("These calls were chosen (--auto): {}.", LoopSentence(view, view.loops.front()));
  for (size_t i = 1; i < std::min(view.loops.size(), kMost); ++i)
    text += fmt::format("{} {}", i == 1 ? " Others:" : ";", LoopSentence(view, view.loops[i]));
  return view.loops.size() == 1 ? text : text + '.';
}

// The largest part is small, and normal instances have it as well.
bool HasNoSingleCause(const SpikeReport& report) {
  constexpr double kSingle = 0.3;
  if (report.slow == 0 || report.normal == 0) return false;
  if (report.causes.parts.empty()) return true;
  const Cause& first = report.causes.parts.front();
  return first.share < kSingle && first.normal_with != 0;
}

std::string WhatMeans(const SpikesView& view) {
  const SpikeReport& report = *view.report;
  if (!view.trigger.empty()) {
    const char* const follows = report.slow != 0 && report.normal == 0
                                    ? "What the slow ones did differently is not known."
                                    : "What follows compares slow calls with each other.";
    return fmt::format(
        "The recorder kept the trace of slow calls of {} alone (record --trigger), so normal ones "
        "are missing. {} A recording without --trigger has both.",
        NameWords(view.trigger, 60), follows);
  }
  if (report.slow != 0 && report.normal == 0)
    return "There are no normal ones to compare with: what the slow ones did differently is not "
           "known. Record longer, or without a trigger.";
  return {};
}

}  // namespace

std::string LoopSentence(const SpikesView&, const RequestLoop& loop) {
  std::string text = fmt::format("{} calls {} {} times, for {} of all instructions",
                                 ShortName(loop.caller.name), ShortName(loop.function.name),
                                 GroupedDigits(loop.calls), TenthsWords(loop.share()));
  if (loop.waits_between() && loop.wait)
    text += fmt::format(", and waits {} times meanwhile, mostly in the system call {}",
                        GroupedDigits(loop.waits), LinuxCallName(*loop.wait, loop.wait_abi));
  return text;
}

std::string CauseSentence(const SpikesView& view, const Cause& cause, bool is_first) {
  return fmt::format("{}{} {}: this {}.{}", is_first ? "" : "Next: ", WhoHas(view, cause),
                     PartWords(view, cause), AccountsFor(view, cause), InsideWords(view, cause));
}

std::vector<std::string> SpikeSentences(const SpikesView& view) {
  constexpr size_t kMostCauses = 4;
  const SpikeReport& report = *view.report;
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  add(report.slow == 0 ? WhyNoneSlow(view) : HowManySlow(view));
  if (!view.loops.empty()) add(ChosenLoop(view));
  add(WhatMeans(view));
  if (HasNoSingleCause(report))
    add("No single cause stands out: the parts below are what the slow ones took more of.");
  for (size_t i = 0; i < std::min(report.causes.parts.size(), kMostCauses); ++i)
    add(CauseSentence(view, report.causes.parts[i], i == 0));
  if (report.by_kernel_instead)
    add("By instructions none stands out; these are compared by their time in the kernel.");
  if (report.slow_in_kernel != 0)
    add(fmt::format("By their time in the kernel {} stood out: --by kernel explains.",
                    Counted(report.slow_in_kernel, view.is_function ? "call" : "instance")));
  if (report.emulated)
    add("The recording is emulated: its instructions are the program's own, its times are not "
        "those of an undisturbed run.");
  if (!report.has_times) add("The trace has no times: everything is compared by instructions.");
  add(NotCompared(view));
  return sentences;
}

std::string OutlierSentence(const SpikesView& view, const Outlier& outlier) {
  const std::string more = WhoRanWords(view, view.report->instances[outlier.number]) +
                           DataWaitWords(view, outlier.number);
  if (outlier.causes.parts.empty())
    return "The extra cost is spread over parts too small to name." + more;
  const Cause& largest = outlier.causes.parts.front();
  return fmt::format("{} of what it took more than the median one: it {}.{}",
                     TenthsWords(largest.share), PartWords(view, largest), more);
}

// Returns a sentence, with a space ahead, on how many slow and how many normal instances take this
// way of a branch. Empty unless the slow ones' share is at least 25 percentage points above the
// normal ones': a smaller difference explains nothing.
std::string WhoGoesThere(const SpikeReport& report, uint32_t way) {
  constexpr double kTelling = 0.25;
  const GroupSums& slow = report.slow_sums;
  const GroupSums& normal = report.normal_sums;
  if (slow.instances == 0 || normal.instances == 0) return {};
  const uint64_t slow_there = slow.Branch(way).instances;
  const uint64_t normal_there = normal.Branch(way).instances;
  const auto share = [](uint64_t part, uint64_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  if (share(slow_there, slow.instances) - share(normal_there, normal.instances) < kTelling)
    return {};
  return fmt::format(" {} of {} slow ones go there, and {} of {} normal ones.", slow_there,
                     slow.instances, normal_there, normal.instances);
}

std::string PartingSentence(const SpikesView& view, const Outlier& outlier) {
  const Parting& parting = outlier.parting;
  const std::string same = Counted(parting.after, "branch");
  if (parting.is_cut)
    return fmt::format("The first {} are those of instance {}, the normal one most like it.", same,
                       outlier.nearest);
  const uint32_t edge = parting.edge != BranchTable::kNoEdge ? parting.edge : parting.other;
  const BranchWay& of = view.report->branches.edges()[edge];
  const bool both = parting.edge != BranchTable::kNoEdge && parting.other != BranchTable::kNoEdge;
  const bool same_jump =
      both && of.indirect &&
      EdgeWords(view, parting.edge).Full() == EdgeWords(view, parting.other).Full();
  const bool same_branch = both && (of.other == parting.other || same_jump);
  if (!same_branch)
    return fmt::format(
        "It leaves the way of instance {}, the normal one most like it, after {}, before {}.",
        outlier.nearest, same, EdgeWords(view, edge).Full());
  return fmt::format(
      "It leaves the way of instance {}, the normal one most like it, after {}, at {}: it goes to "
      "{}, the other to {}.{}",
      outlier.nearest, same, EdgeWords(view, edge).Full(),
      TargetWords(view, parting.edge).LineOrPlace(), TargetWords(view, parting.other).LineOrPlace(),
      WhoGoesThere(*view.report, parting.edge));
}

}  // namespace flowback
