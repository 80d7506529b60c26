// SPDX-License-Identifier: MIT
// `info` as one JSON object.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/recorded/call_samples.h"
#include "capture/formats/perf_records/named_regions.h"
#include "cli/info/info_bundle.h"
#include "cli/info/info_effort.h"
#include "cli/info/info_report.h"
#include "cli/reading/stream_report.h"
#include "cli/text/counters.h"
#include "cli/text/json_value.h"

namespace flowback::cli {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(int32_t value) { return value < 0 ? Json(nullptr) : Json(value); }
Json MachineJson(const Recording& recording) {
  const MachineInfo& machine = recording.machine;
  Json json;
  json["hostname"] = TextOrNull(machine.hostname);
  json["os_release"] = TextOrNull(machine.os_release);
  json["architecture"] = TextOrNull(machine.architecture);
  json["cpu"] = TextOrNull(machine.cpu_description);
  json["cpuid"] = TextOrNull(machine.cpuid);
  json["cpus_online"] = machine.cpus_online;
  return json;
}

Json OptionsJson(const TraceSource& source) {
  Json json = Json::object();
  for (const TraceSetting& setting : source.Settings()) {
    if (setting.key.empty()) continue;
    Json& value = json[std::string(setting.key)];
    if (const bool* flag = std::get_if<bool>(&setting.value)) value = *flag;
    if (const uint64_t* number = std::get_if<uint64_t>(&setting.value)) value = *number;
  }
  return json;
}

Json DurationJson(const InfoReport& report) {
  Json json;
  json["unit"] = report.opened->clock().has_nanoseconds() ? "ns" : "tsc";
  json["begin"] = report.span ? Json(report.span->begin) : Json(nullptr);
  json["end"] = report.span ? Json(report.span->end) : Json(nullptr);
  json["emulated"] = report.opened->clock().emulated();
  return json;
}

Json WatchJson(const std::vector<WatchPlace>& places) {
  Json json = Json::array();
  for (const WatchPlace& place : places)
    json.push_back({{"function", place.function},
                    {"file", TextOrNull(place.file)},
                    {"offset", place.file.empty() ? Json(nullptr) : Json(place.offset)}});
  return json;
}

// `unit`: what all members that begin with `bytes` count.
Json StreamJson(const StreamInfo& info, const TraceUnit& unit) {
  const Stream& stream = *info.owner->stream;
  Json json;
  json["stream"] = stream.index;
  json["label"] = info.owner->label;
  json["cpu"] = NumberOrNull(stream.cpu);
  json["pid"] = NumberOrNull(info.owner->pid);
  json["tid"] = NumberOrNull(info.owner->tid);
  json["bytes"] = unit.In(stream);
  json["bytes_decoded"] = info.summary.bytes_decoded;
  json["bytes_padding"] = info.summary.bytes_padding;
  json["bytes_lost"] = info.summary.bytes_lost;
  json["instructions"] = info.summary.digest.count;
  json["gaps"] = stream.gaps.size();
  json["bytes_repeated"] = stream.repeated_bytes / unit.bytes;
  json["bytes_missing"] = stream.missing_bytes / unit.bytes;
  return json;
}

Json LossesJson(const LossTally& losses, const TraceUnit& unit) {
  Json json = Json::array();
  for (const LossCause cause : kAllLossCauses) {
    const LossTally::Sum& sum = losses.Of(cause);
    if (!sum.any()) continue;
    json.push_back({{"cause", Name(cause)},
                    {"count", sum.count},
                    {"bytes", sum.bytes / unit.bytes},
                    {"time", sum.time},
                    {"remedy", Remedy(cause)}});
  }
  return json;
}

const char* VerificationWord(const ImageStatus& image) {
  if (!image.usable) return "missing";
  switch (image.verification) {
    case Verification::kBuildId:
      return "build-id";
    case Verification::kUnverified:
      return "unverified";
    case Verification::kGiven:
      return "given";
  }
  return "unverified";
}

Json ImageJson(const ImageStatus& image) {
  Json json;
  json["path"] = image.path;
  json["file"] = TextOrNull(image.file);
  json["source"] = image.usable ? Json(Name(image.source)) : Json(nullptr);
  json["build_id"] = TextOrNull(image.recorded.ToHex());
  json["found_build_id"] = TextOrNull(image.found.ToHex());
  json["usable"] = image.usable;
  json["rejected"] = image.rejected;
  json["verification"] = VerificationWord(image);
  json["problem"] = TextOrNull(image.problem);
  json["looked_for"] = image.looked_for;
  return json;
}

Json TimesJson(const TimeAccount& account) {
  Json json = Json::object();
  for (const TimeClass kind : kAllTimeClasses) {
    const TimeShare& share = account.Of(kind);
    const double whole = account.lifetime() == 0 ? 1 : static_cast<double>(account.lifetime());
    json[Name(kind)] = {{"time", share.time},
                        {"time_lo", share.lo},
                        {"time_hi", share.hi},
                        {"percent", 100 * static_cast<double>(share.time) / whole}};
  }
  return json;
}

Json ThreadJson(const TimeAccount& account, const Threads& threads, const TraceUnit& unit) {
  Json json;
  json["tid"] = NumberOrNull(account.tid);
  json["pid"] = NumberOrNull(account.pid);
  json["comm"] = account.tid < 0 ? Json(nullptr)
                                 : TextOrNull(std::string(threads.CommAt(account.tid, 0).comm));
  json["stream"] = account.tid < 0 ? Json(account.stream->index) : Json(nullptr);
  json["instructions"] = account.instructions;
  json["bytes"] = account.bytes / unit.bytes;
  json["losses"] = account.losses;
  json["begin"] = account.begin;
  json["end"] = account.end;
  json["lifetime"] = account.lifetime();
  json["times"] = TimesJson(account);
  json["off_cpu_told"] = account.off_cpu_told;
  json["lost_by_cause"] = Json::object();
  for (const auto& [cause, time] : account.causes) json["lost_by_cause"][Name(cause)] = time;
  return json;
}

// An object whose members are written one by one, and its arrays' elements, too: a recording may
// have a hundred thousand threads, and a tree of them all would take a thousand times the memory of
// the printed text.
class ObjectWriter {
 public:
  explicit ObjectWriter(Output& output) : output_(output) { output_.Write("{"); }

