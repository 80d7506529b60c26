// SPDX-License-Identifier: MIT
// A recording's flow in segments of which any can be decoded by itself.
//
// One pass over each stream keeps the decoder's state at the beginning of every segment, and notes
// which threads' flow lies in it. A segment is made again from its state when it is wanted.
//
//   stream    |--- segment ---|--- segment ---|--- segment ---|     of some 64 KB
//   states    *               *               *
//   thread A  [-----]     [---|------]                [-------]     three stays, four shares
//
// What one stay of a thread has in one segment is a share. A thread's shares, in program order over
// all streams, are its flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/flow_segment.h"
#include "flowback/replay/thread_flow.h"

namespace flowback {

// The flow of one stay in one segment.
struct FlowShare {
  const Stream* stream = nullptr;
  const ThreadStay* stay = nullptr;  // as FlowPiece::stay
  uint32_t segment = 0;              // of the stream
  uint64_t first = 0;                // instructions of the thread before it
  uint64_t instructions = 0;
  uint64_t events = 0;
  uint64_t losses = 0;
  uint64_t unknown = 0;    // places between which it is unknown what executed
  uint64_t first_tsc = 0;  // of what it has, the first and the last time known; 0: none is
  uint64_t last_tsc = 0;
};

struct IndexedThread {
  int32_t pid = -1;
  int32_t tid = -1;               // as ThreadFlow::tid
  std::vector<FlowShare> shares;  // in program order; none of them is empty
  uint64_t instructions = 0;
};

// A stream and how it is decoded.
struct IndexedStream {
  const Stream* stream = nullptr;
  const DecodeInput* input = nullptr;
};

// Belongs to one thread.
class FlowIndex {
 public:
  struct Options {
    bool times = true;  // DecodeInput::times
    // Of a segment, in bytes of the stream. More where there would be more than kMostSegments.
    uint64_t segment_bytes = kSegmentBytes;
  };
  static constexpr uint64_t kSegmentBytes = uint64_t{64} << 10;
  static constexpr uint64_t kMostSegments = 8192;

  // Decodes all streams once. The arguments must outlive the result. Errors: as Decoder::Read.
  static Result<FlowIndex> Build(const Recording& recording, const StreamInputs& inputs,
                                 Decoder& decoder, const Options& options);
  // The same for some streams, and for the flows that their pieces make up.
  static Result<FlowIndex> Build(const std::vector<IndexedStream>& streams,
                                 const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                 const Options& options);
  FlowIndex(FlowIndex&&) noexcept;
  FlowIndex& operator=(FlowIndex&&) noexcept;
  ~FlowIndex();

  // In the order of the flows.
  const std::vector<IndexedThread>& threads() const;
  // Decodes the share's flow into the segment, which becomes valid as long as the index and the
  // decoder.
  void Load(const FlowShare& share, FlowSegment& segment);
  size_t segments() const;

 private:
  class Impl;
  explicit FlowIndex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
