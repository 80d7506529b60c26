// SPDX-License-Identifier: MIT
#include "base/recorded/call_samples.h"

#include "base/recorded/branch_records.h"

namespace flowback {

// Tiled stacks contain every call.
const CallSamples* CallSamplesOf(const TraceConfig& config) {
  const BranchStackConfig& stacks = BranchStackConfigOf(config);
  return stacks.tiled ? nullptr : stacks.calls.get();
}

}  // namespace flowback
