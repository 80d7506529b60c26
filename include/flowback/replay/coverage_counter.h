// SPDX-License-Identifier: MIT
// Counts of a flow's blocks become counts of objects' instructions, at the speed of sums.
//
// Code counts as unknown if trace was lost, damaged or not decoded: it may have executed anything
// that its process (or, if that is not known, any process) had mapped then. It counts as unknown,
// too, if a snapshot's buffer was overwritten, or if it was excluded from the recording: user code,
// code outside of an address filter or of --from and --until. It does not count as unknown if it
// ran before a recorder was attached, because that trace was not requested. Neither does trace of
// an unknown thread or time make code unknown, because its instructions are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/block_counts.h"
#include "flowback/model/recording.h"
#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/threads.h"

namespace flowback {

// Whether instructions may have executed without any record.
bool LeavesCodeUnknown(LossCause cause);

// Counts one recording. Uses memory proportional to the executed code. Not thread-safe.
class CoverageCounter final : public BlockCountConsumer {
 public:
  // All must outlive it.
  CoverageCounter(const Recording& recording, const RecordingCode& code,
                  const StreamInputs& inputs);
  ~CoverageCounter() override;

  // Begins a stream: later counts are its counts.
  void Begin(const Stream& stream);
  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override;
  // Adds the losses of a stay (or of the stream, if null), and that it ran.
  void AddTotals(const ThreadStay* stay, const FlowTotals& totals);
  // Returns the counts since the last call, as one recording.
  CoverageCounts Take();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct CoverageRequest {
  const Recording& recording;
  const RecordingCode& code;
  FlowSource flow;
  // The threads that are counted. Streams without a piece of theirs are not decoded.
  const std::vector<StreamOwner>& owners;
  // Checks the byte account of each decoded stream (law 1), on any thread. May be empty.
  std::function<Status(const ByteAccount&, const Stream&)> check{};
  // Called for each loss in the selected part, by one thread at a time, if not empty.
  std::function<void(const DataLoss&)> on_loss{};
};

// Decodes each stream once, on as many threads as its input says, which do not change the result.
// Errors: the decoder's, the
// check's.
Result<CoverageCounts> CountCoverage(const CoverageRequest& request);

// Returns the counts of each owner separately, in the owners' order. Memory grows with the code
// that each of them executed.
Result<std::vector<CoverageCounts>> CountCoverageByOwner(const CoverageRequest& request);

}  // namespace flowback
