// SPDX-License-Identifier: MIT
#include "cli/reading/stream_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "cli/text/status.h"

namespace flowback::cli {

Status CheckNoSamples(const Recording& recording, const TraceSource& source,
                      std::string_view command) {
  if (!source.samples()) return {};
  return Fail(
      Error(ErrorCode::kUnsupported, fmt::format("{}: holds {}, which are samples: calls between "
                                                 "two of them are unknown, so {} cannot be known",
                                                 recording.path, source.Name(), command))
          .Remedy("`flowback decode --as branches` shows the samples, `flowback timeline` where "
                  "threads stood, `flowback coverage` what ran in them; samples with a callchain "
                  "(`perf record -b -g`) or the hardware's stack "
                  "of calls (`--call-graph lbr`) show some calls; for all of them record with "
                  "`flowback record -- CMD`"));
}

void WarnOfDamage(const Recording& recording) {
  for (const Warning& warning : recording.warnings) {
    const bool named = warning.text.contains(recording.path);
    Warn((named ? "" : recording.path + ": ") + warning.text, {warning.remedy});
  }
}

void WarnOfCache(const RecordingCode& code) {
  if (const std::optional<Error> refusal = code.CacheRefusal())
    Warn(refusal->message(), {refusal->remedy()});
}

void WarnOfModes(const RecordingCode& code, const std::string& file) {
  for (const ModeConflict& conflict : code.ModeConflicts())
    Warn(
        fmt::format("{}: trace says {}-bit code, {} is a {}-bit image: its instructions were read "
                    "as {}-bit ones",
                    file, conflict.mode_bits, conflict.file, conflict.elf_bits, conflict.mode_bits),
        {"give the file that ran with --image; this is right only for a program that switches "
         "modes itself"});
}

// An emulating recorder sees one thread at a time, and LLDB's bundles are by thread or name the
// threads.
std::string_view SwitchRemedy(const Recording& recording) {
  if (recording.machine.emulated || recording.format.starts_with("LLDB")) return "";
  return "record with --switch-events";
}

void WarnOfSharedStreams(const Recording& recording, const Threads& threads,
                         const std::string& file) {
  std::string names;
  for (const StreamOwner& owner : threads.owners())
    if (owner.shared && !owner.stream->bytes.empty())
      names += (names.empty() ? "" : ", ") + owner.label;
  if (names.empty()) return;
  const bool switches = std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
    return std::holds_alternative<SwitchRecord>(record);
  });
  const std::string where = fmt::format("{}: {}: ", file, names);
  if (switches)
    return Warn(
        where +
            "the records of thread switches are missing there in part, or contradict each other "
            "or the trace: trace of unknown threads is shown per CPU",
        {"a larger buffer for the records (-m PAGES); --by-cpu shows the CPU's whole trace"});
  const std::string_view remedy = SwitchRemedy(recording);
  Warn(where + "the recording does not contain which threads ran there; shown per CPU",
       {remedy.empty() ? "" : fmt::format("perf: {}, or --per-thread", remedy)});
}

}  // namespace flowback::cli
