// SPDX-License-Identifier: MIT
// What the timeline says first, in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "replay/writers/text/counted.h"
#include "replay/writers/text/wrapped.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/timeline/timeline_waits.h"

namespace flowback {
namespace {

constexpr size_t kMostNamed = 5;    // functions
constexpr size_t kMostLongest = 8;  // threads whose longest call is named

uint64_t Sum(const ClassTimes& times) {
  uint64_t sum = 0;
  for (const uint64_t time : times) sum += time;
  return sum;
}

std::string WhatExecuted(const TimelineView& view) {
  const Timeline& timeline = *view.timeline;
  uint64_t all = timeline.times[static_cast<size_t>(TimeClass::kExecuting)];
  if (view.weighs_instructions()) all = timeline.paths.front().sums.instructions;
  std::string names;
  size_t named = 0;
  for (const uint32_t function : BySelf(view)) {
    const uint64_t own = view.SelfWeightOf(timeline.by_function[function]);
    if (own == 0 || named++ == kMostNamed) break;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", NameOf(view, function, 60),
                         ShareWords(own, all));
  }
  if (names.empty()) return {};
  return fmt::format("Most of {} in {}.",
                     view.weighs_instructions() ? "the instructions were" : "the executing was",
                     names);
}

std::string HowManyCycles(const TimelineView& view) {
  const CycleShare& cycles = view.timeline->paths.front().sums.cycles;
  if (!view.has_cycles()) return {};
  CycleTotals rest;
  for (const ThreadTimeline& thread : view.timeline->threads) {
    rest.paused += thread.cycles.paused;
    rest.undivided += thread.cycles.undivided;
  }
  std::string text = fmt::format("{} took {}, {} instructions a cycle",
                                 Counted(cycles.instructions, "instruction"),
                                 Counted(cycles.likely, "cycle"), IpcWords(cycles));
  if (rest.paused != 0)
    text += fmt::format("; {} passed while nothing was traced", Counted(rest.paused, "cycle"));
  if (rest.undivided != 0)
    text += fmt::format("; of {} it is not known whether instructions took them",
                        Counted(rest.undivided, "cycle"));
  return text + ".";
}

std::string LongestCall(const TimelineView& view, const ThreadTimeline& thread) {
  const TimelineCall& call = *thread.longest;
  const bool nanoseconds = view.timeline->nanoseconds;
  return fmt::format("The longest call of {} was {}: {}, from {}, {}{}.", NameOf(view, thread),
                     NameOf(view, call.function, 60), DurationWords(call.duration(), nanoseconds),
                     MomentWords(call.begin, nanoseconds),
                     Counted(call.instructions, "instruction"),
                     call.IsWhole() ? "" : " (its begin or its end was not seen)");
}

// A call that never ends is no longest one, but may be all that the thread did. What a thread
// begins with never ends, either: where a call in it took half as long, that says more.
bool SpentItsTimeInLast(const ThreadTimeline& thread) {
  if (!thread.last) return false;
  const uint64_t longest = thread.longest->IsWhole() ? thread.longest->duration() : 0;
  return thread.last->duration() / 2 > longest;
}

std::string LastCall(const TimelineView& view, const ThreadTimeline& thread) {
  const TimelineCall& call = *thread.last;
  const bool nanoseconds = view.timeline->nanoseconds;
  return fmt::format("{} was in {} for {}, from {} to its end, with {}.", NameOf(view, thread),
                     NameOf(view, call.function, 60), DurationWords(call.duration(), nanoseconds),
                     MomentWords(call.begin, nanoseconds),
                     Counted(call.instructions, "instruction"));
}

// Returns the words about lost and undecodable time.
std::string LostTime(const TimelineView& view) {
  std::map<LossCause, uint64_t> causes;
  for (const ThreadTimeline& thread : view.timeline->threads)
    for (const auto& [cause, time] : thread.causes) causes[cause] += time;
  std::string text;
  for (const auto& [cause, time] : causes)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", Name(cause),
                        DurationWords(time, view.timeline->nanoseconds));
  return text.empty() ? text : "what ran in lost time: " + text;
}

std::string NotKnown(const TimelineView& view) {
  std::string text;
  for (const std::string& one : UnknownOf(view)) text += (text.empty() ? "" : "; ") + one;
  if (text.empty()) return "Nothing is missing: every moment and instruction is in a call.";
  return "Not known: " + text + ".";
}

}  // namespace