  void Member(std::string_view key, const Json& value) {
    Key(key);
    Value(value, 2);
  }
  // `make` gives an element's value; an empty one is left out.
  template <class Range, class Make>
  void Array(std::string_view key, const Range& range, const Make& make) {
    Key(key);
    bool any = false;
    for (const auto& element : range) {
      const std::optional<Json> value = make(element);
      if (!value) continue;
      output_.Write(any ? ",\n    " : "[\n    ");
      Value(*value, 4);
      any = true;
    }
    output_.Write(any ? "\n  ]" : "[]");
  }
  void End() { output_.Write("\n}\n"); }

 private:
  void Key(std::string_view key) {
    output_.Write(any_ ? ",\n  " : "\n  ");
    output_.Write(Json(key).dump(-1, ' ', true, Json::error_handler_t::replace) + ": ");
    any_ = true;
  }
  // JSON's strings have no line ends of their own.
  void Value(const Json& value, size_t indent) {
    // ASCII alone: no character of a name rules the terminal (printable.h).
    const std::string text = value.dump(2, ' ', true, Json::error_handler_t::replace);
    std::string indented;
    for (const char c : text) {
      indented += c;
      if (c == '\n') indented.append(indent, ' ');
    }
    output_.Write(indented);
  }

  Output& output_;
  bool any_ = false;
};

// Writes the accounts of threads, or of trace of unknown threads.
void WriteThreads(const InfoReport& report, bool known, ObjectWriter& out) {
  out.Array(known ? "threads" : "nobody", report.times.threads,
            [&](const TimeAccount& account) -> std::optional<Json> {
              if ((account.tid >= 0) != known) return std::nullopt;
              return ThreadJson(account, report.opened->threads(), report.opened->source().Unit());
            });
}

Json PacketsJson(const InfoReport& report) {
  Json json = Json::object();
  const uint64_t unit = report.opened->source().Unit().bytes;
  for (const auto& [name, count] : report.packets)
    json[std::string(name)] = {{"count", count.count}, {"bytes", count.bytes / unit}};
  return json;
}

Json RegionJson(const NamedRegion& region) {
  return {{"name", region.name},
          {"begun", region.begun},
          {"ended", region.ended},
          {"total_ns", region.total_ns},
          {"longest_ns", region.longest_ns}};
}

}  // namespace

