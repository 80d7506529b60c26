// SPDX-License-Identifier: MIT
// `timeline --html`: the page's data.
#include <fmt/format.h>

#include <algorithm>

#include "replay/writers/page/page_parts.h"
#include "replay/writers/timeline/timeline_json_parts.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/timeline/timeline_waits.h"
#include "replay/writers/writers.h"

namespace flowback {

extern const std::string_view kTimelineStyle;  // the files in page/
extern const std::string_view kTimelineBody;
extern const std::string_view kTimelineFiguresScript;
extern const std::string_view kTimelineSumsScript;
extern const std::string_view kTimelineFlameScript;
extern const std::string_view kTimelineScript;

namespace {

constexpr size_t kMostNameColumns = 500;
constexpr size_t kMostSpans = 20'000;  // of a thread; else its strip stands for them

class PageWriter {
 public:
  PageWriter(const TimelineView& view, TextSink& sink) : view_(view), sink_(sink) {}

  void Write() {
    WritePage({.title = "flowback timeline",
               .styles = {kCommonStyle, kFiguresStyle, kTipStyle, kClassesStyle, kTimelineStyle},
               .scripts = {kThemeScript, kNumbersScript, kTipScript, kSearchScript, kFiguresScript,
                           kZoomScript, kMinimapScript, kStripScript, kFlameScript,
                           kTimelineFiguresScript, kTimelineSumsScript, kTimelineFlameScript,
                           kTimelineScript},
               .write_body = [&] { sink_.Write(kTimelineBody); },
               .write_data = [&] { WriteData(); }},
              sink_);
  }

 private:
  std::string& out() { return sink_.buffer(); }

  template <class Item>
  void Array(std::string_view key, size_t count, Item item) {
    WriteArray(key, count, sink_, item);
  }

  void WriteData() {
    const Timeline& timeline = *view_.timeline;
    out() += fmt::format(
        "{{\"title\":{},\"ns\":{},\"emulated\":{},\"begin\":{},\"end\":{},\"moment\":\"{}\",\n",
        QuotedInScript(NameWords(view_.input, 200)), timeline.nanoseconds, timeline.emulated,
        timeline.begin, timeline.end, timeline.begin);
    out() += fmt::format("\"times\":{},\n", TimesJson(timeline.times));
    const std::vector<std::string> said = Sentences(view_);
    Array("said", said.size(), [&](size_t i) { return QuotedInScript(said[i]); });
    out() += ",\n";
    Array("cpus", view_.cpus.size(), [&](size_t i) { return Cpu(view_.cpus[i]); });
    out() += ",\n";
    Array("functions", timeline.functions.size(), [&](size_t i) { return Function(i); });
    out() += ",\n";
    if (view_.waits != nullptr) WriteSites();
    WritePaths();
    out() += "\"threads\":[";
    bool first = true;
    for (const ThreadTimeline* thread : ByLife(timeline)) {
      if (thread->strip.empty()) continue;
      out() += first ? "\n" : ",\n";
      first = false;
      WriteThread(*thread);
      sink_.Commit();
    }
    out() += "]}\n";
  }

  // The call paths of all threads, for the flame graph.
  void WritePaths() {
    const std::vector<CallPath>& paths = view_.timeline->paths;
    const auto column = [&](std::string_view key, auto value) {
      Array(key, paths.size(), [&](size_t i) { return std::to_string(value(paths[i])); });
    };
    out() += "\"paths\":{";
    column("parent", [](const CallPath& path) { return path.parent; });
    out() += ',';
    column("fn", [](const CallPath& path) {
      return path.function == CallPath::kNoFunction ? int64_t{-1} : int64_t{path.function};
    });
    out() += ',';
    column("time", [](const CallPath& path) { return path.sums.total; });
    out() += ',';
    column("instructions", [](const CallPath& path) { return path.sums.instructions; });
    out() += ',';
    column("calls", [](const CallPath& path) { return path.sums.count; });
    out() += "},\n";
    sink_.Commit();
  }

  static std::string Cpu(const CpuStrip& cpu) {
    std::string tids;
    for (const int32_t tid : cpu.tids)
      tids += fmt::format("{}{}", tids.empty() ? "" : ",", tid < 0 ? "null" : std::to_string(tid));
    return fmt::format("{{\"cpu\":{},\"tids\":[{}]}}", cpu.cpu, tids);
  }

  std::string Function(size_t number) const {
    const TimelineFunction& function = view_.timeline->functions[number];
    const CallSums& sums = view_.timeline->by_function[number];
    std::string text = fmt::format(
        "\n{{\"name\":{},\"file\":{},\"calls\":{},\"self\":{},\"total\":{},\"instructions\":{}",
        QuotedInScript(NameWords(function.name, kMostNameColumns)),
        QuotedInScript(NameWords(function.file, kMostNameColumns)), sums.count, sums.self.time,
        sums.total, sums.self_instructions);
    const CycleShare& cycles = sums.self_cycles;
    if (view_.has_cycles() && cycles.any())
      text += fmt::format(",\"cycles\":[{},{},{},{},{}]", cycles.likely, cycles.lo, cycles.hi,
                          cycles.instructions, cycles.untold);
    const CallDurations& durations = sums.durations;
    if (durations.count != 0)
      text += fmt::format(",\"quantiles\":[{},{},{},{}]", durations.min, durations.median,
                          durations.p99, durations.max);
    if (function.space != nullptr) AppendSource(function, text);
    return text + "}";
  }

