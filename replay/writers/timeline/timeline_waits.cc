// SPDX-License-Identifier: MIT
#include "replay/writers/timeline/timeline_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replay/writers/text/json.h"
#include "replay/writers/timeline/timeline_json_parts.h"
#include "replay/writers/timeline/timeline_view.h"

namespace flowback {
namespace {

size_t NumberOf(const TimelineView& view, const ThreadTimeline& thread) {
  return static_cast<size_t>(&thread - view.timeline->threads.data());
}

TimeParts WithoutWaits(const ClassTimes& times) {
  TimeParts parts{};
  std::ranges::copy(times, parts.begin());
  return parts;
}

void TakeOut(const WaitTimes& waits, TimeParts& parts) {
  for (size_t i = 0; i < kTimeClasses; ++i) {
    parts[i] -= std::min(parts[i], waits.spinning[i] + waits.sleeping[i]);
    parts[kSpinning] += waits.spinning[i];
    parts[kSleeping] += waits.sleeping[i];
  }
}

uint64_t WaitingOf(const WaitTimes& waits) { return SumOf(waits.spinning) + SumOf(waits.sleeping); }

WaitTimes AllWaits(const TimelineView& view) {
  WaitTimes all;
  for (const LockThread& thread : view.waits->report->threads)
    for (size_t i = 0; i < kTimeClasses; ++i) {
      all.spinning[i] += thread.waits.times.spinning[i];
      all.sleeping[i] += thread.waits.times.sleeping[i];
    }
  return all;
}

std::string WaitTimesJson(const WaitTimes& waits) {
  return fmt::format("\"spinning\":{},\"sleeping\":{},\"spinning_times\":{},\"sleeping_times\":{}",
                     SumOf(waits.spinning), SumOf(waits.sleeping), TimesJson(waits.spinning),
                     TimesJson(waits.sleeping));
}

}  // namespace

size_t PartsOf(const TimelineView& view) {
  return view.waits == nullptr ? kTimeClasses : kTimeParts;
}

const char* PartName(size_t part) {
  if (part == kSpinning) return "spinning";
  return part == kSleeping ? "sleeping" : Name(static_cast<TimeClass>(part));
}

const ThreadWaits& WaitsOf(const TimelineView& view, const ThreadTimeline& thread) {
  return view.waits->report->threads[NumberOf(view, thread)].waits;
}

TimeParts PartsOf(const TimelineView& view, const ThreadTimeline& thread, size_t column) {
  TimeParts parts = WithoutWaits(thread.strip[column].times);
  if (view.waits == nullptr) return parts;
  const ThreadWaits& waits = WaitsOf(view, thread);
  if (column < waits.strip.size()) TakeOut(waits.strip[column], parts);
  return parts;
}

TimeParts PartsOf(const TimelineView& view, const ThreadTimeline& thread) {
  TimeParts parts = WithoutWaits(thread.times);
  if (view.waits != nullptr) TakeOut(WaitsOf(view, thread).times, parts);
  return parts;
}

std::vector<PartStretch> PartStretchesOf(const TimelineView& view, const ThreadTimeline& thread) {
  std::vector<PartStretch> spans;
  const auto add = [&](size_t part, uint64_t begin, uint64_t end) {
    if (begin < end) spans.push_back({.part = part, .begin = begin, .end = end});
  };
  static const std::vector<WaitStretch> kNone;
  const std::vector<WaitStretch>& waits =
      view.waits == nullptr ? kNone : WaitsOf(view, thread).spans;
  size_t at = 0;
  for (const ClassSpan& span : thread.spans) {
    uint64_t from = span.begin;
    while (at < waits.size() && waits[at].end <= from) ++at;
    for (size_t i = at; i < waits.size() && waits[i].begin < span.end; ++i) {
      const uint64_t begin = std::max(from, waits[i].begin);
      const uint64_t end = std::min(span.end, waits[i].end);
      add(static_cast<size_t>(span.kind), from, begin);
      add(waits[i].sleeps ? kSleeping : kSpinning, begin, end);
      from = std::max(from, end);
    }
    add(static_cast<size_t>(span.kind), from, span.end);
  }
  return spans;
}

std::vector<const LockWait*> LongestWaits(const TimelineView& view, const ThreadTimeline& thread) {
  std::vector<const LockWait*> waits;
  if (view.waits == nullptr) return waits;
  for (const LockWait& wait : view.waits->report->worst)
    if (wait.thread == NumberOf(view, thread) && wait.time() != 0) waits.push_back(&wait);
  std::ranges::stable_sort(waits, {}, [](const LockWait* wait) { return wait->begin.time; });
  return waits;
}

std::string MostWaitedFor(const TimelineView& view, const ThreadTimeline& thread) {
  const LockReport& report = *view.waits->report;
  const auto most = std::ranges::find_if(report.sums, [&](const LockSums& sums) {
    return sums.thread == NumberOf(view, thread) && sums.waits != 0;
  });
  return most == report.sums.end() ? std::string()
                                   : WordsOf(*view.waits, report.sites[most->site]).Short();
}

std::string HowItWaited(const LockWait& wait) {
  if (wait.sleeping == 0) return "spinning";
  if (wait.sleeping >= wait.time()) return "sleeping";
  return "sleeping " + ShareWords(wait.sleeping, wait.time());
}

std::string WaitWords(const TimelineView& view, const LockWait& wait) {
  const LockReport& report = *view.waits->report;
  std::string text =
      fmt::format("waited {} ({}) for {}", DurationWords(wait.time(), view.timeline->nanoseconds),
                  HowItWaited(wait), WordsOf(*view.waits, report.sites[wait.site]).Short());
  if (wait.holder != LockWait::kNoThread)
    text += fmt::format(", {}held by {}", wait.is_certain ? "" : "perhaps ",
                        ThreadWords(*view.waits, wait.holder));
  return text;
}

std::string WaitSentence(const TimelineView& view) {
  if (view.waits == nullptr) return {};
  if (!view.has_times())
    return "Waits have no share of time that is not known: `flowback locks` counts their trips.";
  const WaitTimes waits = AllWaits(view);
  const uint64_t waiting = WaitingOf(waits);
  if (waiting == 0) return "No thread waited for another one.";
  const uint64_t all = SumOf(view.timeline->times);
  std::string text = fmt::format(
      "Waiting for other threads is {} of that: {} spinning, {} sleeping", ShareWords(waiting, all),
      ShareWords(SumOf(waits.spinning), all), ShareWords(SumOf(waits.sleeping), all));
  const LockReport& report = *view.waits->report;
  const auto most = std::ranges::max_element(
      report.site_sums, {}, [](const LockSums& sums) { return sums.waiting.time; });
  if (most != report.site_sums.end() && most->waiting.time != 0)
    text += "; most for " + WordsOf(*view.waits, report.sites[most->site]).Short();
  return text + ".";
}

void AppendWaits(const TimelineView& view, std::string& out) {
  if (view.waits == nullptr) return;
  std::vector<const ThreadTimeline*> threads;
  for (const ThreadTimeline& thread : view.timeline->threads)
    if (WaitingOf(WaitsOf(view, thread).times) != 0) threads.push_back(&thread);
  if (threads.empty()) return;
  const auto waiting = [&](const ThreadTimeline* thread) {
    return WaitingOf(WaitsOf(view, *thread).times);
  };
  std::ranges::stable_sort(threads, std::ranges::greater(), waiting);
  out +=
      "\nwaits of threads\n   waiting    share spinning sleeping  thread: what it waited for "
      "most\n";
  const size_t shown = std::min(view.rows, threads.size());
  for (size_t i = 0; i < shown; ++i) {
    const ThreadTimeline& thread = *threads[i];
    const WaitTimes& times = WaitsOf(view, thread).times;
    const uint64_t life = thread.end - thread.begin;
    std::string line = fmt::format(
        "{:>10} {:>8} {:>8} {:>8}  ", DurationWords(waiting(&thread), view.timeline->nanoseconds),
        ShareWords(waiting(&thread), life), ShareWords(SumOf(times.spinning), life),
        ShareWords(SumOf(times.sleeping), life));
    line += NameOf(view, thread);
    if (const std::string site = MostWaitedFor(view, thread); !site.empty()) line += ": " + site;
    out += CutWords(line, std::max(view.width, size_t{60})) + '\n';
  }
  AppendMore(threads.size(), shown, out);
}

std::string WaitsJson(const TimelineView& view, const ThreadTimeline& thread) {
  std::string text = "{" + WaitTimesJson(WaitsOf(view, thread).times) + ",\"mostly\":";
  const std::string site = MostWaitedFor(view, thread);
  if (site.empty())
    text += "null";
  else
    AppendJsonString(text, site);
  return text + "}";
}

std::string WaitsJson(const TimelineView& view) {
  return "{" + WaitTimesJson(AllWaits(view)) + "}";
}

}  // namespace flowback
