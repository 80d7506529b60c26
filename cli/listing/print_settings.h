// SPDX-License-Identifier: MIT
// A listing's layout, its part of the flow, and the sources of its names.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/name_pattern.h"
#include "cli/listing/fields.h"
#include "flowback/decode/code_image.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/execution.h"
#include "flowback/replay/loss_tally.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/threads.h"

namespace flowback {
class FunctionFinder;  // flowback/replay/functions.h
class ThreadLives;     // replay/threads/thread_lives.h
}  // namespace flowback

namespace flowback::cli {

class OpenedRecording;  // cli/reading/opened_recording.h
struct CodeSymbols;

struct LineLayout {
  Fields fields;
  // No -F: `comm tid [cpu] time: ...` for instructions, lines and calls.
  bool usual = true;
  bool json = false;
  bool thread_headers = false;  // text: a comment line before each thread
  bool not_taken = false;       // list conditional branches that were not taken, too
};

// --time.
struct TimeSelection {
  TimeSpan span;
  bool all = true;  // not given: `span` is everything
};

// Which calls `--as calls` shows.
struct CallSelection {
  uint64_t max_depth = UINT64_MAX;            // how many levels
  std::optional<NamePattern> function;        // calls of these and what they call; empty: all
  uint64_t min_duration = 0;                  // nanoseconds, or ticks where the clock has none
  std::atomic<bool>* function_ran = nullptr;  // becomes true when `function` was called
};

// The thread and time of the flow.
struct TraceOrigin {
  const Recording* recording = nullptr;
  const TraceSource* source = nullptr;
  const Threads* threads = nullptr;
  const RecordingClock* clock = nullptr;
  const ThreadLives* lives = nullptr;  // null: not requested
};

// What its code is called. Any thread may ask them.
struct CodeNames {
  Symbolizer* symbolizer = nullptr;
  SourceLines* lines = nullptr;
  FunctionFinder* functions = nullptr;
  // The path that a section's file was recorded under (options such as --symfs open another file).
  std::function<std::string_view(const std::string& file)> recorded_path;
};

// Settings of one run of the command; the objects that it points to live as long.
struct PrintSettings {
  LineLayout layout;
  TimeSelection times;
  CallSelection calls;
  TraceOrigin trace;
  CodeNames names;
  LossTally* losses = nullptr;

  // A listing that knows what ran ahead of the span is fed that, too, and its losses are the
  // whole listing's.
  bool ContainsLoss(const DataLoss& loss) const {
    return times.all || loss.tsc == 0 || times.span.Contains(trace.clock->Value(loss.tsc));
  }
};

// Takes the flow and the names of its code from the opened recording, which also collects the
// losses. Both must outlive the settings; the code may be opened later.
void Connect(PrintSettings& settings, OpenedRecording& opened, CodeSymbols& names);

}  // namespace flowback::cli
