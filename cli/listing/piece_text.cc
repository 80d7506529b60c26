// SPDX-License-Identifier: MIT
#include "cli/listing/piece_text.h"

#include <algorithm>
#include <utility>

namespace flowback::cli {
namespace {

// The user may be waiting for a line where lines are rare.
constexpr size_t kItems = 16384;
constexpr uint64_t kMostStep = 4096;  // bytes
// A place is kept where so little waits for its time that keeping it costs next to nothing.
constexpr size_t kLittle = 128;

// Marks take room, too.
size_t SizeOf(const ListingText& text) {
  return text.text.size() + text.marks.size() * sizeof(LineMark);
}

}  // namespace

Status PieceText::Print(PieceTools& tools, ListingText& text) {
  if (context_.flow.piece_filter && !context_.flow.piece_filter(piece_)) ended_ = true;
  if (ended_) return {};
  printer_.WriteTo(text);
  printer_.Use(*tools.print);
  if (!is_open())
    if (Status status = Open(*tools.decoder); !status) return status;
  MaybeKeepPlace();
  for (size_t items = 0; SizeOf(text) < context_.chunk_size; ++items) {
    if (items >= kItems && !text.text.empty()) return {};
    while (!PrintItem())
      if (!ReadOn()) return {};
  }
  return {};
}

void PieceText::Rest() {
  reader_ = {};
  runs_.reset();
  segment_ = {};
  item_ = 0;
}

Status PieceText::Open(Decoder& decoder) {
  Result<PieceReader> reader = ReadPiece(piece_, context_.flow.inputs, decoder);
  if (!reader) {
    ended_ = true;
    return Fail(reader.error());
  }
  reader_ = *std::move(reader);
  if (kept_) reader_.flow->Return(*kept_);
  skip_ = items_since_;
  return {};
}

void PieceText::MaybeKeepPlace() {
  const bool at_border = item_ == segment_.size() && !runs_ && skip_ == 0;
  if (!context_.pieces_rest || !at_border || reader_.flow->waiting() > kLittle) return;
  kept_ = reader_.flow->Save();
  items_since_ = 0;
}

// False: there is no more.
bool PieceText::ReadOn() {
  FlowReader& flow = *reader_.flow;
  if (flow.at_end()) {
    ended_ = true;
    return false;
  }
  // By what the last segment was: many pieces may have one each.
  const size_t size = segment_.instructions() + 64 * segment_.size();
  if (size > context_.chunk_size)
    step_ = std::max<uint64_t>(step_ / 2, 1);
  else if (size < context_.chunk_size / 4)
    step_ = std::min(step_ * 2, kMostStep);
  segment_.Clear();
  item_ = 0;
  SegmentRecorder recorder(segment_);
  flow.ReadTo(flow.offset() + step_, recorder);
  return true;
}

// Prints an item of the segment; false: all of it is printed.
bool PieceText::PrintItem() {
  if (runs_) {
    if (runs_->Next()) {
      Print(runs_->run());
      return true;
    }
    runs_.reset();
  }
  if (item_ == segment_.size()) return false;
  const size_t item = item_++;
  switch (segment_[item].kind) {
    case FlowSegment::Kind::kBlocks:
      batch_ = segment_.Batch(item);
      runs_.emplace(batch_);
      return PrintItem();
    case FlowSegment::Kind::kBlock:
      Print(segment_.Run(item));
      break;
    case FlowSegment::Kind::kEvent:
      Print(segment_.Event(item));
      break;
    case FlowSegment::Kind::kLoss:
      Print(segment_.Loss(item));
      break;
    case FlowSegment::Kind::kUnknown:
      if (Takes()) printer_.OnUnknown(segment_.Unknown(item));
      break;
  }
  return true;
}

bool PieceText::Takes() {
  if (skip_ == 0) {
    ++items_since_;
    return true;
  }
  --skip_;
  return false;
}

void PieceText::Print(const BlockRun& run) {
  if (Takes()) printer_.OnBlock(run);
}

void PieceText::Print(const TraceEvent& event) {
  if (Takes()) printer_.OnEvent(event);
}

void PieceText::Print(const DataLoss& loss) {
  if (!Takes()) return;
  if (context_.settings.ContainsLoss(loss)) {
    const std::scoped_lock lock(context_.tally);
    context_.settings.losses->Add(loss);
  }
  printer_.OnLoss(loss);
}

}  // namespace flowback::cli
