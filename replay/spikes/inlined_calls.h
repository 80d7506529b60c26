// SPDX-License-Identifier: MIT
// Where the compiler put a function's code into its callers, so that no instruction calls it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/name_pattern.h"
#include "flowback/replay/player.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/timeline.h"

namespace flowback {

// The code of one function that was put into another one, as far as it was executed.
struct InlinedCalls {
  std::vector<std::string> callers;  // by name, as the symbol tables have them
  std::string file;                  // of the function's source
  uint32_t first_line = 0;           // of the code that executed
  uint32_t last_line = 0;
};

// Decodes the flow once and asks for the source lines of the code that executed. No caller: the
// function is nowhere in it. Errors: as Player::Play.
Result<InlinedCalls> FindInlinedCalls(const TimelineSources& sources,
                                      const std::vector<const ThreadFlow*>& flows,
                                      const PlayOptions& options, const NamePattern& function,
                                      SourceLines& lines);

}  // namespace flowback
