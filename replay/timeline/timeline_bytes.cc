// SPDX-License-Identifier: MIT
#include "replay/timeline/timeline_bytes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "replay/flow/result_bytes.h"
#include "replay/timeline/function_sums.h"

namespace flowback {
namespace {

constexpr uint64_t kClasses = std::size(kAllTimeClasses);
constexpr auto kEntries = static_cast<uint64_t>(CallEntry::kNewStack) + 1;
constexpr auto kExits = static_cast<uint64_t>(CallExit::kPaused) + 1;

template <class Io, class Share>
void TellCycles(Io& io, Share& share) {
  io.Number(share.instructions);
  io.Number(share.likely);
  io.Number(share.lo);
  io.Number(share.hi);
  io.Number(share.untold);
}

template <class Io, class Sums>
void TellSums(Io& io, Sums& sums) {
  io.Number(sums.count);
  io.Number(sums.partial);
  io.Number(sums.self.time);
  io.Number(sums.self.lo);
  io.Number(sums.self.hi);
  io.Number(sums.executing);
  io.Number(sums.total);
  SerializeTimes(io, sums.own);
  io.Number(sums.self_instructions);
  io.Number(sums.instructions);
  TellCycles(io, sums.self_cycles);
  TellCycles(io, sums.cycles);
  io.Number(sums.durations.count);
  io.Number(sums.durations.min);
  io.Number(sums.durations.median);
  io.Number(sums.durations.p99);
  io.Number(sums.durations.max);
}

template <class Io, class Paths>
void TellPaths(Io& io, Paths& paths) {
  io.List(paths, [&](auto& path) {
    // The first one is its own parent.
    io.Below(path.parent, std::max<uint64_t>(paths.size() - 1, 1));
    io.Function(path.function);
    io.Number(path.depth);
    io.Number(path.is_cut);
    io.Number(path.at_least);
    TellSums(io, path.sums);
  });
}

template <class Io, class CallType>
void TellCall(Io& io, CallType& call) {
  for (auto* time :
       {&call.begin, &call.begin_lo, &call.begin_hi, &call.end, &call.end_lo, &call.end_hi})
    io.Time(*time);
  io.Number(call.instructions);
  io.Number(call.cycles);
  io.Number(call.cycles_lo);
  io.Function(call.function);
  io.Number(call.depth);
  io.Number(call.stack);
  io.Below(call.entry, kEntries);
  io.Below(call.exit, kExits);
}

template <class Io, class Span>
void TellSpan(Io& io, Span& span) {
  io.Below(span.kind, kClasses);
  for (auto* time :
       {&span.begin, &span.begin_lo, &span.begin_hi, &span.end, &span.end_lo, &span.end_hi})
    io.Time(*time);
}

template <class Io, class Column>
void TellColumn(Io& io, Column& column) {
  SerializeTimes(io, column.times);
  io.Function(column.function);
  io.Number(column.function_time);
  io.Number(column.focus);
}

template <class Io, class Thread>
void TellThread(Io& io, Thread& thread) {
  io.Number(thread.pid);
  io.Number(thread.tid);
  io.StreamOf(thread.stream);
  io.Time(thread.begin);
  io.Time(thread.end);
  SerializeTimes(io, thread.times);
  io.Causes(thread.causes);
  io.Number(thread.instructions);
  io.Number(thread.losses);
  io.Number(thread.other_stacks);
  io.Number(thread.cycles.paused);
  io.Number(thread.cycles.undivided);
  io.Number(thread.off_cpu_told);
  io.Number(thread.condensed);
  TellPaths(io, thread.paths);
  io.List(thread.calls, [&](auto& call) { TellCall(io, call); });
  io.Number(thread.calls_left_out);
  io.Number(thread.shortest);
  io.Number(thread.cut_calls);
  for (auto* call : {&thread.longest, &thread.last})
    io.Optional(*call, [&](auto& one) { TellCall(io, one); });
  io.List(thread.spans, [&](auto& span) { TellSpan(io, span); });
  io.List(thread.strip, [&](auto& column) { TellColumn(io, column); });
}

// But for the functions, which all else counts on.
template <class Io, class TimelineType>
void TellRest(Io& io, TimelineType& timeline) {
  io.Number(timeline.nanoseconds);
  io.Number(timeline.emulated);
  io.Time(timeline.begin);
  io.Time(timeline.end);
  io.List(timeline.threads, [&](auto& thread) { TellThread(io, thread); });
  SerializeTimes(io, timeline.times);
  TellPaths(io, timeline.paths);
  io.List(timeline.by_function, [&](auto& sums) { TellSums(io, sums); });
  io.List(timeline.losses, [&](auto& sum) { TellLosses(io, sum); });
}

// What whoever shows it relies on.
bool MakesSense(const Timeline& timeline) {
  const auto calls_are_of_functions = [](const ThreadTimeline& thread) {
    return std::ranges::none_of(thread.calls, [](const TimelineCall& call) {
      return call.function == CallPath::kNoFunction;
    });
  };
  for (const ThreadTimeline& thread : timeline.threads)
    if (thread.paths.empty() || thread.begin > thread.end || !calls_are_of_functions(thread))
      return false;
  return timeline.begin <= timeline.end && !timeline.paths.empty() &&
         timeline.by_function.size() == timeline.functions.size() && CheckTimeline(timeline) &&
         CheckFunctions(timeline);
}

}  // namespace

std::vector<uint8_t> TimelineToBytes(const Timeline& timeline, const SpaceNames& spaces) {
  ResultWriter out(spaces);
  out.List(timeline.functions, [&](const auto& function) { TellFunction(out, function); });
  TellRest(out, timeline);
  return out.Take();
}

std::optional<Timeline> TimelineFromBytes(Bytes bytes, const Recording& recording,
                                          const SpaceNames& spaces) {
  ResultReader in(bytes, recording, spaces);
  Timeline timeline;
  in.List(timeline.functions, [&](auto& function) { TellFunction(in, function); });
  in.set_functions(timeline.functions.size());
  TellRest(in, timeline);
  if (!in.Done() || !MakesSense(timeline)) return std::nullopt;
  return timeline;
}

}  // namespace flowback
