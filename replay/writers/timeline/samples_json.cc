// SPDX-License-Identifier: MIT
// Samples over time as one JSON object, schema flowback.timeline.samples/1.
#include <fmt/format.h>

#include "replay/writers/text/json.h"
#include "replay/writers/timeline/samples_view.h"
#include "replay/writers/timeline/timeline_json_parts.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

constexpr auto kSampled = static_cast<size_t>(TimeClass::kExecuting);

std::string FunctionNumber(uint32_t function) {
  return function == CallPath::kNoFunction ? "null" : std::to_string(function);
}

std::string SampledStripJson(const ThreadTimeline& thread) {
  std::string text = "[";
  for (const StripColumn& column : thread.strip)
    text += fmt::format("{}{{\"samples\":{},\"function\":{},\"function_samples\":{}}}",
                        text.size() == 1 ? "" : ",", column.times[kSampled],
                        FunctionNumber(column.function), column.function_time);
  return text + "]";
}

void AppendSample(const ThreadSample& sample, std::string& out) {
  JsonLine line(out);
  line.NumberOrNull("time", sample.time);
  line.HexOrNull("ip", sample.ip);
  line.HexOrNull("to", sample.to);
  line.Raw("function", FunctionNumber(sample.function)).End();
  out.pop_back();
}

// A thread may have very many samples.
void AppendSampledThread(const SamplesView& view, size_t number, TextSink& sink) {
  const ThreadTimeline& thread = view.told.timeline.threads[number];
  const std::vector<ThreadSample>& samples = view.told.threads[number];
  std::string& out = sink.buffer();
  {
    JsonLine line(out);
    AddThreadName(view.view, thread, line);
    line.Number("count", samples.size());
    line.NumberOrNull("begin", thread.begin);
    line.NumberOrNull("end", thread.end);
    line.Raw("strip", SampledStripJson(thread));
  }
  out += ",\"samples\":[";
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i != 0) out += ',';
    AppendSample(samples[i], out);
    sink.Commit();
  }
  out += "]}\n";
}

void AppendSampledFunction(const SamplesView& view, size_t number, std::string& out) {
  const CallSums& sums = view.told.timeline.by_function[number];
  JsonLine line(out);
  AddFunctionName(view.told.timeline.functions[number], number, line);
  line.Number("samples", sums.count).Number("instructions", sums.self_instructions);
  line.End();
}

void AddRecords(const SampleTimeline& told, JsonLine& line) {
  line.Number("records", told.records).Bool("judged", told.unjudged.empty());
  line.Number("contradicted_records", told.contradicted).Number("unread_records", told.unread);
  line.Number("instructions", told.instructions);
}

}  // namespace

void WriteSampleTimelineJson(const SamplesView& view, TextSink& sink) {
  const Timeline& timeline = view.told.timeline;
  std::string& out = sink.buffer();
  {
    JsonLine line(out);
    line.Text("schema", "flowback.timeline.samples/1").Text("input", view.view.input);
    line.Text("clock", timeline.nanoseconds ? "ns" : "tsc").Bool("emulated", timeline.emulated);
    line.NumberOrNull("begin", timeline.begin);
    line.NumberOrNull("end", timeline.end);
    line.Number("samples", view.told.samples).Number("empty_samples", view.empty);
    line.Number("samples_without_ip", view.told.without_ip);
    line.Number("samples_nowhere", view.told.nowhere);
    AddRecords(view.told, line);
  }
  AppendJsonArray("threads", timeline.threads.size(), sink,
                  [&](size_t i) { AppendSampledThread(view, i, sink); });
  AppendJsonArray("functions", timeline.functions.size(), sink,
                  [&](size_t i) { AppendSampledFunction(view, i, out); });
  out += "}\n";
  sink.Commit();
}

}  // namespace flowback
