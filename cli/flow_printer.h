// SPDX-License-Identifier: MIT
// What all listings of the flow have in common: thread columns, losses, time selection.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/fields.h"
#include "cli/json.h"
#include "cli/losses.h"
#include "cli/output.h"
#include "cli/threads.h"
#include "cli/trace_clock.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/execution.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"

namespace flowback::cli {

// Which calls `--as calls` shows.
struct CallSelection {
  uint64_t max_depth = UINT64_MAX;  // how many levels
  std::string function;             // calls of this one and what it calls; empty: all
  uint64_t min_duration = 0;        // nanoseconds, or ticks where the clock has none
};

struct PrintSettings {
  Fields fields;
  // No -F: `comm tid [cpu] time: ...` for instructions, lines and calls.
  bool default_layout = true;
  bool json = false;
  bool thread_headers = false;  // text: a comment line before each thread
  bool not_taken = false;       // list conditional branches that were not taken, too
  TimeSpan span;
  bool all_times = true;  // no --time: `span` is everything
  const TraceClock* clock = nullptr;
  const PtConfig* config = nullptr;
  const Threads* threads = nullptr;
  const Recording* recording = nullptr;
  // The path a section's file was recorded under (--symfs and the like open another one).
  std::function<std::string_view(const std::string& file)> recorded_path;
  Symbolizer* symbolizer = nullptr;
  SourceLines* lines = nullptr;
  CallSelection calls;
  LossTally* losses = nullptr;
};

// When something happened.
struct Instant {
  uint64_t tsc = 0;  // most likely; 0: not known
  TscInterval bounds;
};

// The columns comm, pid, tid, cpu, time of a thread, rendered once per time.
class ThreadColumns {
 public:
  ThreadColumns(const PrintSettings& settings, std::string_view json_type)
      : settings_(settings), json_type_(json_type) {}

  void Begin(const StreamOwner& owner);
  void BeginPiece(const Stream& stream);
  // Text: each column followed by a space. JSON: `{"type":"...","stream":0,...` without an end.
  const std::string& At(const Instant& instant);

 private:
  bool IsRendered(const Instant& instant) const;
  void RenderText(uint64_t tsc);
  void RenderJson(const Instant& instant);
  void RenderJsonTime(JsonLine& line, const Instant& instant) const;

  const PrintSettings& settings_;
  std::string json_type_;
  const StreamOwner* owner_ = nullptr;
  const Stream* stream_ = nullptr;
  bool rendered_ = false;
  Instant instant_;
  std::string text_;
};

// Base of the printers: one object prints all threads, one after the other.
class FlowPrinter : public ExecutionConsumer {
 public:
  FlowPrinter(const PrintSettings& settings, Output& output, std::string_view json_type)
      : settings_(settings), output_(output), columns_(settings, json_type) {}

  // What follows is this thread's (or whole stream's) flow, from these streams.
  void Begin(const StreamOwner& owner);
  void BeginPiece(const Stream& stream);
  // The stream has ended.
  void End();

  void OnBlock(const BlockRun& run) final;
  void OnEvent(const TraceEvent& event) final;
  void OnLoss(const DataLoss& loss) final;
  bool Done() const final { return output_.closed(); }

 protected:
  virtual void PrintBlock(const BlockRun&) {}
  virtual void PrintEvent(const TraceEvent&) {}
  virtual void PrintBegin(const StreamOwner&) {}
  // Before the line that tells of the loss.
  virtual void BeforeLoss(const DataLoss&) {}
  virtual void PrintEnd() {}

  const PrintSettings& settings() const { return settings_; }
  std::string& out() { return output_.buffer(); }
  const std::string& ColumnsAt(const Instant& instant) { return columns_.At(instant); }

 private:
  const PrintSettings& settings_;
  Output& output_;
  ThreadColumns columns_;
  uint32_t stream_ = 0;
};

std::unique_ptr<FlowPrinter> MakeInstructionPrinter(const PrintSettings& settings, Output& output);
std::unique_ptr<FlowPrinter> MakeBlockPrinter(const PrintSettings& settings, Output& output);
std::unique_ptr<FlowPrinter> MakeBranchPrinter(const PrintSettings& settings, Output& output);
std::unique_ptr<FlowPrinter> MakeLinePrinter(const PrintSettings& settings, Output& output);
std::unique_ptr<FlowPrinter> MakeCallPrinter(const PrintSettings& settings, Output& output);
std::unique_ptr<FlowPrinter> MakeEventPrinter(const PrintSettings& settings, Output& output);

// The first lines of a listing: JSON's header object with its schema, or the text's comments.
void PrintListingHeader(Output& output, const Recording& recording, std::string_view kind,
                        bool json, bool shows_times);

// One word for how a block's last instruction transferred control: "jcc", "call", "far-ret", ...
std::string_view BranchWord(InstructionClass kind);

}  // namespace flowback::cli
