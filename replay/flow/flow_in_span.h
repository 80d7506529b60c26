// SPDX-License-Identifier: MIT
// Only what happened in a span of time: which part of the streams to decode, and what to keep of
// the flow in it.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"
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

// The part of a flow that lies in a span. It leaves out elements without a time, but not losses.
// With SpanNeeds::context it contains also everything before the span and the first block after it.
// Decoding ends after the span, so the byte account covers only a part.
//
// Decoders on several threads share it, so it stays where it is.
class FlowInSpan {
 public:
  // Everything that `whole` refers to, and `clock`, must outlive the span's flow.
  FlowInSpan(FlowSource whole, const SpanNeeds& needs, const RecordingClock& clock)
      : whole_(std::move(whole)), needs_(needs), clock_(clock) {}
  FlowInSpan(const FlowInSpan&) = delete;
  FlowInSpan& operator=(const FlowInSpan&) = delete;

  // From now on leaves out the parts of the streams that cannot lie in the span. `inputs` are those
  // of the flow; they begin where the span can begin.
  void SkipRest(StreamInputs& inputs, const Recording& recording);
  // Returns what decodes the span; valid as long as this object.
  FlowSource Source();
  TimeSpan span() const { return needs_.span; }
  // Returns whether anything that was decoded until now lay in the span.
  bool found_any() const { return found_.load(std::memory_order_relaxed); }

 private:
  bool Reaches(const FlowPiece& piece) const;

  FlowSource whole_;
  const SpanNeeds needs_;
  const RecordingClock& clock_;
  std::vector<StreamRange> ranges_;  // by stream; empty: nothing is left out
  std::atomic<bool> found_ = false;
};

}  // namespace flowback
