// SPDX-License-Identifier: MIT
#include "cli/stack/stack_moment.h"

#include "cli/reading/moment_words.h"

namespace flowback::cli {

Result<StackPlace> ParseStackPlace(const std::string& text, const Recording& recording,
                                   const RecordingClock& clock) {
  using Kind = NamedMoment::Kind;
  const Result<NamedMoment> moment = ParseMoment("--at", text, recording, clock);
  if (!moment) return Fail(moment.error());
  switch (moment->kind) {
    case Kind::kTime:
      return StackPlace{.kind = StackPlace::Kind::kTime, .value = clock.TscAt(moment->value)};
    case Kind::kInstruction:
      return StackPlace{.kind = StackPlace::Kind::kInstruction, .value = moment->value};
    case Kind::kBegin:
      return StackPlace{.kind = StackPlace::Kind::kTime, .value = 1};
    default:
      return StackPlace{.kind = StackPlace::Kind::kEnd};
  }
}

}  // namespace flowback::cli
