// SPDX-License-Identifier: MIT
// `locks --html`: the page's data.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "replay/writers/locks/lock_index.h"
#include "replay/writers/locks/lock_lanes.h"
#include "replay/writers/locks/locks_view.h"
#include "replay/writers/page/page_parts.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/writers.h"

namespace flowback {

extern const std::string_view kTimelineStyle;  // the files in page/, and timeline/page/
extern const std::string_view kLocksStyle;
extern const std::string_view kLocksBody;
extern const std::string_view kLocksScript;

namespace {

void WriteLane(const LocksView& view, const LockLane& lane, TextSink& sink) {
  sink.buffer() += fmt::format("\n{{\"tid\":{},\"name\":{},", view.report->threads[lane.thread].tid,
                               QuotedInScript(ThreadWords(view, lane.thread)));
  WriteArray("strip", lane.columns.size() * kLaneKinds, sink, [&](size_t i) {
    return std::to_string(lane.columns[i / kLaneKinds][i % kLaneKinds]);
  });
  sink.buffer() += '}';
  sink.Commit();
}

void WriteData(const LocksView& view, TextSink& sink) {
  constexpr size_t kColumns = 1000;
  constexpr size_t kMostLanes = 200;
  const std::vector<LockLane> lanes = LanesOf(*view.report, kColumns, kMostLanes);
  const std::vector<uint32_t> sites = LockIndex(*view.report).by_waiting;
  std::string& out = sink.buffer();
  out += fmt::format("{{\"title\":{},\n", QuotedInScript(NameWords(view.input, 500)));
  WriteArray("sites", sites.size(), sink, [&](size_t i) {
    return QuotedInScript(WordsOf(view, view.report->sites[sites[i]]).Short());
  });
  out += ",\n\"lanes\":[";
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (i != 0) out += ',';
    WriteLane(view, lanes[i], sink);
  }
  out += "],\n\"report\":";
  sink.Write(JsonInScript(LocksJson(view)));
  out += "}\n";
}

}  // namespace

void WriteLocksHtml(const LocksView& view, TextSink& sink) {
  WritePage({.title = "flowback locks",
             .styles = {kCommonStyle, kFiguresStyle, kTipStyle, kClassesStyle, kTimelineStyle,
                        kLocksStyle},
             .scripts = {kThemeScript, kNumbersScript, kTipScript, kSearchScript, kFiguresScript,
                         kZoomScript, kStripScript, kLocksScript},
             .write_body = [&] { sink.Write(kLocksBody); },
             .write_data = [&] { WriteData(view, sink); }},
            sink);
}

}  // namespace flowback
