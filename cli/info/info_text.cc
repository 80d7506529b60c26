// SPDX-License-Identifier: MIT
// `info` as text.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/recorded/call_samples.h"
#include "cli/info/info_bundle.h"
#include "cli/info/info_counters.h"
#include "cli/info/info_effort.h"
#include "cli/info/info_report.h"
#include "cli/reading/image_report.h"
#include "cli/reading/stream_report.h"
#include "replay/writers/text/printable.h"

namespace flowback::cli {
namespace {

void AppendField(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) out += fmt::format("{:<14}{}\n", fmt::format("{}:", name), Printable(value));
}

// Our recorder appends them to its name: "; unlike native: CALL by NAME (PID)".
void AppendUnlikeNative(std::string_view recorder, std::string& out) {
  constexpr std::string_view kMark = "; unlike native: ";
  for (size_t at = recorder.find(kMark); at != recorder.npos; at = recorder.find(kMark, at)) {
    at += kMark.size();
    AppendField(out, "not natively",
                fmt::format("{}: refused by the emulator; natively the flow may be another",
                            recorder.substr(at, recorder.find("; ", at) - at)));
  }
}

void AppendMachine(const InfoReport& report, std::string& out) {
  const Recording& recording = report.opened->recording();
  const MachineInfo& machine = recording.machine;
  AppendField(
      out, "input",
      fmt::format("{} ({}, {} bytes)", recording.path, recording.format, recording.file_size));
  AppendField(out, "host", machine.hostname);
  AppendField(out, "system",
              machine.os_release.empty()
                  ? machine.architecture
                  : fmt::format("{} {}", machine.os_release, machine.architecture));
  AppendField(out, "cpu", machine.cpu_description);
  const CpuId& cpu = machine.cpu;
  if (cpu.known())
    AppendField(out, "cpu id",
                fmt::format("{}{}/{}/{}", cpu.intel ? "" : "not Intel, ", cpu.family, cpu.model,
                            cpu.stepping));
  AppendField(out, "recorder", machine.recorder);
  AppendField(out, "command", machine.command_line);
  if (machine.emulated)
    AppendField(out, "emulated", "yes: the flow is exact, times are the emulation's");
  AppendUnlikeNative(machine.recorder, out);
}

// No branch trace, and yet of use.
void AppendCallSamples(const InfoReport& report, std::string& out) {
  const CallSamples* const calls = CallSamplesOf(report.opened->recording().config);
  if (calls == nullptr || calls->empty()) return;
  AppendField(
      out, "call samples",
      fmt::format("{}, which `flowback stack` shows, and `flowback export --to folded` adds up",
                  calls->samples.size()));
}

// How each process ended, the killed ones first.
void AppendEnds(const InfoReport& report, std::string& out) {
  const std::vector<ProcessEnd>& ends = report.opened->recording().process_ends;
  if (ends.empty()) return;
  out += "\nprocesses, how they ended\n";
  const size_t shown = ShownOf(ends.size());
  size_t lines = 0;
  for (const bool killed : {true, false})
    for (size_t i = 0; i < ends.size(); ++i)
      if (WasKilled(ends[i]) == killed && ++lines <= shown)
        out += Printable(fmt::format("{:>10} {:<15} {}", ends[i].pid, ends[i].comm,
                                     EndText(ends[i], report.ends[i]))) +
               '\n';
  if (shown < lines) out += fmt::format("{:>10} more\n", lines - shown);
}

// How many records of each kind there are, also of those that nothing is made of.
void AppendRecords(const InfoReport& report, std::string& out) {
  std::string words;
  for (const auto& [name, count] : report.opened->recording().record_counts)
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, name);
  AppendField(out, "records", words);
  AppendField(out, "kernel code", report.opened->recording().kcore_dir);
}

// What lacks nothing is no damage.
void AppendDamage(const InfoReport& report, std::string& out) {
  for (const Warning& warning : report.opened->recording().warnings) {
    AppendField(out, warning.remedy.empty() ? "remark" : "damage", warning.text);
    if (!warning.remedy.empty()) out += fmt::format("    try: {}\n", Printable(warning.remedy));
  }
}

void AppendTrace(const InfoReport& report, std::string& out) {
  std::string words;
  for (const TraceSetting& setting : report.opened->source().Settings())
    if (!setting.name.empty())
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", setting.name, setting.text);
  AppendField(out, "options", words);
  if (!report.span) return AppendField(out, "trace", "no time-stamps");
  const TimeSpan& span = *report.span;
  const std::string emulated = report.opened->clock().emulated() ? " (emulated)" : "";
  if (report.opened->clock().has_nanoseconds())
    AppendField(out, "trace",
                fmt::format("{} s, from {} to {}{}", SecondsText(span.end - span.begin),
                            SecondsText(span.begin), SecondsText(span.end), emulated));
  else
    AppendField(out, "trace",
                fmt::format("{} TSC ticks, from tsc:{} to tsc:{}{}", span.end - span.begin,
                            span.begin, span.end, emulated));
}

// A line of law 1's table.
struct StreamLine {
  uint64_t decoded = 0, padding = 0, lost = 0, size = 0, instructions = 0;

  void Add(const StreamInfo& info, const TraceUnit& unit) {
    decoded += info.summary.bytes_decoded;
    padding += info.summary.bytes_padding;
    lost += info.summary.bytes_lost;
    size += unit.In(*info.owner->stream);
    instructions += info.summary.digest.count;
  }
  void Append(std::string_view name, std::string_view tid, std::string_view cpu,
              std::string& out) const {
    out += fmt::format("{:>8} {:>8} {:>6} {:>12} {:>12} {:>12} {:>12} {:>14}\n", name, tid, cpu,
                       decoded, padding, lost, size, instructions);
  }
};