  void AppendSource(const TimelineFunction& function, std::string& text) const {
    const SourcePlace place = view_.lines->Find(*function.space, function.entry_ip);
    if (!place.known()) return;
    const SourceFrame& frame = place.frames.back();
    text += fmt::format(
        ",\"source\":{}",
        QuotedInScript(fmt::format("{}:{}", NameWords(frame.file, kMostNameColumns), frame.line)));
    const std::string_view line = view_.lines->Text(frame.file, frame.line);
    if (!line.empty()) text += ",\"text\":" + QuotedInScript(NameWords(line, kMostNameColumns));
  }

  void WriteThread(const ThreadTimeline& thread) {
    const std::vector<TimelineCall>& calls = thread.calls;
    out() += fmt::format("{{\"name\":{},\"calls\":{{", QuotedInScript(NameOf(view_, thread)));
    uint64_t before = view_.timeline->begin;
    const auto number = [](uint64_t value) { return std::to_string(value); };
    Array("begin", calls.size(), [&](size_t i) {
      const uint64_t begin = BeginOf(calls[i]);
      return number(begin - std::exchange(before, begin));
    });
    const auto column = [&](std::string_view key, auto value) {
      out() += ',';
      Array(key, calls.size(), [&](size_t i) { return number(value(calls[i])); });
    };
    column("duration", [&](const TimelineCall& call) {
      return std::min(call.end, view_.timeline->end) - std::min(BeginOf(call), call.end);
    });
    column("least", [](const TimelineCall& call) {
      return call.end_lo - std::min(call.end_lo, call.begin_hi);
    });
    column("most", [](const TimelineCall& call) {
      return call.end_hi - std::min(call.end_hi, call.begin_lo);
    });
    column("depth", [](const TimelineCall& call) { return uint64_t{call.depth}; });
    column("fn", [](const TimelineCall& call) { return uint64_t{call.function}; });
    column("instructions", [](const TimelineCall& call) { return call.instructions; });
    column("whole", [](const TimelineCall& call) { return uint64_t{call.IsWhole()}; });
    if (view_.has_cycles()) {
      column("cycles", [](const TimelineCall& call) { return call.cycles; });
      column("cycles_lo", [](const TimelineCall& call) { return call.cycles_lo; });
    }
    out() += '}';
    WriteSpans(thread);
    if (view_.waits != nullptr) WriteWaits(thread);
    out() += '}';
  }

  // --time may cut a call.
  uint64_t BeginOf(const TimelineCall& call) const {
    return std::clamp(call.begin, view_.timeline->begin, view_.timeline->end);
  }

  void WriteSpans(const ThreadTimeline& thread) {
    const Timeline& timeline = *view_.timeline;
    out() += ',';
    std::vector<PartStretch> spans;
    bool has_many = thread.spans.size() > kMostSpans ||
                    (view_.waits != nullptr && WaitsOf(view_, thread).has_too_many_spans);
    if (!has_many) spans = PartStretchesOf(view_, thread);
    has_many = has_many || spans.size() > kMostSpans;
    if (has_many) {
      const size_t kinds = PartsOf(view_);
      Array("strip", thread.strip.size() * kinds,
            [&](size_t i) { return std::to_string(PartsOf(view_, thread, i / kinds)[i % kinds]); });
      return;
    }
    const auto cut = [&](uint64_t time) { return std::clamp(time, timeline.begin, timeline.end); };
    out() += "\"spans\":{";
    Array("begin", spans.size(),
          [&](size_t i) { return std::to_string(cut(spans[i].begin) - timeline.begin); });
    out() += ',';
    Array("length", spans.size(),
          [&](size_t i) { return std::to_string(cut(spans[i].end) - cut(spans[i].begin)); });
    out() += ',';
    Array("kind", spans.size(), [&](size_t i) { return std::to_string(spans[i].part); });
    out() += '}';
  }

  // Writes the names of the waits' sites.
  void WriteSites() {
    const LockReport& report = *view_.waits->report;
    Array("sites", report.sites.size(), [&](size_t i) {
      return QuotedInScript(
          CutWords(WordsOf(*view_.waits, report.sites[i]).Short(), kMostNameColumns));
    });
    out() += ",\n";
  }

  void WriteWaits(const ThreadTimeline& thread) {
    const std::vector<const LockWait*> waits = LongestWaits(view_, thread);
    out() += ",\n\"waits\":[";
    for (size_t i = 0; i < waits.size(); ++i) {
      const LockWait& wait = *waits[i];
      const bool is_held = wait.holder != LockWait::kNoThread;
      const uint64_t begin = std::clamp(wait.begin.time, view_.timeline->begin, wait.end.time);
      out() += fmt::format(
          "{}{{\"begin\":{},\"length\":{},\"time\":{},\"sleeping\":{},\"trips\":{},\"site\":{},"
          "\"holder\":{},\"certain\":{}}}",
          i == 0 ? "" : ",\n", begin - view_.timeline->begin, wait.end.time - begin, wait.time(),
          wait.sleeping, wait.trips, wait.site,
          is_held ? QuotedInScript(ThreadWords(*view_.waits, wait.holder)) : "null",
          wait.is_certain);
      sink_.Commit();
    }
    out() += ']';
  }

  const TimelineView& view_;
  TextSink& sink_;
};

}  // namespace

void WriteTimelineHtml(const TimelineView& view, TextSink& sink) { PageWriter(view, sink).Write(); }

}  // namespace flowback
