// SPDX-License-Identifier: MIT
// The common part of all listings of the flow: thread columns, losses, time selection.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/listing/listing_text.h"
#include "cli/listing/print_settings.h"
#include "cli/text/output.h"
#include "flowback/model/execution.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

class InstructionText;  // cli/listing/instruction_text.h
class LineText;         // cli/listing/line_text.h

// When something happened.
struct Instant {
  uint64_t tsc = 0;  // most likely; 0: not known
  TscInterval bounds;
};

// The columns comm, pid, tid, cpu, time of a thread, rendered once per time.
class ThreadColumns {
 public:
  ThreadColumns(const PrintSettings& settings, std::string_view json_type);

  void Begin(const StreamOwner& owner);
  void BeginPiece(const Stream& stream);
  // As if a CPU's stream were that CPU's, until ShowStreamCpu or the next piece.
  void ShowCpu(int32_t cpu);
  void ShowStreamCpu() { ShowCpu(stream_->cpu); }
  // Text: each column followed by a space. JSON: `{"type":"...","stream":0,...` without an end.
  const std::string& At(const Instant& instant) {
    if (!IsRendered(instant)) Render(instant);
    return text_;
  }

 private:
  // Text shows nanoseconds, several ticks each.
  bool IsRendered(const Instant& instant) const {
    if (!rendered_ || timeless_) return rendered_;
    if (instant.tsc != instant_.tsc)
      return !settings_.layout.json && instant.tsc != 0 && instant_.tsc != 0 &&
             settings_.trace.clock->Value(instant.tsc) == value_;
    return !settings_.layout.json ||
           (instant.bounds.lo == instant_.bounds.lo && instant.bounds.hi == instant_.bounds.hi);
  }
  void Render(const Instant& instant);
  void RenderHead(std::string_view comm);
  void RenderJsonHead(std::string_view comm);
  void RenderJsonTime(const Instant& instant);

  const PrintSettings& settings_;
  std::string json_type_;
  bool timeless_;  // no column depends on the time
  const StreamOwner* owner_ = nullptr;
  const Stream* stream_ = nullptr;
  int32_t cpu_ = -1;
  bool rendered_ = false;
  Instant instant_;
  uint64_t value_ = 0;  // instant_ on the clock; 0: not known
  std::string text_;
  size_t head_ = 0;  // of the text up to the time; 0: not rendered
  CommSpan comm_;    // in which the head stays as it is
};

// What printers look up and render again and again. One thread at a time.
class PrintTools {
 public:
  static constexpr size_t kCacheBytes = size_t{64} << 20;

  // Caches begin anew when they have grown to `cache_bytes`.
  explicit PrintTools(const PrintSettings& settings, size_t cache_bytes = kCacheBytes);
  ~PrintTools();

  InstructionText& instructions();
  LineText& lines();

 private:
  const PrintSettings& settings_;
  size_t cache_bytes_;
  std::unique_ptr<InstructionText> instructions_;
  std::unique_ptr<LineText> lines_;
};

// Base of the printers. Prints one owner after the other, unless it is made for one.
class FlowPrinter : public ExecutionConsumer {
 public:
  FlowPrinter(const PrintSettings& settings, std::string_view json_type)
      : settings_(settings), columns_(settings, json_type) {}

  // Where the text goes and what helps to make it, from now on. REQUIRES: both, before all else.
  void WriteTo(ListingText& out) { out_ = &out; }
  void Use(PrintTools& tools) { tools_ = &tools; }

  // What follows is this thread's (or whole stream's) flow, from these streams.
  void Begin(const StreamOwner& owner);
  void BeginPiece(const Stream& stream);
  // Goes on with what another printer began.
  void Resume(const StreamOwner& owner, const Stream& stream);
  // The stream has ended.
  void End() { PrintEnd(); }
  // Batches print little text, and fast.
  virtual bool TakesBatches() const { return false; }

  void OnBlock(const BlockRun& run) final { PrintBlock(run); }
  void OnBlocks(const BlockBatch& batch) final { PrintBlocks(batch); }
  void OnEvent(const TraceEvent& event) final { PrintEvent(event); }
  void OnLoss(const DataLoss& loss) final;
  void OnUnknown(const UnknownFlow& unknown) final;

 protected:
  virtual void PrintBlock(const BlockRun&) {}
  // Printers that print little for most blocks may take many at once.
  virtual void PrintBlocks(const BlockBatch& batch) { ExecutionConsumer::OnBlocks(batch); }
  virtual void PrintEvent(const TraceEvent&) {}
  virtual void PrintBegin(const StreamOwner&) {}
  // Called before the line about unknown flow.
  virtual void BeforeUnknown(const UnknownFlow&) {}
  // Called before the line about a loss.
  virtual void BeforeLoss(const DataLoss&) {}
  virtual void PrintEnd() {}

  const PrintSettings& settings() const { return settings_; }
  PrintTools& tools() { return *tools_; }
  ListingText& listing() { return *out_; }
  std::string& out() { return out_->text; }
  ThreadColumns& columns() { return columns_; }
  const std::string& ColumnsAt(const Instant& instant) { return columns_.At(instant); }
  // The columns, and the mark of a line at their begin.
  void BeginLine(const Instant& instant) {
    out_->Mark(instant.tsc);
    out_->text += columns_.At(instant);
  }

 private:
  const PrintSettings& settings_;
  ListingText* out_ = nullptr;
  PrintTools* tools_ = nullptr;
  ThreadColumns columns_;
  const StreamOwner* owner_ = nullptr;
  uint32_t stream_ = 0;
};

using PrinterMaker = std::unique_ptr<FlowPrinter> (*)(const PrintSettings&);

std::unique_ptr<FlowPrinter> MakeInstructionPrinter(const PrintSettings& settings);
std::unique_ptr<FlowPrinter> MakeBlockPrinter(const PrintSettings& settings);
std::unique_ptr<FlowPrinter> MakeBranchPrinter(const PrintSettings& settings);
std::unique_ptr<FlowPrinter> MakeLinePrinter(const PrintSettings& settings);
std::unique_ptr<FlowPrinter> MakeCallPrinter(const PrintSettings& settings);
std::unique_ptr<FlowPrinter> MakeEventPrinter(const PrintSettings& settings);
std::unique_ptr<FlowPrinter> MakeSamplePrinter(const PrintSettings& settings);

// The first lines of a listing: JSON's header object with its schema, or the text's comments.
void PrintListingHeader(Output& output, const PrintSettings& settings, std::string_view kind,
                        bool shows_times);

// One word for how a block's last instruction transferred control: "jcc", "call", "far-ret", ...
std::string_view BranchWord(InstructionClass kind);

}  // namespace flowback::cli
