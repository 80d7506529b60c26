// SPDX-License-Identifier: MIT
// Samples over time as text: sentences, strips, threads, functions.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "replay/writers/text/counted.h"
#include "replay/writers/text/wrapped.h"
#include "replay/writers/timeline/samples_view.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

// Functions that samples stood in or that records prove, those with most samples first.
std::vector<uint32_t> BySamples(const Timeline& timeline) {
  const auto weight = [](const CallSums& sums) {
    return std::pair(sums.count, sums.self_instructions);
  };
  return FunctionsBy(
      timeline.by_function,
      [&](const CallSums& sums) { return weight(sums) > std::pair(0UL, 0UL); }, weight);
}

std::string HowManySamples(const SamplesView& view) {
  const Timeline& timeline = view.told.timeline;
  std::string text = fmt::format("{} of {}", Counted(view.told.samples, "sample"),
                                 Counted(timeline.threads.size(), "thread"));
  if (timeline.begin == 0) return text + "; the recording does not contain when they were taken.";
  const std::string first = MomentWords(timeline.begin, timeline.nanoseconds);
  if (timeline.begin == timeline.end) return text + fmt::format(", at {}.", first);
  return text + fmt::format(", from {} to {}, which is {} from the first to the last.", first,
                            MomentWords(timeline.end, timeline.nanoseconds),
                            DurationWords(timeline.end - timeline.begin, timeline.nanoseconds));
}

std::string WhereSamplesStood(const SamplesView& view) {
  const std::string names = SharesOf(view.view, BySamples(view.told.timeline), &CallSums::count,
                                     view.told.samples, "the samples stood");
  return names.empty() ? names : names + ".";
}

std::string WhatRecordsProve(const SamplesView& view) {
  const SampleTimeline& told = view.told;
  if (told.records == 0) return {};
  const std::string held = "They hold " + Counted(told.records, "record");
  if (!told.unjudged.empty())
    return fmt::format("{}, which were not held against the code ({}).", held, told.unjudged);
  std::string text = fmt::format("{}, with {}.", held, Counted(told.instructions, "instruction"));
  text += told.contradicted == 0
              ? " The code contradicts none of them"
              : fmt::format(" The code contradicts {} of them ({})", told.contradicted,
                            ShareWords(told.contradicted, told.records));
  if (told.unread != 0)
    text +=
        fmt::format("; {} ({}) can't be read", told.unread, ShareWords(told.unread, told.records));
  return text + ".";
}

std::string WhatSamplesLeaveOpen(const SamplesView& view) {
  std::string text =
      "Samples show where a thread stood at a moment: the flow between two of them is not known, "
      "so there are no calls and no durations, and all shares are of samples.";
  if (view.told.without_ip != 0)
    text += fmt::format(" Where {} stood is known from the newest record alone.",
                        Counted(view.told.without_ip, "sample"));
  if (view.told.nowhere != 0)
    text += fmt::format(" It is unknown where {} stood.", Counted(view.told.nowhere, "sample"));
  if (view.empty != 0)
    text += fmt::format(
        " In the whole recording {} without any record and not counted.",
        view.empty == 1 ? "1 more sample is" : fmt::format("{} more samples are", view.empty));
  return text;
}

void AppendSampledSentences(const SamplesView& view, std::string& out) {
  const std::string emulated = view.told.timeline.emulated ? kEmulatedTimes : "";
  for (const std::string& sentence :
       {NameWords(view.view.input, 60) + ": " + HowManySamples(view), emulated,
        WhereSamplesStood(view), WhatRecordsProve(view), WhatSamplesLeaveOpen(view)})
    if (!sentence.empty()) out += Wrapped(sentence, 2, view.view.width) + '\n';
}

void AppendSampledThreads(const SamplesView& view, std::string& out) {
  const Timeline& timeline = view.told.timeline;
  if (timeline.threads.size() < 2) return;
  const std::vector<size_t> order = ThreadsBySamples(view.told, view.view.rows);
  out += fmt::format("\nby thread\n{:>8} {:>10}  {}\n", "share", "samples", "thread");
  for (const size_t i : order) {
    const uint64_t count = view.told.threads[i].size();
    out += fmt::format("{:>8} {:>10}  {}\n", ShareWords(count, view.told.samples), count,
                       NameOf(view.view, timeline.threads[i]));
  }
  AppendMore(timeline.threads.size(), order.size(), out);
}

void AppendSampledFunctions(const SamplesView& view, std::string& out) {
  const Timeline& timeline = view.told.timeline;
  const std::vector<uint32_t> functions = BySamples(timeline);
  if (functions.empty()) return;
  const size_t shown = std::min(functions.size(), view.view.rows);
  out += fmt::format("\nby function, instructions as the records prove them\n");
  out += fmt::format("{:>8} {:>10} {:>15}  {}\n", "share", "samples", "instructions", "function");
  for (size_t i = 0; i < shown; ++i) {
    const CallSums& sums = timeline.by_function[functions[i]];
    std::string line =
        fmt::format("{:>8} {:>10} {:>15}  ", ShareWords(sums.count, view.told.samples), sums.count,
                    view.told.unjudged.empty() ? std::to_string(sums.self_instructions) : "-");
    AppendName(view.view, functions[i], line);
    out += line + '\n';
  }
  AppendMore(functions.size(), shown, out);
}

}  // namespace

void WriteSampleTimelineText(const SamplesView& view, TextSink& sink) {
  AppendSampledSentences(view, sink.buffer());
  sink.Commit();
  AppendStrips(view.view, sink.buffer());
  sink.Commit();
  AppendSampledThreads(view, sink.buffer());
  sink.Commit();
  AppendSampledFunctions(view, sink.buffer());
  sink.Commit();
}

}  // namespace flowback
