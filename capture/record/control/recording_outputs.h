// SPDX-License-Identifier: MIT
// Where the trace that our own engines make goes: files, as the options want them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/record/control/record_session.h"
#include "capture/record/generate/trace_clock.h"
#include "capture/record/output/image_keeper.h"
#include "capture/record/output/metered_sink.h"

namespace flowback::record {

struct Outputs {
  ImageKeeper* keeper = nullptr;  // one of the sinks; null: no images are kept
  std::unique_ptr<RecordingSink> sinks;
  std::unique_ptr<MeteredSink> metered;
  std::vector<std::string> notes;
  bool only_of_crash = false;  // nothing is kept unless the command died of a signal
};

// An older recording is kept as OUTPUT.old. All arguments must outlive the outputs.
Result<Outputs> OpenOutputs(const RecordOptions& options, const TraceClock& clock,
                            RecordSession& session);

// Completes the outputs, if stopping did not, and the summary.
Result<RecordSummary> Finished(Result<RecordSummary> summary, Outputs& outputs,
                               const RecordSession& session);

}  // namespace flowback::record
