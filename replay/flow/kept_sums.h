// SPDX-License-Identifier: MIT
// Sums of a recording's streams, kept in the cache beside its index: a later command that needs
// only sums decodes nothing.
//
// It is found by the same key, so sums of a changed recording are not found.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"
#include "flowback/replay/flow_index.h"

namespace flowback {

// Decoder::Summarize's results but for the effort, by number of stream. Empty: some part does not
// support bytes.
std::vector<uint8_t> SumsToBytes(const std::vector<FlowSummary>& sums, const Recording& recording,
                                 const StreamInputs& inputs);
// Empty: these are no sums of such streams.
std::optional<std::vector<FlowSummary>> SumsFromBytes(Bytes bytes, const Recording& recording,
                                                      const StreamInputs& inputs);

// Belongs to one thread. The recording and the inputs must outlive it.
class KeptSums {
 public:
  // Nothing is kept where the cache has no folder or no key.
  KeptSums(const Recording& recording, const StreamInputs& inputs, IndexCache cache);

  // As decoder.Summarize says, or has said when it was kept. REQUIRES: a stream of the recording,
  // with its input as it is.
  Result<FlowSummary> Of(const Stream& stream, Decoder& decoder);
  // Keeps what was decoded, where that was all of the recording. Call it when no user waits.
  void Keep() const;
  // Nothing need be decoded.
  bool were_kept() const { return were_kept_; }

 private:
  const Recording& recording_;
  const StreamInputs& inputs_;
  const IndexCache cache_;
  bool were_kept_ = false;
  std::vector<std::optional<FlowSummary>> sums_;  // by number of stream; empty: not decoded
};

}  // namespace flowback
