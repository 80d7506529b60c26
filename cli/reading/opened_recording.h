// SPDX-License-Identifier: MIT
// A session as a command has it: with the user's options, an output, and reports on stderr.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cli/reading/losses.h"
#include "cli/reading/reader_options.h"
#include "cli/text/output.h"
#include "cli/text/terminal_session.h"
#include "flowback/base/error.h"
#include "flowback/session.h"

namespace flowback::cli {

class OpenedRecording : public Session {
 public:
  // `options` must outlive it.
  OpenedRecording(const ReaderOptions& options, Recording recording)
      : Session(options, std::move(recording)), options_(options) {}

  const ReaderOptions& options() const { return options_; }
  std::string InputName() const { return options_.InputName(); }

  // As SelectThreads. Errors: kUsage if no thread is left, in the words of the options.
  Status ChooseThreads();

  // Shows how far the work is, as long as the result lives.
  WorkProgress ShowProgress(const std::string& work, uint64_t bytes) {
    return {work, bytes, bytes_done()};
  }

  // Opens options().output, or `path` if that is not empty. The output is none of the input files,
  // and gets no more text once an input file has been cut.
  Result<Output> OpenOutput(const std::string& path = {}) const;
  // Opens the output that several inputs share, if no input has opened it yet. The output is none
  // of the files that this input reads. Errors: kUsage; kSystem.
  Status ShareOutput(std::optional<Output>& output) const;
  // Errors: kUnreadable if a file was cut while it was read.
  Status CheckInputs() const;

  // Ends the work. It warns of what was lost and of images that are missing or are likely the wrong
  // ones, keeps what decoding found out, and calls `judge_result`. Returns the exit status.
  // `status` is the outcome of the work; the error of one that failed is reported.
  struct EndSteps {
    std::function<void()> keep_more = {};  // for later commands, as Session::Keep calls it
    std::function<void()> tell_how = {};   // what --verbose asks for
    // Warns about odd facts of a result without an error. Errors: kUsage if the result shows wrong
    // usage.
    std::function<Status()> judge_result = {};
  };
  int End(const Status& status, const EndSteps& steps);
  // Ends a command that has no result because of the error. Returns the exit status.
  int EndWithout(const Error& error);

 private:
  void WarnOfMissing() const;
  int ExitStatus() const { return StatusOf(losses(), options_.strict); }
  const RecordingCode* code_or_null() const { return has_code() ? &code() : nullptr; }

  const ReaderOptions& options_;
};

// The names of the recording's code and the lines of its source, which belong to the session.
struct CodeSymbols {
  explicit CodeSymbols(Session& session)
      : symbolizer(session.symbols()), functions(session.functions()), lines(session.lines()) {}

  Symbolizer& symbolizer;
  SymbolFunctions& functions;
  SourceLines& lines;
};

}  // namespace flowback::cli
