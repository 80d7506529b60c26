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
#include "flowback/replay/coverage_counter.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/recording_clock.h"
#include "flowback/replay/threads.h"

namespace flowback::cli {

class CountedInput {
 public:
  // `options` must outlive it.
  CountedInput(const ReaderOptions& options, Recording recording, bool tells_progress = true)
      : options_(options),
        tells_progress_(tells_progress),
        recording_(std::move(recording)),
        threads_(recording_),
        clock_(recording_) {}

  // Errors: what keeps it from the work.
  Status Prepare();
  // Keeps the threads that the options select. Errors: kUsage when none is left.
  Status SelectThreads() { return Select(options_, threads_); }
  // The same; false when none is left, which is no error of one input among many.
  bool HasSelected() { return threads_.Select(options_.selection); }
  const std::vector<StreamOwner>& threads() const { return threads_.owners(); }
  std::string NameOf(const StreamOwner& thread) const;
  Result<CoverageCounts> Count();
  // Of each of the threads.
  Result<std::vector<CoverageCounts>> CountThreads();
  const Recording& recording() const { return recording_; }
  const RecordingCode& code() const { return *code_; }
  const LossTally& losses() const { return losses_; }
  // Whether all that was read was there.
  Status CheckInputs() const;
  // Tells what was lost and missing; returns the exit status.
  int Finish();
  // Tells nothing.
  void KeepBlocks();

 private:
  Result<std::unique_ptr<Decoder>> NewDecoder();
  CoverageRequest Request();
  uint64_t CountBytes() const;

  const ReaderOptions& options_;
  const bool tells_progress_;
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
