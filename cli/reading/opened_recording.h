// SPDX-License-Identifier: MIT
// A recording that a command has opened: all that decoding it takes, from the user's options on,
// and what is to be said of it at the end.
//
//   options -> recording -> trace -> code -> streams -> threads -> (the work) -> reports
//
// Each step needs those ahead of it. They are steps rather than one function because a command
// understands its own words in between: a time means something once the recording is known, and
// that it is misspelt is told before files are looked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/reading/losses.h"
#include "cli/reading/reader_options.h"
#include "cli/text/output.h"
#include "cli/text/terminal_session.h"
#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/decode/trace_source.h"
#include "flowback/model/recording.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

class OpenedRecording {
 public:
  // `options` must outlive it.
  OpenedRecording(const ReaderOptions& options, Recording recording)
      : options_(options),
        recording_(std::move(recording)),
        threads_(recording_),
        clock_(recording_) {}
  OpenedRecording(const OpenedRecording&) = delete;
  OpenedRecording& operator=(const OpenedRecording&) = delete;

  // The steps of opening.
  // Of a recording that may hold no trace: `info` tells of any. Errors: kUnsupported.
  Status OpenSource();
  // Errors: kUnsupported also where there is no trace.
  Status OpenTrace();
  // For who asks for a stream's packets more than once, as to find its times and then its sync
  // points: they are read once, and what they tell is kept in memory.
  void KeepIndexes() { source_ = flowback::KeepIndexes(std::move(source_)); }
  // The images. Errors: as RecordingCode::Load's.
  Status LoadCode();
  // The same; an engine that is not there is told before files are looked for.
  Status OpenCode();
  // Who ran when on which stream. `times`: each block's time is wanted.
  void PrepareStreams(bool times);
  // Puts each thread's flow together, and keeps the threads that were asked for. Errors: kUsage
  // when nothing is left.
  Status ChooseThreads();
  // The same; false when nothing is left, which is no error of one input among many.
  bool HasChosenThreads();

  // What is open. REQUIRES: the step that opens it has succeeded.
  const ReaderOptions& options() const { return options_; }
  std::string InputName() const { return options_.InputName(); }
  const Recording& recording() const { return recording_; }
  uint64_t trace_bytes() const;  // of all streams
  Threads& threads() { return threads_; }
  const Threads& threads() const { return threads_; }
  RecordingClock& clock() { return clock_; }
  const RecordingClock& clock() const { return clock_; }
  std::shared_ptr<const TraceSource> source() const { return source_; }
  Result<std::unique_ptr<Decoder>> NewDecoder() const {
    return source_->MakeDecoder(options_.engine);
  }
  bool has_code() const { return code_.has_value(); }
  bool has_inputs() const { return inputs_.has_value(); }
  const RecordingCode& code() const { return *code_; }
  std::string_view RecordedPath(const std::string& file) const { return code_->RecordedPath(file); }
  StreamInputs& inputs() { return *inputs_; }
  const StreamInputs& inputs() const { return *inputs_; }

  // Of all flow of the threads.
  uint64_t TraceBytes() const;
  // Tells how far the work is, as long as what it returns lives.
  WorkProgress ShowProgress(const std::string& work, uint64_t bytes) const {
    return {work, bytes, bytes_done_};
  }
  void RestartProgress() { bytes_done_ = 0; }

  // What is lost, which the command adds to.
  LossTally& losses() { return losses_; }
  const LossTally& losses() const { return losses_; }
  // Adds what the recorder itself lost, and damage to the file. A second call adds nothing.
  void AddRecordedLosses();
  // What is known to be lost before anything is decoded.
  void AddKnownLosses();

  // Where the command writes: options().output, or `path` if that is not empty. It is none of the
  // files that are read, and gets no text once one of these has been cut.
  Result<Output> OpenOutput(const std::string& path = {}) const;
  // Errors: kUnreadable when not all was there that has been read.
  Status CheckInputs() const;

  // The reports, in their order.
  // What was lost, which images are missing or are likely the wrong ones.
  void TellMissing() const;
  // Keeps for later commands what decoding found out, and calls `keep_more`, if it is not empty,
  // for what the command has to keep: unless a file has changed while it was read.
  void Keep(const std::function<void()>& keep_more = {}) const;
  // The command's exit status, when it has come to its end.
  int ExitStatus() const { return losses_.Status(options_.strict); }

 private:
  const RecordingCode* code_or_null() const { return code_ ? &*code_ : nullptr; }

  const ReaderOptions& options_;
  Recording recording_;
  Threads threads_;
  RecordingClock clock_;
  std::shared_ptr<const TraceSource> source_;
  std::optional<RecordingCode> code_;
  std::optional<StreamInputs> inputs_;
  LossTally losses_;
  bool recorded_losses_known_ = false;
  std::atomic<uint64_t> bytes_done_ = 0;
};

// What the recording's code is called, and where its source is. Files are read when they are asked
// for first.
struct RecordedNames {
  explicit RecordedNames(const OpenedRecording& opened)
      : symbolizer(opened.options().search, &opened.recording()),
        functions(symbolizer),
        lines(opened.options().search, &opened.recording()) {}

  Symbolizer symbolizer;
  SymbolFunctions functions;
  SourceLines lines;
};

}  // namespace flowback::cli
