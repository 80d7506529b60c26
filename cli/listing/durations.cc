// SPDX-License-Identifier: MIT
#include "cli/listing/durations.h"

namespace flowback::cli {

uint64_t DurationOf(const RecordingClock& clock, uint64_t begin, uint64_t end) {
  const uint64_t from = clock.Value(begin);
  const uint64_t to = clock.Value(end);
  return to < from ? 0 : to - from;
}

void AppendDuration(std::string& out, const RecordingClock& clock, uint64_t begin, uint64_t end) {
  if (begin == 0 || end == 0) return;
  const uint64_t duration = DurationOf(clock, begin, end);
  if (duration == 0) return;
  out += ' ';
  out +=
      clock.has_nanoseconds() ? SecondsText(duration) + " s" : std::to_string(duration) + " ticks";
}

void AppendDuration(JsonLine& line, const RecordingClock& clock, uint64_t begin, uint64_t end) {
  const bool known = begin != 0 && end != 0;
  if (known && clock.has_nanoseconds())
    line.Number("duration", DurationOf(clock, begin, end));
  else
    line.Null("duration");
  if (known)
    line.Number("duration_tsc", end < begin ? 0 : end - begin);
  else
    line.Null("duration_tsc");
}

}  // namespace flowback::cli
