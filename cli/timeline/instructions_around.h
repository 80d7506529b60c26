// SPDX-License-Identifier: MIT
// `timeline --at MOMENT --around N`: the single instructions of threads around a moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/listing/print_settings.h"
#include "cli/reading/spike_moment.h"
#include "cli/text/output.h"
#include "flowback/replay/flow_index.h"

namespace flowback::cli {

struct AroundPlan {
  uint64_t time = 0;    // of the clock
  uint64_t around = 0;  // instructions before it, and as many from it on
  bool json = false;
  std::string input;
  // Around this instance's first instruction instead. All of a short one is shown.
  const NamedSpike* spike = nullptr;
};

// Of those threads of the index whose flow reaches there; `settings` name the code, and the columns
// ip, insn, symbol and source line. Returns how many threads there were.
size_t PrintInstructionsAround(const AroundPlan& plan, FlowIndex& index,
                               const std::vector<size_t>& threads, const PrintSettings& settings,
                               Output& output);

}  // namespace flowback::cli
