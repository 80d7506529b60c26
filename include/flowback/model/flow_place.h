// SPDX-License-Identifier: MIT
// Where control stands between two items of a flow, as far as that is certain there.
#pragma once

#include <cstdint>

#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

struct FlowPlace {
  enum class Kind : uint8_t {
    kUnknown,  // nothing is certain: the flow begins, was lost, or went where nobody tells
    kAt,       // the flow goes on, with the instruction at `ip`
    kOff,      // control left what is recorded, for `ip`; 0: that is not told
  };

  Kind kind = Kind::kUnknown;
  uint64_t ip = 0;

  // What is told next is what executed next.
  bool GoesOn() const { return kind == Kind::kAt; }
  friend bool operator==(const FlowPlace&, const FlowPlace&) = default;
};

// Behind an item of flow; `before` is the place in front of it. Behind a loss nothing is certain.
FlowPlace Behind(const BlockRun& run);
FlowPlace Behind(const BlockBatch& batch);
FlowPlace Behind(const TraceEvent& event, const FlowPlace& before);
FlowPlace Behind(const UnknownFlow& unknown);

}  // namespace flowback
