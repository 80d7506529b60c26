// SPDX-License-Identifier: MIT
// The timeline as one JSON object, schema flowback.timeline/1.
#include <fmt/format.h>

#include "replay/writers/text/json.h"
#include "replay/writers/timeline/timeline_json_parts.h"
#include "replay/writers/timeline/timeline_view.h"
#include "replay/writers/timeline/timeline_waits.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

class JsonPrinter {
 public:
  JsonPrinter(const TimelineView& view, TextSink& sink) : view_(view), sink_(sink) {}

  void Print() {
    const Timeline& timeline = *view_.timeline;
    {
      JsonLine line(out());
      AddTimelineHead(view_, "flowback.timeline/1", line);
    }
    Array("threads", timeline.threads.size(), [&](size_t i) { Thread(timeline.threads[i]); });
    Array("cpus", view_.cpus.size(), [&](size_t i) { AppendCpuJson(view_.cpus[i], out()); });
    Array("functions", timeline.functions.size(), [&](size_t i) { Function(i); });
    Array("paths", timeline.paths.size(), [&](size_t i) { Path(timeline.paths[i]); });
    out() += "}\n";
    sink_.Commit();
  }

 private:
  std::string& out() { return sink_.buffer(); }

  template <class Item>
  void Array(std::string_view key, size_t count, Item item) {
    AppendJsonArray(key, count, sink_, item);
  }

  void Cycles(JsonLine& line, std::string_view key, const CycleShare& share) const {
    if (!view_.has_cycles() || !share.any()) return static_cast<void>(line.Null(key));
    std::string text;
    JsonLine cycles(text);
    cycles.Number("likely", share.likely).Number("lo", share.lo).Number("hi", share.hi);
    cycles.Number("instructions", share.instructions);
    cycles.Number("untold_instructions", share.untold);
    cycles.End();
    text.pop_back();
    line.Raw(key, text);
  }

  void Sums(JsonLine& line, const CallSums& sums) const {
    line.Number("calls", sums.count).Number("partial", sums.partial);
    line.Number("self", sums.self.time).Number("self_lo", sums.self.lo);
    line.Number("self_hi", sums.self.hi).Number("executing", sums.executing);
    line.Number("total", sums.total).Raw("own_times", TimesJson(sums.own));
    line.Number("self_instructions", sums.self_instructions);
    line.Number("instructions", sums.instructions);
    Cycles(line, "self_cycles", sums.self_cycles);
    Cycles(line, "cycles", sums.cycles);
    const CallDurations& durations = sums.durations;
    if (durations.count == 0) {
      line.Null("min").Null("median").Null("p99").Null("max");
      return;
    }
    line.Number("min", durations.min).Number("median", durations.median);
    line.Number("p99", durations.p99).Number("max", durations.max);
  }

  static void OptionalNumber(JsonLine& line, std::string_view key, uint32_t number) {
    if (number == CallPath::kNoFunction)
      line.Null(key);
    else
      line.Number(key, number);
  }

  std::string CallJson(const TimelineCall& call) const {
    std::string text;
    JsonLine line(text);
    OptionalNumber(line, "function", call.function);
    line.Number("begin", call.begin).Number("begin_lo", call.begin_lo);
    line.Number("begin_hi", call.begin_hi).Number("end", call.end);
    line.Number("end_lo", call.end_lo).Number("end_hi", call.end_hi);
    line.Number("depth", call.depth).Number("instructions", call.instructions);
    if (view_.has_cycles() && call.cycles != 0)
      line.Number("cycles", call.cycles).Number("cycles_lo", call.cycles_lo);
    else
      line.Null("cycles").Null("cycles_lo");
    line.Bool("whole", call.IsWhole());
    line.End();
    text.pop_back();
    return text;
  }

  void OptionalCall(JsonLine& line, std::string_view key,
                    const std::optional<TimelineCall>& call) const {
    if (call)
      line.Raw(key, CallJson(*call));
    else
      line.Null(key);
  }

  void Thread(const ThreadTimeline& thread) {
    JsonLine line(out());
    AddThreadName(view_, thread, line);
    line.Number("begin", thread.begin).Number("end", thread.end);
    line.Raw("times", TimesJson(thread.times)).Number("instructions", thread.instructions);
    line.Number("losses", thread.losses).Number("other_stacks", thread.other_stacks);
    line.Bool("off_cpu_told", thread.off_cpu_told);
    const bool has_cycles = !view_.timeline->emulated;
    line.Number("paused_cycles", has_cycles ? thread.cycles.paused : 0);
    line.Number("undivided_cycles", has_cycles ? thread.cycles.undivided : 0);
    line.Number("calls_without_path", thread.cut_calls);
    OptionalCall(line, "longest_call", thread.longest);
    OptionalCall(line, "last_call", thread.last);
    if (view_.waits != nullptr) line.Raw("waits", WaitsJson(view_, thread));
    line.Raw("strip", StripJson(view_, thread));
    line.End();
  }

