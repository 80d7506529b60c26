// SPDX-License-Identifier: MIT
#include "cli/record/decoded_check.h"

#include "cli/reading/losses.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"

namespace flowback::cli {

std::optional<DecodedCheck> CheckDecoded(const RecordSummary& summary,
                                         const RecordOptions& options) {
  const bool whole = !summary.failure && summary.overwritten_bytes == 0 && summary.files <= 1;
  if (summary.events || !whole || options.files.pipe >= 0 || !options.files.raw_directory.empty())
    return std::nullopt;
  OpenOptions open;
  open.input = options.files.output;
  const Result<Recording> recording = OpenRecording(open);
  if (!recording || !OpenSource(*recording)) return std::nullopt;
  const auto code = RecordingCode::Load(*recording, {});
  if (!code) return std::nullopt;
  StreamInputs inputs(*recording, *code, Resync::kEarliest);
  DecodedCheck check;
  for (const Stream& stream : recording->streams) {
    const auto decoder = inputs.source().MakeDecoder("");
    if (!decoder) return std::nullopt;
    const auto flow = (*decoder)->Summarize(inputs.For(stream));
    if (!flow) return std::nullopt;
    check.instructions += flow->digest.count;
    if (check.first_loss.empty() && !flow->losses.empty())
      check.first_loss = LossText(flow->losses.front());
  }
  return check;
}

}  // namespace flowback::cli
