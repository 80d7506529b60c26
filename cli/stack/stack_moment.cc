// SPDX-License-Identifier: MIT
#include "cli/stack/stack_moment.h"

#include <algorithm>

#include "cli/options/arguments.h"
#include "cli/reading/time_words.h"

namespace flowback::cli {

Result<StackPlace> ParseMoment(const std::string& text, const Recording& recording,
                               const RecordingClock& clock) {
  if (text == "end") return StackPlace{.kind = StackPlace::Kind::kEnd};
  const bool is_number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (const auto number = is_number ? ParseNumber(text) : std::nullopt)
    return StackPlace{.kind = StackPlace::Kind::kInstruction, .value = *number};
  Result<uint64_t> time = ParseTime("--at", text, recording, clock);
  if (!time) return Fail(time.error());
  return StackPlace{.kind = StackPlace::Kind::kTime, .value = clock.TscAt(*time)};
}

}  // namespace flowback::cli
