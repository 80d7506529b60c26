// SPDX-License-Identifier: MIT
#include "cli/branches/prepare.h"

#include "capture/formats/input/samples.h"
#include "cli/reading/stream_report.h"
#include "replay/session/access_totals.h"

namespace flowback::cli {

Status PrepareBranches(OpenedRecording& opened) {
  if (Status status = opened.OpenTrace(); !status) return status;
  if (Status status = opened.OpenCode(); !status) return status;
  opened.PrepareStreams(false);
  if (Status status = opened.ChooseThreads(); !status) return status;
  WarnOfSharedStreams(opened.recording(), opened.threads(), opened.InputName());
  return {};
}

Status PrepareAccesses(OpenedRecording& opened) {
  const bool has_samples = HasAccessSamples(opened.recording());
  if (const Status trace = CheckHasTrace(opened.recording()); !trace) {
    if (trace.error().code() == ErrorCode::kUnreadable) return trace;
    if (!has_samples) return Fail(NoAccesses(opened.recording(), {}));
    if (Status status = opened.OpenSource(); !status) return status;
    return opened.LoadCode();
  }
  if (Status status = opened.OpenTrace(); !status) return status;
  if (Status status = opened.OpenCode(); !status) return status;
  opened.PrepareStreams(false);
  if (has_samples) {
    opened.SelectThreads();
    return {};
  }
  return opened.ChooseThreads();
}

}  // namespace flowback::cli