void PrintInfoJson(const InfoReport& report, Output& output) {
  const Recording& recording = report.opened->recording();
  ObjectWriter out(output);
  out.Member("schema", "flowback.info/1");
  out.Member("input", recording.path);
  out.Member("format", recording.format);
  out.Member("size", recording.file_size);
  out.Member("machine", MachineJson(recording));
  out.Member("recorder", TextOrNull(recording.machine.recorder));
  out.Member("command_line", TextOrNull(recording.machine.command_line));
  out.Member("emulated", recording.machine.emulated);
  out.Member("branch_trace", report.streams.empty()
                                 ? Json(nullptr)
                                 : Json(std::string(report.opened->source().Name())));
  const std::string never = NeverWatched(recording);
  out.Member("no_trace_because",
             TextOrNull(never.empty() ? std::string(report.opened->source().WhyNoFlow()) : never));
  const CallSamples* const calls = CallSamplesOf(recording.config);
  out.Member("call_samples", calls == nullptr ? size_t{0} : calls->samples.size());
  out.Member("from", WatchJson(recording.machine.from));
  out.Member("until", WatchJson(recording.machine.until));
  out.Member("options", OptionsJson(report.opened->source()));
  // The unit of all members called `bytes` that are about the trace.
  const TraceUnit unit = report.opened->source().Unit();
  out.Member("unit", std::string(unit.plural));
  out.Member("unit_bytes", unit.bytes);
  out.Member("time", DurationJson(report));
  WriteThreads(report, true, out);
  WriteThreads(report, false, out);
  size_t next_end = 0;
  out.Array("ends", recording.process_ends, [&](const ProcessEnd& end) -> std::optional<Json> {
    return EndJson(end, report.ends[next_end++]);
  });
  if (const std::vector<NamedRegion> regions = NamedRegions(recording); !regions.empty())
    out.Array("regions", regions,
              [](const NamedRegion& region) -> std::optional<Json> { return RegionJson(region); });
  out.Array("streams", report.streams,
            [&](const StreamInfo& info) -> std::optional<Json> { return StreamJson(info, unit); });
  out.Member("packets", PacketsJson(report));
  Json records = Json::object();
  for (const auto& [name, count] : recording.record_counts) records[name] = count;
  out.Member("records", records);
  if (const CountedEvents& counters = recording.counters; !counters.empty()) {
    out.Member("counters", CountersJson(counters));
    out.Array("thread_counters", counters.threads,
              [&](const ThreadCount& count) -> std::optional<Json> {
                return ThreadCountJson(counters, count);
              });
  }
  out.Member("losses", LossesJson(report.opened->losses(), unit));
  if (Json bundle = BundleJson(report); !bundle.is_null()) out.Member("bundle", bundle);
  if (report.stats) out.Member("decoding", EffortJson(report));
  out.Array("images", report.images,
            [](const ImageStatus& image) -> std::optional<Json> { return ImageJson(image); });
  out.Array("warnings", recording.warnings,
            [](const Warning& warning) -> std::optional<Json> { return warning.text; });
  // Remedies of the warnings, in their order.
  out.Array("remedies", recording.warnings,
            [](const Warning& warning) -> std::optional<Json> { return warning.remedy; });
  out.End();
}

}  // namespace flowback::cli
