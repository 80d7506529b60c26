// SPDX-License-Identifier: MIT
// One run of a command that reads one recording and writes what it is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "cli/reading/opened_recording.h"
#include "cli/reading/reader_options.h"
#include "cli/reading/stream_report.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback::cli {

class ReadingJob {
 public:
  // `options` must outlive it.
  ReadingJob(const ReaderOptions& options, Recording recording)
      : opened_(options, std::move(recording)), names_(opened_) {}
  virtual ~ReadingJob() = default;

  // Whether damage to the input is reported on stderr; false: the job prints it itself.
  static constexpr bool kWarnsOfDamage = true;

  // From the opened file to the exit status.
  int Execute();
  // As Execute, but writes to an output that several jobs share. The first job opens it, and the
  // caller finishes it when all jobs have ended.
  int ExecuteInto(std::optional<Output>& output) { return Execute(output, OutputOwner::kCaller); }

 protected:
  // The steps of opening (opened_recording.h), with the command's own between them. Errors: what
  // keeps it from the work, before anything is written.
  virtual Status Prepare() = 0;
  // Does the work before the output exists; after an error the output is not replaced. Errors: any
  // reason for not writing; under --strict losses are in the exit status.
  virtual Status Gather() { return {}; }
  // Where it writes; empty: where the options say.
  virtual std::string OutputPath() const { return {}; }
  // Errors: what keeps it from going on; what came before it has been written.
  virtual Status Run(Output& output) = 0;
  // Whether an output stays that Run wrote a part of before an error.
  virtual bool KeepsPart() const { return true; }
  // Whether Run met all that decoding the chosen threads loses, and added it to opened_.losses().
  // Else it is found out behind Run, so that every command warns of the same losses and files.
  virtual bool MeetsAllLosses() const { return false; }
  // Keeps for later commands what this one made. All is written: nobody waits for it.
  virtual void Keep() const {}
  // What --verbose asks for.
  virtual void TellHow() const {}
  // Warns about odd facts of a result without an error. Errors: kUsage if an option names what the
  // recording does not have.
  virtual Status JudgeResult() { return {}; }

  OpenedRecording opened_;
  CodeSymbols names_;

 private:
  enum class OutputOwner : uint8_t { kJob, kCaller };
  int Execute(std::optional<Output>& output, OutputOwner owner);
  Status OpenOutput(std::optional<Output>& output, OutputOwner owner);
  Status AddLosses(Output& output);
  int End(const Status& status);
};

// Opens the options' input, warns of damage to it, and hands it to `read`, which returns the exit
// status, as this does.
template <class Read>
int WithInput(const ReaderOptions& reader, const Read& read, bool warns = true) {
  Result<Recording> recording = OpenInput(reader);
  if (!recording) return Report(recording.error(), reader.InputName());
  if (warns) WarnOfDamage(*recording);
  return read(*std::move(recording));
}

// Opens the options' input and runs a `Job(options..., recording)`. Returns the exit status.
template <class Job, class... Options>
int RunReadingJob(const ReaderOptions& reader, const Options&... options) {
  const auto execute = [&](Recording recording) {
    return Job(options..., std::move(recording)).Execute();
  };
  return WithInput(reader, execute, Job::kWarnsOfDamage);
}

}  // namespace flowback::cli
