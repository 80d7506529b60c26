// SPDX-License-Identifier: MIT
// The threads of a recording: their names, and each thread's flow in program order, over all CPUs
// that it ran on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"

namespace flowback {

// A part of a stream: one stay of a thread on a CPU.
struct FlowPiece {
  const Stream* stream = nullptr;
  const ThreadStay* stay = nullptr;
  uint64_t begin = 0;  // stream offsets, half-open
  uint64_t end = 0;
};

// All of a stream is the piece: it need not be looked for in the stream's flow.
inline bool IsWholeStream(const FlowPiece& piece) {
  return piece.begin == 0 && piece.end == piece.stream->bytes.size();
}

struct ThreadFlow {
  int32_t pid = -1;
  int32_t tid = -1;               // -1: what can't be given to any thread, of one stream
  std::vector<FlowPiece> pieces;  // in program order
};

// By tid; unattributed flow last, by stream. Every byte of every stream is in one piece.
std::vector<ThreadFlow> ThreadFlows(const Recording& recording, const StreamInputs& inputs);

// Returns where decoding of the piece begins: the last sync point before it from which decoding
// gives the same flow as the whole stream does, or 0.
uint64_t DecodeFrom(const FlowPiece& piece, const TraceSource& source);

// Decodes one piece, from DecodeFrom, or from the input's `from` where that is later. Flow before
// the piece is not delivered; a loss is delivered with the piece in which it begins. The result
// equals the stay's part of a decode of the whole stream. Errors: as Decoder::Decode.
Status DecodePiece(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder,
                   ExecutionConsumer& consumer);
// The same; `whole` is the piece's stream's input.
Status DecodePiece(const FlowPiece& piece, const DecodeInput& whole, const TraceSource& source,
                   Decoder& decoder, ExecutionConsumer& consumer);

// A piece's flow, to be read in segments, which together equal DecodePiece's result.
struct PieceReader {
  std::unique_ptr<DecodeInput> input;
  std::unique_ptr<FlowReader> flow;
};

// Both must outlive the result. A state of its reader may also be given to another reader of the
// same piece by the same decoder. Errors: as Decoder::Read.
Result<PieceReader> ReadPiece(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder);

// The input of every analysis of flow: how streams are decoded, by which decoders, and which part.
struct FlowSource {
  const StreamInputs& inputs;
  // Makes a decoder for each thread that decodes. Any thread may call it.
  std::function<Result<std::unique_ptr<Decoder>>()> make_decoder;
  // Returns whether a piece is decoded at all. Any thread may call it. Empty: every piece is.
  std::function<bool(const FlowPiece& piece)> piece_filter{};
};

// An entry of a listing: a thread with its pieces of streams, or a stream. A whole stream is one
// piece, without a stay. `tid` -1: not known, or several threads.
struct StreamOwner : ThreadFlow {
  const Stream* stream = nullptr;  // the (first) one
  // A per-CPU buffer whose threads are unknown.
  bool shared = false;
  std::string label{};  // "4661", "cpu1", or the number of a stream, "0"
};

// Their flows, to be played. As long as the owners live.
std::vector<const ThreadFlow*> FlowsOf(const std::vector<StreamOwner>& owners);

// A thread's name, and from when to when it has it (half-open).
struct CommSpan {
  std::string_view comm;  // "" when not known
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Holds(uint64_t time) const { return time >= begin && time < end; }
};

// Which of them are wanted; an empty list: all.
struct ThreadSelection {
  std::vector<int32_t> tids;
  std::vector<std::string> names;  // that a thread had at any time
  std::vector<int32_t> cpus;       // on which its pieces ran

  bool IsAll() const { return tids.empty() && names.empty() && cpus.empty(); }
};

// The values by which threads can be selected.
struct ThreadChoices {
  std::set<int32_t> tids;
  std::set<std::string> names;  // one of each thread
  std::set<int32_t> cpus;
};

// The threads of one recording, which must outlive it. Any thread may use it once it is set up.
class Threads {
 public:
  explicit Threads(const Recording& recording);

  // In printing order: by tid, then streams without one by number.
  const std::vector<StreamOwner>& owners() const { return owners_; }
  // One owner for each thread, and one for each stream's trace that can't be given to any.
  void GroupByThread(const Recording& recording, const StreamInputs& inputs);
  // Changes the labels to "cpuN"; N is the stream's number where it is not bound to a CPU.
  void LabelByCpu();
  // Whether a thread of that number is selected, on whichever CPU.
  bool Wants(int32_t tid, const ThreadSelection& selection) const;
  // Returns what the owners that are there can be selected by.
  ThreadChoices Choices() const;
  // Returns the parts of a selection that no owner matches; `choices` are Choices of the same
  // owners.
  ThreadSelection Unmatched(const ThreadSelection& selection, const ThreadChoices& choices) const;
  // Keeps the selected owners only. False: none of the earlier owners is left.
  bool Select(const ThreadSelection& selection);

  // The thread's name at `time` (perf nanoseconds; 0: unknown, its last name).
  CommSpan CommAt(int32_t tid, uint64_t time) const;
  // The threads that the recording says were traced: pid by tid.
  const std::map<int32_t, int32_t>& traced() const { return traced_; }

 private:
  struct CommChange {
    int32_t tid;
    uint64_t time;
    std::string comm;
  };

  void CollectComms(const Recording& recording);
  StreamOwner OwnerOf(const Stream& stream, bool raw) const;

  std::vector<StreamOwner> owners_;
  std::map<int32_t, int32_t> traced_;
  std::vector<CommChange> comms_;  // by tid, then time
};

}  // namespace flowback
