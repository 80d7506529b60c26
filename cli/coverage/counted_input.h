// SPDX-License-Identifier: MIT
// One input of `flowback coverage`: a recording, decoded into counts.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/reading/opened_recording.h"
#include "cli/reading/reader_options.h"
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

class CountedInput {
 public:
  // `options` must outlive it.
  CountedInput(const ReaderOptions& options, Recording recording, bool tells_progress = true)
      : opened_(options, std::move(recording)), tells_progress_(tells_progress) {}

  // Errors: what keeps it from the work.
  Status Prepare();
  // Keeps the threads that the options select. Errors: kUsage when none is left.
  Status SelectThreads() { return opened_.ChooseThreads(); }
  // The same; false when none is left, which is no error of one input among many.
  bool HasSelected() { return opened_.SelectThreads(); }
  const OpenedRecording& opened() const { return opened_; }
  const std::vector<StreamOwner>& threads() const { return opened_.threads().owners(); }
  std::string NameOf(const StreamOwner& thread) const;
  Result<CoverageCounts> Count();
  // Of each of the threads.
  Result<std::vector<CoverageCounts>> CountThreads();
  // Tells what was lost and missing; returns the exit status.
  int Finish();
  // Keeps for later commands what decoding found out about the code, and reports nothing.
  void Keep() const { opened_.Keep(); }

 private:
  Result<std::unique_ptr<Decoder>> NewDecoder();
  CoverageRequest Request();
  bool CountsAll() const { return opened_.options().time.empty(); }

  OpenedRecording opened_;
  const bool tells_progress_;
  TimeSpan span_;
  std::atomic<bool> found_in_span_ = false;
};

}  // namespace flowback::cli
