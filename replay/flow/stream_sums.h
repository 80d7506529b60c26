// SPDX-License-Identifier: MIT
// Totals of each thread or stream, in place of the flow.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"
#include "flowback/replay/threads.h"
#include "replay/flow/kept_sums.h"

namespace flowback {

// The totals of one owner.
struct StreamTotals {
  const StreamOwner* owner = nullptr;
  FlowSummary summary;
};

// Sums up each owner's flow, decoding each stream once. Its parts must outlive it.
class StreamSums {
 public:
  // Checks the byte account of a stream that was decoded.
  using Check = std::function<Status(const ByteAccount& account, const Stream& stream)>;

  // `check` may be empty.
  StreamSums(const Recording& recording, const StreamInputs& inputs,
             const std::vector<StreamOwner>& owners, Check check);

  // Decodes and adds all streams of the owners. `counter`, which may be null, receives the counts
  // of the owners' stays; without a counter, streams whose sums were kept are not decoded. Errors:
  // as Decoder::Summarize's and the check's.
  Status Add(Decoder& decoder, KeptSums& kept, BlockCountConsumer* counter);
  // Returns the totals of each owner: its pieces in order, and their losses in the same order.
  std::vector<StreamTotals> Take() const;

 private:
  using Places = std::map<const ThreadStay*, FlowTotals*>;  // null: of the whole stream

  Status AddStream(const Stream& stream, const Places& places, Decoder& decoder, KeptSums& kept,
                   BlockCountConsumer* counter);

  const Recording& recording_;
  const StreamInputs& inputs_;
  const std::vector<StreamOwner>& owners_;
  const Check check_;
  std::vector<std::vector<FlowTotals>> pieces_;  // by owner
};

}  // namespace flowback