  void Function(size_t number) {
    const TimelineFunction& function = view_.timeline->functions[number];
    JsonLine line(out());
    AddFunctionName(function, number, line);
    line.Bool("system_call", function.is_system_call);
    const SourcePlace place = function.space == nullptr
                                  ? SourcePlace()
                                  : view_.lines->Find(*function.space, function.entry_ip);
    if (place.known())
      line.Text("source", place.frames.back().file).Number("line", place.frames.back().line);
    else
      line.Null("source").Null("line");
    Sums(line, view_.timeline->by_function[number]);
    line.End();
  }

  void Path(const CallPath& path) {
    JsonLine line(out());
    line.Number("parent", path.parent).Number("depth", path.depth);
    OptionalNumber(line, "function", path.function);
    line.Bool("cut", path.is_cut).Bool("at_least", path.at_least);
    Sums(line, path.sums);
    line.End();
  }

  const TimelineView& view_;
  TextSink& sink_;
};

}  // namespace

std::string TimesJson(const ClassTimes& times) {
  static constexpr const char* kKeys[] = {"executing", "off_cpu",  "kernel",
                                          "lost",      "filtered", "undecodable"};
  std::string text = "{";
  for (size_t i = 0; i < times.size(); ++i)
    text += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", kKeys[i], times[i]);
  return text + "}";
}

std::string StripJson(const TimelineView& view, const ThreadTimeline& thread) {
  std::string text = "[";
  for (size_t i = 0; i < thread.strip.size(); ++i) {
    const StripColumn& column = thread.strip[i];
    std::string times = "[";
    for (const uint64_t time : column.times)
      times += fmt::format("{}{}", times.size() == 1 ? "" : ",", time);
    text += fmt::format(
        "{}{{\"times\":{}],\"function\":{},\"function_time\":{}", text.size() == 1 ? "" : ",",
        times, column.function == CallPath::kNoFunction ? "null" : std::to_string(column.function),
        column.function_time);
    if (view.waits != nullptr) {
      const TimeParts parts = PartsOf(view, thread, i);
      text += fmt::format(",\"spinning\":{},\"sleeping\":{}", parts[kSpinning], parts[kSleeping]);
    }
    text += '}';
  }
  return text + "]";
}

void AddTimelineHead(const TimelineView& view, std::string_view schema, JsonLine& line) {
  const Timeline& timeline = *view.timeline;
  line.Text("schema", schema).Text("input", view.input);
  line.Text("clock", timeline.nanoseconds ? "ns" : "tsc").Bool("emulated", timeline.emulated);
  if (view.has_times())
    line.Number("begin", timeline.begin).Number("end", timeline.end);
  else
    line.Null("begin").Null("end");
  line.Raw("times", TimesJson(timeline.times));
  if (view.waits != nullptr) line.Raw("waits", WaitsJson(view));
}

void AddThreadName(const TimelineView& view, const ThreadTimeline& thread, JsonLine& line) {
  if (thread.tid >= 0)
    line.Number("tid", thread.tid).Number("pid", thread.pid);
  else
    line.Null("tid").Null("pid");
  if (thread.stream != nullptr)
    line.Number("stream", thread.stream->index);
  else
    line.Null("stream");
  line.Text("comm", thread.tid >= 0 ? view.threads->CommAt(thread.tid, 0).comm : "");
}

void AddFunctionName(const TimelineFunction& function, size_t number, JsonLine& line) {
  line.Number("number", number).Text("name", function.name).Bool("named", function.named);
  if (function.file.empty())
    line.Null("file");
  else
    line.Text("file", function.file);
  line.Hex("ip", function.entry_ip);
}

void AppendCpuJson(const CpuStrip& cpu, std::string& out) {
  std::string tids = "[";
  for (const int32_t tid : cpu.tids)
    tids +=
        fmt::format("{}{}", tids.size() == 1 ? "" : ",", tid < 0 ? "null" : std::to_string(tid));
  JsonLine line(out);
  line.Number("cpu", cpu.cpu).Raw("tids", tids + "]");
  line.End();
}

void WriteTimelineJson(const TimelineView& view, TextSink& sink) {
  JsonPrinter(view, sink).Print();
}

}  // namespace flowback
