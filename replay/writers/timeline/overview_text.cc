// SPDX-License-Identifier: MIT
// An overview as text: sentences, strips, functions.
#include <fmt/format.h>

#include <algorithm>

#include "replay/writers/text/counted.h"
#include "replay/writers/text/wrapped.h"
#include "replay/writers/timeline/overview_view.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

// Functions by their instructions, the most first.
std::vector<uint32_t> ByInstructions(const Timeline& timeline) {
  const auto own = [](const CallSums& sums) { return sums.self_instructions; };
  return FunctionsBy(
      timeline.by_function, [&](const CallSums& sums) { return own(sums) != 0; }, own);
}

// The counts are about right: of a few instructions they may be more than there were.
uint64_t AllOf(const Overview& overview) { return std::max(overview.instructions, overview.told); }

std::string WhereInstructionsWere(const OverviewView& view) {
  const std::string names =
      SharesOf(view.view, ByInstructions(view.overview.timeline), &CallSums::self_instructions,
               AllOf(view.overview), "the instructions were");
  return names.empty() ? names : fmt::format("About {}.", names);
}

// Returns the number and length of the stretches that show which function executed when.
std::string HowFine(const OverviewView& view) {
  const Overview& overview = view.overview;
  const std::string count = Counted(overview.stretches, "stretch") + " of the trace";
  const uint64_t executing = overview.timeline.paths.front().sums.executing;
  if (overview.stretches == 0 || executing == 0 || view.view.is_part) return count;
  return fmt::format("{}, some {} of executing each", count,
                     DurationWords(executing / overview.stretches, overview.timeline.nanoseconds));
}

std::string WhatItIsMadeOf(const OverviewView& view) {
  const Overview& overview = view.overview;
  if (overview.told == 0)
    return "This is an overview, of the recording's index alone: it knows no block that executed.";
  const std::string counted =
      overview.sample == 1 ? "" : fmt::format(" (one in {} was counted)", overview.sample);
  return fmt::format(
      "This is an overview, of the recording's index alone. Times{}; functions are known by the "
      "blocks that executed most{}, which have {} of the instructions, in strips by {}. Calls, "
      "their durations and call paths: `timeline` without --overview.",
      overview.is_cut ? " are those of `timeline`, instructions of a part of the time are about"
                      : " and numbers of instructions are those of `timeline`",
      counted, ShareWords(overview.told, AllOf(overview)), HowFine(view));
}

std::string NotKnownOf(const OverviewView& view) {
  std::string text;
  for (const std::string& one : UnknownOf(view.view)) text += (text.empty() ? "" : "; ") + one;
  return text.empty() ? text : "Not known: " + text + ".";
}

void AppendOverviewSentences(const OverviewView& view, std::string& out) {
  const std::string sentences[] = {NameWords(view.view.input, 60) + ": " + HowLong(view.view),
                                   WhereTimeWent(view.view), WhereInstructionsWere(view),
                                   NotKnownOf(view), WhatItIsMadeOf(view)};
  for (const std::string& sentence : sentences)
    if (!sentence.empty()) out += Wrapped(sentence, 2, view.view.width) + '\n';
}

void AppendFunctions(const OverviewView& view, std::string& out) {
  const Timeline& timeline = view.overview.timeline;
  const std::vector<uint32_t> functions = ByInstructions(timeline);
  if (functions.empty()) return;
  out += fmt::format("\nby function, about\n{:>8} {:>15}  {}\n", "own", "instructions", "function");
  for (size_t i = 0; i < std::min(functions.size(), view.view.rows); ++i) {
    const uint64_t own = timeline.by_function[functions[i]].self_instructions;
    std::string line = fmt::format("{:>8} {:>15}  ", ShareWords(own, AllOf(view.overview)), own);
    AppendName(view.view, functions[i], line);
    out += line + '\n';
  }
  AppendMore(functions.size(), view.view.rows, out);
}

}  // namespace

void WriteOverviewText(const OverviewView& view, TextSink& sink) {
  AppendOverviewSentences(view, sink.buffer());
  sink.Commit();
  AppendStrips(view.view, sink.buffer());
  sink.Commit();
  AppendFunctions(view, sink.buffer());
  sink.Commit();
}

}  // namespace flowback
