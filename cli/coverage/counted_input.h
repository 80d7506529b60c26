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
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

class CountedInput {
 public:
  // `options` must outlive it.
  CountedInput(const ReaderOptions& options, Recording recording)
      : opened_(options, std::move(recording)) {}

  // Errors: what keeps it from the work.
  Status Prepare();
  const OpenedRecording& opened() const { return opened_; }
  const std::vector<StreamOwner>& threads() const { return opened_.threads().owners(); }
  std::string NameOf(const StreamOwner& thread) const;
  // Of these threads.
  Result<CoverageCounts> Count(const std::vector<StreamOwner>& owners);
  // Tells what was lost and missing; returns the exit status.
  int Finish();

 private:
  Result<std::unique_ptr<Decoder>> NewDecoder();
  bool CountsAll() const { return opened_.options().time.empty(); }

  OpenedRecording opened_;
  TimeSpan span_;
  std::atomic<bool> found_in_span_ = false;
};

}  // namespace flowback::cli
