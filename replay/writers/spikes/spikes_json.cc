// SPDX-License-Identifier: MIT
// Spikes as one JSON object, schema flowback.spikes/1.
#include <fmt/format.h>

#include "replay/writers/spikes/spikes_view.h"
#include "replay/writers/text/json.h"
#include "replay/writers/text/json_parts.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

int64_t Rounded(double value) {
  return static_cast<int64_t>(value < 0 ? value - 0.5 : value + 0.5);
}

std::string InstancesJson(const SpikeReport& report) {
  return JsonObject([&](JsonLine& line) {
    const auto count = [&](InstanceState state) {
      return report.states[static_cast<size_t>(state)];
    };
    line.Number("whole", count(InstanceState::kWhole));
    line.Number("begun_before", count(InstanceState::kBegunBefore));
    line.Number("cut_by_end", count(InstanceState::kCutByEnd));
    line.Number("lost", count(InstanceState::kLost));
    line.Number("left_out", report.left_out).Number("overlapping", report.overlapping);
    line.Number("without_begin", report.unpaired.without_begin);
    line.Number("without_end", report.unpaired.without_end);
    line.Number("without_value", report.unpaired.without_value);
    line.Number("compared", report.sorted.size());
  });
}

std::string DistributionJson(const Distribution& of) {
  return JsonObject([&](JsonLine& line) {
    line.Number("count", of.count).Number("min", of.min).Number("p50", of.p50);
    line.Number("p90", of.p90).Number("p99", of.p99).Number("p999", of.p999);
    line.Number("max", of.max);
  });
}

class Printer {
 public:
  explicit Printer(const SpikesView& view) : view_(view), report_(*view.report) {}

  void Print(JsonLine& line) const {
    line.Text("schema", "flowback.spikes/1").Text("input", view_.input);
    line.Text("by", Name(report_.measure)).Bool("by_kernel_instead", report_.by_kernel_instead);
    if (view_.trigger.empty())
      line.Null("trigger");
    else
      line.Text("trigger", view_.trigger);
    line.Bool("emulated", report_.emulated).Bool("nanoseconds", report_.nanoseconds);
    line.Text("function", view_.region).Raw("instances", InstancesJson(report_));
    line.Raw("distribution", DistributionJson(report_.distribution));
    if (report_.slow == 0)
      line.Null("threshold");
    else
      line.Number("threshold", report_.slowness.threshold);
    line.Number("slow", report_.slow).Number("normal", report_.normal);
    line.Raw("sentences", JsonArray(SpikeSentences(view_), JsonText));
    line.Number("extra", Rounded(report_.causes.extra));
    line.Raw("loops",
             JsonArray(view_.loops, [&](const RequestLoop& loop) { return LoopJson(loop); }));
    line.Raw("causes", CausesJson(report_.causes));
    line.Raw("outliers", JsonArray(report_.outliers,
                                   [&](const Outlier& outlier) { return OutlierJson(outlier); }));
  }

 private:
  std::string CausesJson(const Causes& causes) const {
    return JsonArray(causes.parts, [&](const Cause& cause) { return CauseJson(cause); });
  }
  std::string CauseJson(const Cause& cause) const;
  std::string LoopJson(const RequestLoop& loop) const;
  std::string OutlierJson(const Outlier& outlier) const;

  const SpikesView& view_;
  const SpikeReport& report_;
};

std::string Printer::LoopJson(const RequestLoop& loop) const {
  return JsonObject([&](JsonLine& line) {
    line.Text("function", loop.function.name).Text("caller", loop.caller.name);
    line.Number("calls", loop.calls).Number("loops", loop.loops);
    line.Number("instructions", loop.instructions).Number("waits", loop.waits);
    line.Text("reason", LoopSentence(view_, loop));
  });
}

std::string Printer::CauseJson(const Cause& cause) const {
  const CodeWords words = CauseWords(view_, cause);
  return JsonObject([&](JsonLine& line) {
    line.Text("kind", Name(cause.kind)).Text("function", CauseFunction(view_, cause));
    line.Text("caller", words.function).Number("offset", words.offset);
    line.Text("site", words.LineOrPlace()).Text("file", words.file).Number("line", words.line);
    line.Text("object", words.object).Hex("place", words.place);
    line.Number("slow_with", cause.slow_with).Number("normal_with", cause.normal_with);
    line.Raw("slow_count", fmt::format("{:.2f}", cause.slow_count));
    line.Raw("normal_count", fmt::format("{:.2f}", cause.normal_count));
    line.Number("extra", Rounded(cause.extra)).Raw("share", fmt::format("{:.4f}", cause.share));
    line.Text("inside", PathName(view_, cause.inside)).Text("words", PartWords(view_, cause));
  });
}

std::string Printer::OutlierJson(const Outlier& outlier) const {
  const Instance& instance = report_.instances[outlier.number];
  return JsonObject([&](JsonLine& line) {
    line.Number("instance", outlier.number).Number("thread", instance.tid);
    AddMoment(line, "begin", instance.begin);
    AddMoment(line, "end", instance.end);
    line.Number("time", instance.time()).Number("instructions", instance.instructions);
    line.Number("first_instruction", instance.first_instruction);
    if (instance.cycles != 0) line.Number("cycles", instance.cycles);
    line.Number("extra", Rounded(outlier.causes.extra)).Number("nearest", outlier.nearest);
    line.Text("sentence", OutlierSentence(view_, outlier));
    line.Text("parting", PartingSentence(view_, outlier));
    if (const auto waits = view_.data_waits.find(outlier.number); waits != view_.data_waits.end())
      line.Number("sampled_accesses", waits->second.samples)
          .Number("sampled_cycles", waits->second.cycles);
    line.Raw("parts", CausesJson(outlier.causes));
    line.Number("rest", Rounded(outlier.causes.rest));
  });
}

}  // namespace

std::string SpikesJson(const SpikesView& view) {
  return JsonObject([&](JsonLine& line) { Printer(view).Print(line); });
}

void WriteSpikesJson(const SpikesView& view, TextSink& sink) {
  sink.Write(SpikesJson(view) + '\n');
}

void WriteSpikesCsv(const SpikesView& view, TextSink& sink) {
  sink.Write(
      "instance,tid,state,group,begin,begin_lo,begin_hi,end,end_lo,end_hi,time,instructions,"
      "executing,off_cpu,kernel,lost,filtered,undecodable,cycles\n");
  constexpr const char* kStates[] = {"whole", "begun-before", "cut-by-end", "lost"};
  constexpr const char* kGroups[] = {"normal", "slow", "not-compared"};
  uint32_t number = 0;
  for (const Instance& each : view.report->instances) {
    const auto group = static_cast<size_t>(view.report->GroupOf(each));
    sink.buffer() += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", number++, each.tid,
                                 kStates[static_cast<size_t>(each.state)], kGroups[group],
                                 each.begin.time, each.begin.lo, each.begin.hi, each.end.time,
                                 each.end.lo, each.end.hi, each.time(), each.instructions);
    for (const uint64_t time : each.times) sink.buffer() += fmt::format(",{}", time);
    sink.buffer() += each.cycles == 0 ? ",\n" : fmt::format(",{}\n", each.cycles);
    sink.Commit();
  }
}

}  // namespace flowback
