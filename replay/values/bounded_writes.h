// SPDX-License-Identifier: MIT
// Steps that write unknown values to memory within bounds.
#pragma once

#include <vector>

#include "replay/values/kernel_calls.h"
#include "replay/values/value_graph.h"

namespace flowback::values {

// Returns the proven values of a system call. REQUIRES: a step of kSystemCall.
CallValues CallOf(const ValueGraph& graph, const GraphStep& step,
                  const std::vector<KnownBits>& values);

// Where the instruction writes. REQUIRES: a step of kForgetPart.
KernelWrites PartOf(const ValueGraph& graph, const GraphStep& step,
                    const std::vector<KnownBits>& values);

}  // namespace flowback::values