// In the recording's order where all are shown.
std::vector<const StreamInfo*> LargestFirst(const std::vector<StreamInfo>& streams, size_t shown) {
  std::vector<const StreamInfo*> sorted;
  for (const StreamInfo& info : streams) sorted.push_back(&info);
  if (shown == sorted.size()) return sorted;
  std::ranges::stable_sort(sorted, std::greater(), [](const StreamInfo* info) {
    return info->owner->stream->bytes.size();
  });
  return sorted;
}

// Law 1, stream by stream: what was decoded, padding and loss are all there is.
void AppendStreams(const InfoReport& report, std::string& out) {
  const TraceUnit unit = report.opened->source().Unit();
  out += fmt::format("\nstreams, in {}: decoded + padding + lost = size\n", unit.plural);
  out += fmt::format("{:>8} {:>8} {:>6} {:>12} {:>12} {:>12} {:>12} {:>14}\n", "stream", "tid",
                     "cpu", "decoded", "padding", "lost", "size", "instructions");
  const size_t shown = ShownOf(report.streams.size());
  const std::vector<const StreamInfo*> streams = LargestFirst(report.streams, shown);
  StreamLine rest, all;
  for (size_t i = 0; i < streams.size(); ++i) {
    const StreamInfo& info = *streams[i];
    all.Add(info, unit);
    StreamLine line;
    line.Add(info, unit);
    if (i < shown)
      line.Append(std::to_string(info.owner->stream->index), NumberOrDash(info.owner->tid),
                  NumberOrDash(info.owner->stream->cpu), out);
    else
      rest.Add(info, unit);
  }
  if (shown < streams.size())
    rest.Append(fmt::format("{} more", streams.size() - shown), "", "", out);
  all.Append("all", "", "", out);
  if (report.opened->losses().missing_bytes() != 0)
    out +=
        fmt::format("  missing from the file: {} bytes\n", report.opened->losses().missing_bytes());
}

void AppendPackets(const InfoReport& report, std::string& out) {
  out += "\npackets        count        bytes\n";
  for (const auto& [name, count] : report.packets)
    out += fmt::format("  {:<9} {:>8} {:>12}\n", name, count.count, count.bytes);
}

void AppendLosses(const InfoReport& report, std::string& out) {
  if (!report.opened->losses().any()) {
    out += "\nlosses: none\n";
    return;
  }
  out += fmt::format("\nlosses         count        bytes {:>14}\n",
                     report.times.nanoseconds ? "ns" : "ticks");
  for (const LossCause cause : kAllLossCauses) {
    const LossTally::Sum& sum = report.opened->losses().Of(cause);
    if (!sum.any()) continue;
    const bool counted = sum.count != 0;
    out += fmt::format("            {:>8} {:>12} {:>14}  {}\n",
                       counted ? std::to_string(sum.count) : "-",
                       counted ? std::to_string(sum.bytes) : "-", sum.time, Name(cause));
    out += fmt::format("    try: {}\n", Remedy(cause));
  }
}

void AppendImages(const InfoReport& report, std::string& out) {
  if (report.images.empty()) return;
  out += "\nimages\n";
  for (const ImageStatus& image : report.images) {
    const auto line = [&](const char* indent, const std::string& text) {
      out += indent + Printable(text) + '\n';
    };
    line("  ", image.path);
    if (!image.recorded.empty()) out += fmt::format("    build-id {}\n", image.recorded.ToHex());
    if (image.usable && (image.source != CodeSource::kFile || image.file != image.path))
      line("    ", fmt::format("read from {} ({})", image.file, Name(image.source)));
    line("    ", ImageVerdict(image));
    for (const std::string& place : image.looked_for) line("      ", place);
    if (image.usable && !image.problem.empty()) line("    ", image.problem);
  }
}

}  // namespace

void PrintInfoText(const InfoReport& report, Output& output) {
  std::string& out = output.buffer();
  AppendMachine(report, out);
  if (const std::string why = NeverWatched(report.opened->recording()); !why.empty()) {
    AppendField(out, "branch trace", "none: " + why);
    out += fmt::format("  try: {}\n", kSpanRemedy);
  } else if (const std::string_view none = report.opened->source().WhyNoFlow(); !none.empty()) {
    AppendField(out, "branch trace", fmt::format("none: {}", none));
    for (const TraceSetting& setting : report.opened->source().Settings())
      if (!setting.name.empty())
        AppendField(out, std::string(setting.name.substr(0, setting.name.find(':'))), setting.text);
  } else if (report.streams.empty()) {
    AppendField(out, "branch trace", "none in this recording");
    out +=
        "  try: record with `flowback record -- CMD`, or `perf record -e intel_pt//u -- CMD`\n"
        "  on a machine with Intel PT (`flowback doctor` checks)\n";
  } else {
    AppendTrace(report, out);
  }
  AppendCallSamples(report, out);
  AppendRecords(report, out);
  AppendDamage(report, out);
  AppendThreads(report, out);
  AppendCounters(report.opened->recording().counters, report.opened->threads(), out);
  AppendRegions(report.opened->recording(), out);
  AppendEnds(report, out);
  if (!report.streams.empty()) {
    AppendStreams(report, out);
    AppendPackets(report, out);
    AppendLosses(report, out);
    if (report.stats) AppendEffort(report, out);
  }
  AppendImages(report, out);
  AppendBundle(report, out);
  output.Commit();
}

}  // namespace flowback::cli
