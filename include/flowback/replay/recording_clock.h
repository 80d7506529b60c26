// SPDX-License-Identifier: MIT
// Time-stamp counter values as the times that people and scripts read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flowback/model/recording.h"

namespace flowback {

// The clock of one recording: perf's nanoseconds where the conversion is known, else ticks of the
// trace's own counter. A value of it is in the one or the other. Keeps nothing of the recording;
// any thread may use it once it is set up.
class RecordingClock {
 public:
  explicit RecordingClock(const Recording& recording)
      : conversion_(recording.time),
        wall_(recording.clock),
        emulated_(recording.machine.emulated) {}

  // The recording says what time of day its clock showed.
  bool knows_time_of_day() const { return has_nanoseconds() && wall_.wall_ns != 0; }
  // From now on AppendText gives the time of day. REQUIRES: knows_time_of_day().
  void ShowTimeOfDay() { time_of_day_ = true; }

  bool has_nanoseconds() const { return conversion_.known(); }
  bool emulated() const { return emulated_; }
  // Nanoseconds, or ticks when there is no conversion.
  uint64_t Value(uint64_t tsc) const {
    return conversion_.known() ? conversion_.ToNanoseconds(tsc) : tsc;
  }
  // The same not before any moment of the tick.
  uint64_t UpperValue(uint64_t tsc) const { return Value(tsc) + (conversion_.known() ? 1 : 0); }
  // The first tick whose value is not before that.
  uint64_t TscAt(uint64_t value) const;
  // "969388.448429572" (seconds), "2026-11-21T00:20:01.123456789+0100" as the time of day,
  // "tsc:123" without a conversion, "-" for tsc 0: not known.
  void AppendText(std::string& out, uint64_t tsc) const;

 private:
  TimeConversion conversion_;
  ClockInfo wall_;
  bool time_of_day_ = false;
  bool emulated_;
};

// "12.000000345" from nanoseconds.
std::string SecondsText(uint64_t nanoseconds);
void AppendSeconds(std::string& out, uint64_t nanoseconds);

// "2026-11-21T00:20:01.123456789+0100", in the local time zone, from nanoseconds since 1970.
std::string TimeOfDayText(uint64_t nanoseconds);

// A closed interval of RecordingClock values.
struct TimeSpan {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;

  bool Contains(uint64_t value) const { return value >= begin && value <= end; }
};

// Makes the span reach to `value`.
void Extend(std::optional<TimeSpan>& span, uint64_t value);

// The first and last time of all streams' packets, as clock values; empty when none has a time, or
// the recording's kind of trace is not known.
std::optional<TimeSpan> SpanOfRecording(const Recording& recording, const RecordingClock& clock);
// As SpanOfRecording; if the trace has no times, the first and last time of the samples of calls.
std::optional<TimeSpan> SpanWithSamples(const Recording& recording, const RecordingClock& clock);

}  // namespace flowback
