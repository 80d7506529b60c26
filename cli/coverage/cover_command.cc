// SPDX-License-Identifier: MIT
#include "cli/coverage/cover_command.h"

#include <filesystem>
#include <utility>

#include "cli/coverage/coverage_job.h"
#include "cli/coverage/temporary_folder.h"
#include "cli/reading/cache_folder.h"
#include "cli/record/record_output.h"
#include "cli/record/record_progress.h"
#include "cli/record/record_report.h"
#include "cli/text/status.h"
#include "flowback/capture/record.h"
#include "replay/coverage/process_queue.h"

namespace flowback::cli {
namespace {

// A file in the folder that is not needed afterwards.
std::string RecordingIn(const TemporaryFolder& folder) { return folder.path() + "/coverage.data"; }

// The engine that records. `engine` is --engine's word: where it names one that records, the one
// that decodes is the usual one. Without a word the emulator records, the only engine that records
// all of it wherever this runs.
std::string TakeRecorder(std::string& engine) {
  const bool records = engine == "auto" || engine == "hardware" || FindRecorder(engine) != nullptr;
  return records ? std::exchange(engine, ReaderOptions().engine) : "emulate";
}

int CoverWhole(const std::string& recorder, const Arguments& command,
               const CoverageOptions& options, const TemporaryFolder& folder) {
  Arguments arguments = {"--engine", recorder, "-o", RecordingIn(folder), "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  const int own = RunRecord(arguments);
  std::error_code ignored;
  if (!std::filesystem::exists(RecordingIn(folder), ignored)) return own;  // it has printed why
  const int status = CoverageJob(options).Run();
  return own != kDone ? own : status;
}

Result<RecordOptions> OptionsFor(const Arguments& command, const TemporaryFolder& folder) {
  RecordOptions options;
  options.engine = "emulate";
  options.target.command = command;
  options.files.output.clear();
  options.processes.folder = folder.path();
  options.files.command_line = "flowback coverage --";
  for (const std::string& word : command) options.files.command_line += ' ' + word;
  if (Status store = FindImageStore(options); !store) return Fail(store.error());
  return options;
}

int CoverProcesses(const Arguments& command, const CoverageOptions& options,
                   const TemporaryFolder& folder) {
  Result<RecordOptions> record = OptionsFor(command, folder);
  if (!record) return RecordFailure(record.error(), true, false);
  KeepStandardStreams();
  CoverageJob job(options);
  ProcessQueue queue([&](const std::string& recording) { return job.AddProcess(recording); });
  record->processes.on_end = [&](const std::string& recording) { return queue.Put(recording); };
  const Result<RecordSummary> summary = RecordWithProgress(*record);
  const Status counted = queue.Finish();
  if (!summary) return RecordFailure(summary.error(), true, false);
  TellRun(*summary, *record);
  if (!counted) return RecordFailure(counted.error(), true, false);
  if (summary->failure) return RecordFailure(*summary->failure, true, false);
  const int own = CommandStatus(summary->command_status);
  const int status = job.RunOfProcesses(summary->unrecorded);
  return own != kDone ? own : status;
}

}  // namespace

int CoverCommand(const Arguments& command, CoverageOptions& options, ReaderWords& words) {
  if (command.empty() || !words.input.empty() || !words.input_option.empty())
    return Report(Error(ErrorCode::kUsage, command.empty()
                                               ? "coverage: no command behind --"
                                               : "coverage: a recording and a command are named")
                      .Remedy("flowback coverage [options] -- CMD, or a recording alone"));
  const Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder) return Report(folder.error());
  words.input = RecordingIn(*folder);
  const std::string recorder = TakeRecorder(options.reader.engine);
  if (Status status = Understand(words, options.reader); !status) return Report(status.error());
  if (Status status = CoverageJob(options).CheckOutputs(); !status) return Report(status.error());
  const bool needs_whole =
      recorder != "emulate" || options.by_thread || !options.reader.time.empty();
  return needs_whole ? CoverWhole(recorder, command, options, *folder)
                     : CoverProcesses(command, options, *folder);
}

}  // namespace flowback::cli