std::string HowLong(const TimelineView& view) {
  const Timeline& timeline = *view.timeline;
  uint64_t instructions = 0;
  for (const ThreadTimeline& thread : timeline.threads) instructions += thread.instructions;
  const std::string threads = Counted(timeline.threads.size(), "thread");
  if (!view.has_times())
    return fmt::format("{} executed {}. The recording has no times: instructions stand for them.",
                       threads, Counted(instructions, "instruction"));
  return fmt::format("{} of {}, from {} to {}, with {}.{}",
                     DurationWords(timeline.end - timeline.begin, timeline.nanoseconds), threads,
                     MomentWords(timeline.begin, timeline.nanoseconds),
                     MomentWords(timeline.end, timeline.nanoseconds),
                     Counted(instructions, "instruction"),
                     timeline.emulated ? fmt::format(" {}", kEmulatedTimes) : "");
}

std::string WhereTimeWent(const TimelineView& view) {
  const Timeline& timeline = *view.timeline;
  const uint64_t all = Sum(timeline.times);
  if (all == 0) return {};
  std::string shares;
  for (const TimeClass kind : kAllTimeClasses) {
    const uint64_t time = timeline.times[static_cast<size_t>(kind)];
    if (time != 0)
      shares +=
          fmt::format("{}{} {}", shares.empty() ? "" : ", ", Name(kind), ShareWords(time, all));
  }
  const bool one = timeline.threads.size() == 1;
  return fmt::format("{} {}: {}.", one ? "It lived" : "Together they lived",
                     DurationWords(all, timeline.nanoseconds), shares);
}

std::vector<std::string> UnknownOf(const TimelineView& view) {
  const Timeline& timeline = *view.timeline;
  std::vector<std::string> unknown;
  uint64_t losses = 0;
  uint64_t partial = 0;
  uint64_t alone = 0;
  uint64_t stacks = 0;
  bool off_cpu = true;
  bool condensed = false;
  for (const ThreadTimeline& thread : timeline.threads) {
    losses += thread.losses;
    stacks += thread.other_stacks;
    off_cpu = off_cpu && (thread.off_cpu_told || thread.tid < 0);
    condensed = condensed || thread.condensed;
    alone += thread.tid < 0 && view.recording->streams.size() > 1 ? 1 : 0;
  }
  uint64_t cut = 0;
  for (const CallPath& path : timeline.paths) cut += path.is_cut ? path.sums.count : 0;
  // The begin of a system call is known, and it ends with the thread or in a loss.
  for (size_t i = 0; i < timeline.by_function.size(); ++i)
    if (!timeline.functions[i].is_system_call) partial += timeline.by_function[i].partial;
  if (losses != 0) unknown.push_back(fmt::format("what executed in {}", Counted(losses, "loss")));
  if (const std::string lost = LostTime(view); !lost.empty()) unknown.push_back(lost);
  if (partial != 0) unknown.push_back(fmt::format("begin or end of {}", Counted(partial, "call")));
  if (stacks != 0)
    unknown.push_back(
        fmt::format("{}, which of its stacks a thread was on until it was seen to be another one "
                    "(its work until then is counted in calls of the wrong one)",
                    stacks == 1 ? "once" : fmt::format("{} times", stacks)));
  if (view.has_times() && !off_cpu)
    unknown.push_back("when threads were off their CPUs (their waits are counted as kernel time)");
  if (alone != 0)
    unknown.push_back(
        fmt::format("whose {} of trace {}", Counted(alone, "stream"), ByCount(alone, "is", "are")));
  if (cut != 0)
    unknown.push_back(fmt::format("the paths of {}: only the most expensive paths are kept",
                                  Counted(cut, "call")));
  if (condensed) unknown.push_back("the order of very many short pauses, which are put together");
  return unknown;
}

std::vector<std::string> Sentences(const TimelineView& view) {
  std::vector<std::string> sentences;
  const auto tell = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  tell(NameWords(view.input, 60) + ": " + HowLong(view));
  tell(WhereTimeWent(view));
  tell(WaitSentence(view));
  tell(WhatExecuted(view));
  if (view.timeline->emulated && view.has_times() && view.sort == TimelineSort::kInstructions)
    tell(kEmulatedSort);
  tell(HowManyCycles(view));
  size_t told = 0;
  for (const ThreadTimeline* thread : ByLife(*view.timeline)) {
    if (!thread->longest || !view.has_times()) continue;
    if (++told > kMostLongest) continue;
    tell(SpentItsTimeInLast(*thread) ? LastCall(view, *thread) : LongestCall(view, *thread));
  }
  if (told > kMostLongest)
    tell(fmt::format("({} more threads: --tid and --json show them.)", told - kMostLongest));
  tell(NotKnown(view));
  return sentences;
}

void AppendSentences(const TimelineView& view, std::string& out) {
  for (const std::string& sentence : Sentences(view))
    out += Wrapped(sentence, 2, view.width) + '\n';
}

}  // namespace flowback
