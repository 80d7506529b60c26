// SPDX-License-Identifier: MIT
// What the threads' time was, learned in a flow index' first pass and kept beside it.
//
// The pass decodes every stream with times; the events and losses by which the accounts are made
// come by. So a pass that makes an index gives the accounts nearly for nothing, and a later command
// that opens the index need not decode anything for them.
#pragma once

#include <optional>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/time_account.h"
#include "flowback/replay/timeline.h"

namespace flowback {

struct FlowTimes {
  TimeAccounts accounts;  // with spans; what was executed is not counted in them
  std::vector<LossSum> losses;
};

// FlowIndex::Open. Where it decodes the streams, it gives their times, too, and keeps them where it
// keeps the index.
struct TimedIndex {
  FlowIndex index;
  std::optional<FlowTimes> times;  // empty: the index came from the cache
};
Result<TimedIndex> OpenTimedIndex(const Recording& recording, const RecordingCode& code,
                                  const StreamInputs& inputs, Decoder& decoder,
                                  const FlowIndex::Options& options, const IndexCache& cache);
// Makes an index that is not kept, for these flows. The times are always there.
Result<TimedIndex> MakeTimedIndex(const Recording& recording, const StreamInputs& inputs,
                                  const std::vector<ThreadFlow>& flows, Decoder& decoder,
                                  const FlowIndex::Options& options);

// Those kept beside the index with the cache's key. Empty: they were not.
std::optional<FlowTimes> LoadTimes(const Recording& recording, const StreamInputs& inputs,
                                   const IndexCache& cache);
// Returns the kept times, or decodes and keeps them. Errors: as AccountFlow's.
Result<FlowTimes> FindTimes(const Recording& recording, const StreamInputs& inputs,
                            Decoder& decoder, const IndexCache& cache);

}  // namespace flowback
