// SPDX-License-Identifier: MIT
// An overview as one JSON object, schema flowback.timeline.overview/1.
#include <fmt/format.h>

#include "replay/writers/text/json.h"
#include "replay/writers/timeline/overview_view.h"
#include "replay/writers/timeline/timeline_json_parts.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

void AppendOverviewThread(const TimelineView& view, const ThreadTimeline& thread,
                          std::string& out) {
  JsonLine line(out);
  AddThreadName(view, thread, line);
  line.Number("begin", thread.begin).Number("end", thread.end);
  line.Raw("times", TimesJson(thread.times)).Number("instructions", thread.instructions);
  line.Number("losses", thread.losses).Bool("off_cpu_told", thread.off_cpu_told);
  line.Raw("strip", StripJson(view, thread));
  line.End();
}

void AppendOverviewFunction(const TimelineView& view, size_t number, std::string& out) {
  const TimelineFunction& function = view.timeline->functions[number];
  const CallSums& sums = view.timeline->by_function[number];
  JsonLine line(out);
  AddFunctionName(function, number, line);
  line.Number("self_instructions", sums.self_instructions);
  line.End();
}

}  // namespace

void WriteOverviewJson(const OverviewView& view, TextSink& sink) {
  const Overview& overview = view.overview;
  const Timeline& timeline = overview.timeline;
  std::string& out = sink.buffer();
  {
    JsonLine line(out);
    AddTimelineHead(view.view, "flowback.timeline.overview/1", line);
    line.Number("instructions", overview.instructions);
    line.Number("instructions_told", overview.told).Number("stretches", overview.stretches);
    line.Number("sample", overview.sample);
  }
  AppendJsonArray("threads", timeline.threads.size(), sink,
                  [&](size_t i) { AppendOverviewThread(view.view, timeline.threads[i], out); });
  AppendJsonArray("cpus", view.view.cpus.size(), sink,
                  [&](size_t i) { AppendCpuJson(view.view.cpus[i], out); });
  AppendJsonArray("functions", timeline.functions.size(), sink,
                  [&](size_t i) { AppendOverviewFunction(view.view, i, out); });
  out += "}\n";
  sink.Commit();
}

}  // namespace flowback
