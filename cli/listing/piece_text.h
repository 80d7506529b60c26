// SPDX-License-Identifier: MIT
// A piece of flow as text, a chunk at a time, as far as it is asked for.
//
// The flow is read in small segments: a chunk ends wherever it is long enough, also in the middle
// of a segment, and the next one goes on there. Parts that are not requested are not decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "cli/listing/flow_printer.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/flow_segment.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

// Data that all pieces of a listing share.
struct PieceContext {
  const FlowSource& flow;
  const PrintSettings& settings;
  size_t chunk_size = 0;     // of text, in bytes, about
  bool pieces_rest = false;  // more pieces are begun than can stay open
  std::mutex tally{};        // of settings.losses
};

// With what a thread decodes and prints; used by one at a time.
struct PieceTools {
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<PrintTools> print;
};

// All chunks must be made with the same tools. One thread at a time.
class PieceText {
 public:
  // All must outlive it.
  PieceText(PieceContext& context, const FlowPiece& piece, FlowPrinter& printer)
      : context_(context), piece_(piece), printer_(printer) {}

  // The next lines, complete ones; none at the piece's end. Errors: as decoding's.
  Status Print(PieceTools& tools, ListingText& text);
  bool ended() const { return ended_; }
  // Gives its reader's memory back. The next chunk is made from the last place that was kept, and
  // what was printed since is passed over.
  void Rest();

 private:
  bool is_open() const { return reader_.flow != nullptr; }
  Status Open(Decoder& decoder);
  void MaybeKeepPlace();
  bool ReadOn();
  bool NextItem();
  bool PrintItem();
  void Print(const BlockRun& run);
  void Print(const TraceEvent& event);
  void Print(const DataLoss& loss);
  bool Takes();

  PieceContext& context_;
  const FlowPiece& piece_;
  FlowPrinter& printer_;
  PieceReader reader_;
  bool ended_ = false;

  // The segment that has been read, but not printed completely.
  FlowSegment segment_;
  size_t item_ = 0;  // of the segment, that comes next
  BlockBatch batch_;
  std::optional<BlockRuns> runs_;  // of the batch that is being printed
  uint64_t step_ = 64;             // bytes that are read at a time

  // Where it goes on after a rest.
  std::shared_ptr<const FlowReader::State> kept_;  // null: the piece's begin
  uint64_t items_since_ = 0;                       // that have been printed behind it
  uint64_t skip_ = 0;                              // items that are still to be passed over
};

}  // namespace flowback::cli
