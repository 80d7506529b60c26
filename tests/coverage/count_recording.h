// SPDX-License-Identifier: MIT
// Counts a whole recording, with the library alone.
#pragma once

#include "flowback/capture/open.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/threads.h"

namespace flowback::testing {

// Throws if the recording cannot be opened or counted.
inline CoverageCounts CountRecording(const OpenOptions& options, const ImageSearch& search,
                                     Resync resync) {
  const Result<Recording> recording = OpenRecording(options);
  const Result<RecordingCode> code = RecordingCode::Load(recording.value(), search);
  const StreamInputs inputs(*recording, code.value(), resync);
  Threads threads(*recording);
  threads.GroupByThread(*recording, inputs);
  return CountCoverage(
             {.recording = *recording,
              .code = *code,
              .flow = {.inputs = inputs, .make_decoder = [] { return MakeDecoder("native"); }},
              .owners = threads.owners(),
              .check = {},
              .on_loss = {}})
      .value();
}

}  // namespace flowback::testing
