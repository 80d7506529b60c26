// SPDX-License-Identifier: MIT
// Each thread's flow in program order, over all CPUs that it ran on.
#pragma once

#include <cstdint>
#include <memory>
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

// By tid; nobody's last, by stream. Every byte of every stream is in one piece.
std::vector<ThreadFlow> ThreadFlows(const Recording& recording, const StreamInputs& inputs);

// Where decoding of the piece begins: the last sync point before it from which the flow is that of
// the whole stream, or 0.
uint64_t DecodeFrom(const FlowPiece& piece, const TraceSource& source);

// Decodes one piece, from DecodeFrom, or from the input's `from` where that is later. What lies
// there before the piece is not delivered; a loss is delivered with the piece in which it begins.
// The result is what decoding the whole stream tells of the stay. Errors: as Decoder::Decode.
Status DecodePiece(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder,
                   ExecutionConsumer& consumer);
// The same; `whole` is the piece's stream's input.
Status DecodePiece(const FlowPiece& piece, const DecodeInput& whole, const TraceSource& source,
                   Decoder& decoder, ExecutionConsumer& consumer);

// A piece's flow, to be read in segments: what they tell is what DecodePiece tells.
struct PieceReader {
  std::unique_ptr<DecodeInput> input;
  std::unique_ptr<FlowReader> flow;
};

// Both must outlive the result. A state of its reader may also be given to another reader of the
// same piece by the same decoder. Errors: as Decoder::Read.
Result<PieceReader> ReadPiece(const FlowPiece& piece, const StreamInputs& inputs, Decoder& decoder);

}  // namespace flowback
