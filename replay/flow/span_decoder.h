// SPDX-License-Identifier: MIT
// Only what happened in a span of time: which part of the streams to decode, and what to keep of
// the flow in it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/threads.h"

namespace flowback {

// What a listing of a span needs.
struct SpanNeeds {
  TimeSpan span;
  // What ran ahead of the span, too: whose callers are wanted, for example. The listing chooses the
  // lines then.
  bool context = false;
};

// Passes on the items of `decoder` whose time lies in the span; what has no time is left out, but
// for losses. With its context also what comes before, and the first that lies behind. Decoding
// ends behind the span, so the byte account is that of a part only. `clock` and `found`, which
// becomes true with the first item in the span, must outlive the result; decoders on several
// threads may share them.
std::unique_ptr<Decoder> MakeSpanDecoder(std::unique_ptr<Decoder> decoder, const SpanNeeds& needs,
                                         const RecordingClock& clock, std::atomic<bool>& found);

// What of each stream can lie in the span, so that nothing else need be decoded.
class SpanRanges {
 public:
  // Makes the inputs begin there. They are the recording's.
  SpanRanges(StreamInputs& inputs, const Recording& recording, const SpanNeeds& needs,
             const RecordingClock& clock);

  bool Reaches(const FlowPiece& piece) const {
    const StreamRange& range = of_stream_[piece.stream->index];
    return piece.end > range.begin && piece.begin < range.end;
  }

 private:
  std::vector<StreamRange> of_stream_;
};

}  // namespace flowback
