// SPDX-License-Identifier: MIT
// `info` as one JSON object.
#include <nlohmann/json.hpp>

#include "cli/info_effort.h"
#include "cli/info_report.h"
#include "cli/stream_report.h"

namespace flowback::cli {
namespace {

using Json = nlohmann::ordered_json;

Json NumberOrNull(int32_t value) { return value < 0 ? Json(nullptr) : Json(value); }
Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

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

Json OptionsJson(const PtConfig& config) {
  Json json;
  const CpuId& cpu = config.cpu;
  json["cpu_family"] = cpu.known() ? Json(cpu.family) : Json(nullptr);
  json["cpu_model"] = cpu.known() ? Json(cpu.model) : Json(nullptr);
  json["cpu_stepping"] = cpu.known() ? Json(cpu.stepping) : Json(nullptr);
  json["return_compression"] =
      config.return_compression ? Json(*config.return_compression) : Json(nullptr);
  json["address_filter"] = config.address_filter;
  json["mtc_shift"] = config.mtc_shift && !config.mtc_off ? Json(*config.mtc_shift) : Json(nullptr);
  json["tsc_ctc_numerator"] = config.tsc_ctc_numerator;
  json["tsc_ctc_denominator"] = config.tsc_ctc_denominator;
  json["nominal_ratio"] = config.nominal_ratio;
  return json;
}

Json DurationJson(const InfoReport& report) {
  Json json;
  json["unit"] = report.clock->has_nanoseconds() ? "ns" : "tsc";
  json["begin"] = report.span ? Json(report.span->begin) : Json(nullptr);
  json["end"] = report.span ? Json(report.span->end) : Json(nullptr);
  json["emulated"] = report.clock->emulated();
  return json;
}

Json SpanJson(const std::vector<SpanPlace>& places) {
  Json json = Json::array();
  for (const SpanPlace& place : places)
    json.push_back({{"function", place.function},
                    {"file", TextOrNull(place.file)},
                    {"offset", place.file.empty() ? Json(nullptr) : Json(place.offset)}});
  return json;
}

Json StreamJson(const StreamInfo& info) {
  const Stream& stream = *info.owner->stream;
  Json json;
  json["stream"] = stream.index;
  json["label"] = info.owner->label;
  json["cpu"] = NumberOrNull(stream.cpu);
  json["pid"] = NumberOrNull(info.owner->pid);
  json["tid"] = NumberOrNull(info.owner->tid);
  json["bytes"] = stream.bytes.size();
  json["bytes_decoded"] = info.summary.bytes_decoded;
  json["bytes_padding"] = info.summary.bytes_padding;
  json["bytes_lost"] = info.summary.bytes_lost;
  json["instructions"] = info.summary.digest.count;
  json["gaps"] = stream.gaps.size();
  json["bytes_repeated"] = stream.repeated_bytes;
  json["bytes_missing"] = stream.missing_bytes;
  return json;
}

Json LossesJson(const LossTally& losses) {
  Json json = Json::array();
  for (const LossCause cause : kAllLossCauses) {
    const LossTally::Sum& sum = losses.Of(cause);
    if (!sum.any()) continue;
    json.push_back({{"cause", Name(cause)},
                    {"count", sum.count},
                    {"bytes", sum.bytes},
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

Json ThreadJson(const TimeAccount& account, const Threads& threads) {
  Json json;
  json["tid"] = NumberOrNull(account.tid);
  json["pid"] = NumberOrNull(account.pid);
  json["comm"] = account.tid < 0 ? Json(nullptr)
                                 : TextOrNull(std::string(threads.CommAt(account.tid, 0).comm));
  json["stream"] = account.tid < 0 ? Json(account.stream->index) : Json(nullptr);
  json["instructions"] = account.instructions;
  json["bytes"] = account.bytes;
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

// Threads, or what is nobody's.
Json ThreadsJson(const InfoReport& report, bool known) {
  Json json = Json::array();
  for (const TimeAccount& account : report.times.threads)
    if ((account.tid >= 0) == known) json.push_back(ThreadJson(account, *report.threads));
  return json;
}

}  // namespace

void PrintInfoJson(const InfoReport& report, Output& output) {
  const Recording& recording = *report.recording;
  Json json;
  json["schema"] = "flowback.info/1";
  json["input"] = recording.path;
  json["format"] = recording.format;
  json["size"] = recording.file_size;
  json["machine"] = MachineJson(recording);
  json["recorder"] = TextOrNull(recording.machine.recorder);
  json["command_line"] = TextOrNull(recording.machine.command_line);
  json["emulated"] = recording.machine.emulated;
  json["branch_trace"] = report.streams.empty() ? Json(nullptr) : Json("Intel PT");
  json["no_trace_because"] = TextOrNull(NeverInSpan(recording));
  json["from"] = SpanJson(recording.machine.from);
  json["until"] = SpanJson(recording.machine.until);
  json["options"] = OptionsJson(recording.pt);
  json["time"] = DurationJson(report);
  json["threads"] = ThreadsJson(report, true);
  json["nobody"] = ThreadsJson(report, false);
  json["streams"] = Json::array();
  for (const StreamInfo& info : report.streams) json["streams"].push_back(StreamJson(info));
  json["packets"] = Json::object();
  for (const auto& [name, count] : report.packets)
    json["packets"][std::string(name)] = {{"count", count.count}, {"bytes", count.bytes}};
  json["records"] = Json::object();
  for (const auto& [name, count] : recording.record_counts) json["records"][name] = count;
  json["losses"] = LossesJson(report.losses);
  if (report.stats) json["decoding"] = EffortJson(report);
  json["images"] = Json::array();
  for (const ImageStatus& image : report.images) json["images"].push_back(ImageJson(image));
  json["warnings"] = Json::array();
  json["remedies"] = Json::array();  // of the warnings, in their order
  for (const Warning& warning : recording.warnings) {
    json["warnings"].push_back(warning.text);
    json["remedies"].push_back(warning.remedy);
  }
  // ASCII alone: no character of a name rules the terminal (printable.h).
  output.Write(json.dump(2, ' ', true, Json::error_handler_t::replace) + '\n');
}

}  // namespace flowback::cli
