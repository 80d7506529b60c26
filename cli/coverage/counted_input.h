// SPDX-License-Identifier: MIT
// One input of `flowback coverage`: a recording, decoded into counts.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/reading/losses.h"
#include "cli/reading/reader_options.h"
#include "cli/text/output.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

class CountedInput {
 public:
  // `options` must outlive it.
  CountedInput(const ReaderOptions& options, Recording recording)
      : options_(options),
        recording_(std::move(recording)),
        threads_(recording_),
        clock_(recording_) {}

  // Errors: what keeps it from the work.
  Status Prepare();
  const std::vector<StreamOwner>& threads() const { return threads_.owners(); }
  std::string NameOf(const StreamOwner& thread) const;
  // Of these threads.
  Result<CoverageCounts> Count(const std::vector<StreamOwner>& owners);
  const Recording& recording() const { return recording_; }
  const RecordingCode& code() const { return *code_; }
  // Whether all that was read was there.
  Status CheckInputs() const;
  // Tells what was lost and missing; returns the exit status.
  int Finish();

 private:
  Result<std::unique_ptr<Decoder>> NewDecoder();

  const ReaderOptions& options_;
  Recording recording_;
  Threads threads_;
  RecordingClock clock_;
  std::shared_ptr<const TraceSource> source_;
  std::optional<RecordingCode> code_;
  std::optional<StreamInputs> inputs_;
  TimeSpan span_;
  LossTally losses_;
  std::atomic<bool> found_in_span_ = false;
  std::atomic<uint64_t> bytes_done_ = 0;
};

}  // namespace flowback::cli
