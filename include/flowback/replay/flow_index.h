// SPDX-License-Identifier: MIT
// A recording's flow in segments, each of which can be decoded by itself.
//
// One pass over each stream keeps the decoder's state at the beginning of every segment, and notes
// which threads' flow lies in it and which code was executed. A segment is made again from its
// state when it is wanted.
//
//   stream    |--- segment ---|--- segment ---|--- segment ---|     of some 128 KB
//   states    *               *               *
//   filters   [         stretch               ][   stretch                of 1 to 16 segments
//   thread A  [-----]     [---|------]                [-------]     three stays, four shares
//
// A share is the part of one stay of a thread in one segment. A thread's shares, in program order
// over all streams, are its flow.
//
// What the pass learned takes up to a hundredth of the trace's size. It can be kept in a folder, so
// that no later command needs the pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/flow_segment.h"
#include "flowback/replay/threads.h"

namespace flowback {

class CallJudge;  // decode/call_change.h

// The flow of one stay in one segment.
struct FlowShare {
  const Stream* stream = nullptr;
  const ThreadStay* stay = nullptr;  // as FlowPiece::stay
  uint32_t segment = 0;              // of the stream
  uint64_t first = 0;                // instructions of the thread before it
  uint64_t instructions = 0;
  uint64_t events = 0;
  uint64_t losses = 0;
  uint64_t first_tsc = 0;  // the first and the last time known in it; 0: unknown
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

// A block of code, and about how many instructions executed in it: one block in
// FlowIndex::Options::sample was counted.
struct HotBlock {
  const AddressSpace* space = nullptr;
  uint64_t address = 0;  // of the block
  uint64_t instructions = 0;
};

// Where indexes are kept: a cache of the user's own, as ImageSearch::cache is, under the same rules
// (docs/explanation/speed.md). An index there counts if it is whole, of this build of the program,
// and of the same recording, code and options. If it cannot be read or written, that is no error.
struct IndexCache {
  std::string folder;  // empty: none is kept
  uint64_t most_bytes = uint64_t{256} << 20;
  // An index is written where the first pass took longer.
  unsigned worth_milliseconds = 250;
  // Its name there. Empty: FlowIndex::Open makes it of all that decides about the index.
  std::string key = {};
};

// Receives the events and losses of a first pass.
class IndexListener {
 public:
  virtual ~IndexListener() = default;
  // The streams come one behind the other. The returned consumer receives the stream's events and
  // losses with their times, and nothing else. Null: not wanted.
  virtual ExecutionConsumer* OnStreamBegin(const Stream& stream) = 0;
  virtual void OnStreamEnd(const Stream& stream) = 0;
};

// Belongs to one thread.
class FlowIndex {
 public:
  struct Options {
    bool times = true;  // DecodeInput::times
    // Size of a segment, in bytes of the stream. More where there would be more than kMostSegments,
    // or four times as many with `steps`.
    uint64_t segment_bytes = kSegmentBytes;
    // One block in this number is counted for the profiles. (A prime number by default: loops whose
    // blocks come round at that pace are rare.)
    unsigned sample = 17;
    // If not null, the first pass also finds out what the flow does to call stacks, which makes the
    // first stack a short wait (replay/calls/kept_stacks.h). It must outlive the pass.
    CallJudge* calls = nullptr;
    // The pass also notes which blocks executed in each segment (replay/flow/segment_steps.h). An
    // index from the cache does not have them.
    bool steps = false;
  };
  static constexpr uint64_t kSegmentBytes = uint64_t{128} << 10;
  static constexpr uint64_t kMostSegments = 8192;

  // Decodes all streams once. The arguments must outlive the result. Errors: as Decoder::Read.
  static Result<FlowIndex> Build(const Recording& recording, const StreamInputs& inputs,
                                 Decoder& decoder, const Options& options);
  // The same for some streams, and for the flows that their pieces make up.
  static Result<FlowIndex> Build(const std::vector<IndexedStream>& streams,
                                 const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                 const Options& options);
  // Loads the index from the cache, or makes it and stores it there. `listener` may be null; it is
  // not called if the index comes from the cache.
  static Result<FlowIndex> Open(const Recording& recording, const RecordingCode& code,
                                const StreamInputs& inputs, Decoder& decoder,
                                const Options& options, const IndexCache& cache,
                                IndexListener* listener = nullptr);
  // REQUIRES: the cache's key is not empty, and differs if any argument differs.
  static Result<FlowIndex> Open(const std::vector<IndexedStream>& streams,
                                const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                const Options& options, const IndexCache& cache,
                                IndexListener* listener = nullptr);
  FlowIndex(FlowIndex&&) noexcept;
  FlowIndex& operator=(FlowIndex&&) noexcept;
  ~FlowIndex();

  // In the order of the flows.
  const std::vector<IndexedThread>& threads() const;
  // Decodes the share's flow into the segment, which becomes valid as long as the index and the
  // decoder. It is never empty. If the code differs from the first pass's code, the segment may
  // differ from what the share says.
  void Load(const FlowShare& share, FlowSegment& segment);
  // Decodes the same for `consumer`, which need not hear all of it: once it is done, decoding ends.
  void Play(const FlowShare& share, ExecutionConsumer& consumer);
  // False: no instruction at `address` executed in the share. Its decoding can be saved then.
  bool MayExecute(const FlowShare& share, uint64_t address) const;

  // Where most instructions executed, the hottest block first; together about 19 of 20 of them.
  const std::vector<HotBlock>& profile() const;
  // Returns the profile of the stretch that the share lies in: its 16 hottest blocks.
  std::vector<HotBlock> ProfileOf(const FlowShare& share) const;

  // The number of that stretch, in its stream.
  uint32_t StretchOf(const FlowShare& share) const;

  size_t segments() const;
  // No stream was decoded for it.
  bool from_cache() const;
  // Bytes that it takes in the cache; 0: it can't be kept.
  size_t file_bytes() const;

 private:
  friend class IndexSpaces;  // replay/flow/index_spaces.h
  friend class IndexCalls;   // replay/flow/share_calls.h
  friend class IndexSteps;   // replay/flow/segment_steps.h
  class Impl;
  explicit FlowIndex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
