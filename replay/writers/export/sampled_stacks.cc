// SPDX-License-Identifier: MIT
#include "replay/writers/export/sampled_stacks.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ordered_pipeline.h"
#include "replay/profile/flow_stacks.h"
#include "replay/writers/export/stack_text.h"

namespace flowback {
namespace {

constexpr uint64_t kRangeBytes = uint64_t{512} << 10;

// A part of a piece: whole stacks, and what became of them.
struct StackRange {
  const ThreadFlow* thread = nullptr;
  const Stream* stream = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string text;
  std::vector<DataLoss> losses;
  Status status;
};

// One core's knowledge of the code and its text.
struct StackReader {
  std::unique_ptr<Decoder> decoder;
  StackText text;
  const Stream* stream = nullptr;  // of the range that it read last
  DecodeInput input;               // of that; it may have very many changes of who ran
};

class RangeStacks final : public FlowStacks {
 public:
  RangeStacks(const Recording& recording, StackRange& range, StackText& text)
      : FlowStacks(recording), range_(range), text_(text) {}

 private:
  void Take(const ThreadFlow&, uint64_t, std::span<const TakenBranch> stack) override {
    text_.Append(stack, range_.text);
  }
  void Lose(const DataLoss& loss) override { range_.losses.push_back(loss); }

  StackRange& range_;
  StackText& text_;
};

class Writing {
 public:
  Writing(Session& session, TextSink& sink) : session_(session), sink_(sink) {}

  Status Write() {
    const unsigned threads = std::max(session_.options().ThreadCount(), 1u);
    readers_.resize(threads);
    for (StackReader& reader : readers_) {
      Result<std::unique_ptr<Decoder>> decoder = session_.NewDecoder();
      if (!decoder) return Fail(decoder.error());
      reader.decoder = *std::move(decoder);
    }
    const size_t wanted = session_.options().in_flight;
    OrderedPipeline<StackRange> pipeline(
        threads, wanted != 0 ? wanted : 2 * size_t{threads}, WorkOrder::kAny,
        {.work = [this](StackRange& range, size_t worker) { Read(range, readers_[worker]); },
         .deliver = [this](StackRange& range) { Deliver(range); }});
    for (const ThreadFlow* thread : FlowsOf(session_.threads().owners()))
      for (const FlowPiece& piece : thread->pieces) AddRanges(*thread, piece, pipeline);
    pipeline.Finish();
    return status_;
  }

 private:
  void AddRanges(const ThreadFlow& thread, const FlowPiece& piece,
                 OrderedPipeline<StackRange>& pipeline) {
    for (uint64_t at = piece.begin; at < piece.end && !ended_;) {
      std::unique_ptr<StackRange> range = pipeline.Take();
      range->thread = &thread;
      range->stream = piece.stream;
      range->begin = at;
      range->end = at = EndOf(piece, at);
      pipeline.Add(std::move(range));
    }
  }
  // Where a stack begins, or the piece ends.
  uint64_t EndOf(const FlowPiece& piece, uint64_t begin) const {
    for (uint64_t size = kRangeBytes; size < piece.end - begin; size *= 2) {
      const uint64_t end = session_.source().SyncPointBefore(*piece.stream, begin + size);
      if (end > begin) return end;
    }
    return piece.end;
  }

  // Any thread.
  void Read(StackRange& range, StackReader& reader) {
    range.text.clear();
    range.losses.clear();
    range.status = {};
    if (ended_) return;
    if (reader.stream != range.stream) reader.input = session_.inputs().For(*range.stream);
    reader.stream = range.stream;
    reader.input.from = range.begin;
    reader.input.bytes = range.stream->bytes.first(range.end);
    reader.input.only_branches = true;
    RangeStacks stacks(session_.recording(), range, reader.text);
    stacks.OnThreadBegin(*range.thread, 0);
    const Result<ByteAccount> account = reader.decoder->Decode(reader.input, stacks);
    stacks.OnThreadEnd(*range.thread, 0);
    if (!account) range.status = Fail(account.error());
  }
  // One at a time.
  void Deliver(StackRange& range) {
    if (ended_) return;
    sink_.Write(range.text);
    for (const DataLoss& loss : range.losses) session_.losses().Add(loss);
    if (!range.status) status_ = range.status;
    ended_ = !status_ || sink_.closed();
  }

  Session& session_;
  TextSink& sink_;
  std::vector<StackReader> readers_;
  Status status_;
  std::atomic<bool> ended_ = false;  // nothing more is wanted
};

}  // namespace

Status WriteSampledStacks(Session& session, TextSink& sink) {
  return Writing(session, sink).Write();
}

}  // namespace flowback
