// SPDX-License-Identifier: MIT
// `timeline --at MOMENT --around N`: the single instructions of threads around a moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  // Around the instruction of this number of each thread instead.
  std::optional<uint64_t> instruction{};
  // The instance that begins with that instruction. All of a short one is shown.
  const NamedSpike* spike = nullptr;
};

// Returns the columns ip, insn, symbol and source line.
LineLayout LayoutAround(bool json);

// Prints those threads of the index whose flow reaches there; `settings` name the code, and those
// columns. Returns how many threads there were.
size_t PrintInstructionsAround(const AroundPlan& plan, FlowIndex& index,
                               const std::vector<size_t>& threads, const PrintSettings& settings,
                               Output& output);

}  // namespace flowback::cli
