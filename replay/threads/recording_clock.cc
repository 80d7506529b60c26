// SPDX-License-Identifier: MIT
#include "flowback/replay/recording_clock.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/recorded/call_samples.h"
#include "flowback/decode/trace_source.h"

namespace flowback {
namespace {

constexpr uint64_t kNanosecondsInSecond = 1'000'000'000;

}  // namespace

// By hand, because it is part of most lines.
void AppendSeconds(std::string& out, uint64_t nanoseconds) {
  char text[32];
  char* at = std::to_chars(text, text + sizeof text, nanoseconds / kNanosecondsInSecond).ptr;
  *at = '.';
  uint64_t rest = nanoseconds % kNanosecondsInSecond;
  for (int digit = 9; digit > 0; --digit, rest /= 10)
    at[digit] = static_cast<char>('0' + rest % 10);
  out.append(text, at + 10);
}

std::string SecondsText(uint64_t nanoseconds) {
  std::string text;
  AppendSeconds(text, nanoseconds);
  return text;
}

// ISO 8601 in the local time zone, without spaces: one column.
std::string TimeOfDayText(uint64_t nanoseconds) {
  const time_t seconds = static_cast<time_t>(nanoseconds / kNanosecondsInSecond);
  tm local{};
  char date[32] = "";
  char zone[8] = "";
  if (localtime_r(&seconds, &local) != nullptr) {
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &local);
    strftime(zone, sizeof(zone), "%z", &local);
  }
  char fraction[16] = "";
  std::snprintf(fraction, sizeof(fraction), ".%09u",
                static_cast<unsigned>(nanoseconds % kNanosecondsInSecond));
  return std::string(date) + fraction + zone;
}

uint64_t RecordingClock::TscAt(uint64_t value) const {
  if (!conversion_.known()) return value;
  // Where the counter ran before the clock did, the first ticks lie before the clock's zero, and
  // their values wrap around.
  const auto is_before = [&](uint64_t tsc) { return static_cast<int64_t>(Value(tsc) - value) < 0; };
  uint64_t end = 1;
  while (end < uint64_t{1} << 62 && is_before(end)) end *= 2;
  uint64_t begin = end / 2;
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (is_before(middle))
      begin = middle + 1;
    else
      end = middle;
  }
  return end;
}

void RecordingClock::AppendText(std::string& out, uint64_t tsc) const {
  if (tsc == 0) {
    out += '-';
  } else if (!conversion_.known()) {
    out += "tsc:" + std::to_string(tsc);
  } else if (time_of_day_) {
    out += TimeOfDayText(wall_.wall_ns + (conversion_.ToNanoseconds(tsc) - wall_.clock_ns));
  } else {
    AppendSeconds(out, conversion_.ToNanoseconds(tsc));
  }
}

std::optional<TimeSpan> SpanOfRecording(const Recording& recording, const RecordingClock& clock) {
  std::optional<TimeSpan> span;
  const Result<std::shared_ptr<const TraceSource>> source = OpenSource(recording);
  if (!source) return span;
  for (const Stream& stream : recording.streams) {
    const TscInterval times = (*source)->Times(stream);
    if (times.lo == 0) continue;
    Extend(span, clock.Value(times.lo));
    Extend(span, clock.Value(times.hi));
  }
  return span;
}

std::optional<TimeSpan> SpanWithSamples(const Recording& recording, const RecordingClock& clock) {
  if (const auto span = SpanOfRecording(recording, clock)) return span;
  const CallSamples* samples = CallSamplesOf(recording.config);
  if (samples == nullptr || samples->samples.back().time == 0) return std::nullopt;
  return TimeSpan{samples->samples.front().time, samples->samples.back().time};
}

void Extend(std::optional<TimeSpan>& span, uint64_t value) {
  if (!span) span = TimeSpan{value, value};
  span->begin = std::min(span->begin, value);
  span->end = std::max(span->end, value);
}

}  // namespace flowback
