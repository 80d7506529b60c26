// SPDX-License-Identifier: MIT
// One run of `flowback coverage`: inputs become one sum, and that a report.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "cli/coverage/coverage_options.h"
#include "cli/coverage/coverage_selection.h"
#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "cli/text/status.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/coverage_report.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/threads.h"
#include "replay/coverage/report/coverage_changes.h"
#include "replay/coverage/report/input_dates.h"

namespace flowback::cli {

// `options` must outlive it.
class CoverageJob {
 public:
  explicit CoverageJob(const CoverageOptions& options)
      : options_(options), search_(options.reader.search) {}

  // Checks, before anything is recorded or read, that no file to write is an input, or another file
  // to write. The part of --save may be an input: the sum replaces it. Errors: kUsage.
  Status CheckOutputs() const;

  // All that the options name. Returns the exit status.
  int Run();

  // Instead: adds the recordings of a command's processes, one after the other. Later only the
  // files that ran are needed. Errors: what keeps one from being counted.
  Status AddProcess(const std::string& recording);
  // The report on them. `unrecorded`: RecordSummary's.
  int RunOfProcesses(uint64_t unrecorded);

  // Adds what the request's threads executed to the sum, or, with --by-thread, prints each thread's
  // report. For CoverageInputJob. Errors: as CountCoverage's.
  Status Count(const OpenedRecording& opened, const CoverageRequest& request, Output& output);

 private:
  // Each returns an exit status. A status other than kDone ends the work, except for losses.
  int AddInput(const ReaderOptions& reader);
  int AddPart(const std::string& path);
  int Finish();
  int WriteReport();
  Status WriteThreads(const Threads& threads, const CoverageRequest& request, Output& output);
  Status Save() const;
  Status CheckSelected() const;
  const std::string& SourceRoot() const;
  CoverageReport ReportOf(const CoverageCounts& counts, SourceLines& lines) const;
  void Write(const CoverageReport& report, const CoverageCounts& counts, SourceLines& lines,
             const CoverageChanges* changes, Output& output);
  void WarnOfSources(const CoverageReport& report) const;
  static Status CheckChoices(const std::vector<UnmatchedChoice>& unmatched);
  int CheckGoal(const CoverageReport& report, bool any_unmatched) const;
  void UseFilesOf(const RecordingCode& code);
  void WarnOfProcesses() const;

  const CoverageOptions& options_;
  ImageSearch search_;  // with the files that decoding used
  std::set<std::string> known_files_;
  CoverageCounts counts_;
  std::optional<Output> output_;
  InputDates dates_;
  int losses_ = kDone;  // a missing image goes before other losses, of whichever input

  // Losses of all processes of a command.
  LossTally process_losses_;
  std::set<std::string> missing_images_;
  uint64_t counted_processes_ = 0;
};

}  // namespace flowback::cli
