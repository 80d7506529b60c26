// SPDX-License-Identifier: MIT
#include "replay/session/has_trace.h"

#include <algorithm>

namespace flowback {
namespace {

bool HasTrace(const Recording& recording) {
  return std::ranges::any_of(recording.streams,
                             [](const Stream& stream) { return !stream.bytes.empty(); });
}

}  // namespace

std::string NeverWatched(const Recording& recording) {
  const MachineInfo& machine = recording.machine;
  if (HasTrace(recording) || (machine.from.empty() && machine.until.empty())) return {};
  if (machine.from.empty())
    return "'" + machine.until.front().function + "' (--until) was reached before anything else";
  return "'" + machine.from.front().function + "' (--from) was never reached";
}

Status CheckHasTrace(const Recording& recording) {
  if (HasTrace(recording)) return {};
  if (recording.refusal) return Fail(*recording.refusal);
  const auto cut = std::ranges::find_if(recording.warnings, [](const Warning& warning) {
    return warning.text.contains("cut at offset") ||
           warning.text.contains("is cut by the file's end");
  });
  if (cut != recording.warnings.end())
    return Fail(Error(ErrorCode::kUnreadable,
                      recording.path +
                          ": the file is cut before its branch trace, if it had one: " + cut->text)
                    .Remedy("copy the whole file again, or record again"));
  if (const std::string why = NeverWatched(recording); !why.empty())
    return Fail(Error(ErrorCode::kUnsupported, recording.path + ": nothing was recorded: " + why)
                    .Remedy(kSpanRemedy));
  Error error(ErrorCode::kUnsupported, recording.path + ": no branch trace in this recording");
  return Fail(error.Remedy(
      "record one with `flowback record -- CMD`, or `perf record -e intel_pt//u -- CMD` on a "
      "machine with Intel PT (`flowback doctor` checks)"));
}

}  // namespace flowback
