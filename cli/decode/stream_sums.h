// SPDX-License-Identifier: MIT
// Totals instead of the flow: what `decode --as digest` and `--as summary` print.
#pragma once

#include <map>
#include <vector>

#include "cli/decode/listings.h"
#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "replay/flow/kept_sums.h"

namespace flowback::cli {

// Each owner's totals, from decoding each stream once. What it is made of must outlive it.
class StreamSums {
 public:
  // `whole_is_shown`: the whole trace is decoded, so that its bytes must add up.
  StreamSums(const Recording& recording, const StreamInputs& inputs,
             const std::vector<StreamOwner>& owners, bool whole_is_shown);

  // `counter`, which may be null, gets the counts of what is asked for; without it, what was kept
  // need not be decoded. Errors: as decoding's.
  Status Add(Decoder& decoder, KeptSums& kept, BlockCountConsumer* counter);
  // Of each owner all pieces in order, their losses in the same order.
  std::vector<StreamTotals> Take() const;

 private:
  using Places = std::map<const ThreadStay*, FlowTotals*>;  // null: of the whole stream

  Status AddStream(const Stream& stream, const Places& places, Decoder& decoder, KeptSums& kept,
                   BlockCountConsumer* counter);

  const Recording& recording_;
  const StreamInputs& inputs_;
  const std::vector<StreamOwner>& owners_;
  const bool whole_is_shown_;
  std::vector<std::vector<FlowTotals>> pieces_;  // by owner
};

}  // namespace flowback::cli
