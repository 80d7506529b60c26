// SPDX-License-Identifier: MIT
#include "cli/reading/time_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/recorded/call_samples.h"
#include "cli/text/quantity.h"
#include "cli/text/status.h"

namespace flowback::cli {
namespace {

// --time has two of them, --at one.
Error BadTime(std::string_view option, std::string_view word) {
  const Error error(ErrorCode::kUsage, fmt::format("{}: can't understand '{}'", option, word));
  if (option == "--time")
    return Error(error).Remedy(
        "--time A,B with times as listings print them, e.g. 969388.25,969388.5 (seconds), after "
        "the recording's begin or before its end (+99.4ms,-5ms), or in per cent of it (10%,20%)");
  return Error(error).Remedy(
      fmt::format("{} with a time as listings print it (969388.25), after the recording's begin "
                  "(+99.4ms), before its end (-5ms) or in per cent of it (10%); '#7' is the "
                  "instruction with 7 before it, begin, end, crash and spike:1 are moments, too",
                  option));
}

// "969388.448429572" exactly: a double keeps only 15 to 17 digits.
std::optional<uint64_t> ExactSeconds(std::string_view word) {
  const size_t dot = std::min(word.find('.'), word.size());
  std::string digits(word.substr(0, dot));
  std::string fraction(dot < word.size() ? word.substr(dot + 1) : std::string_view());
  if (fraction.size() > 9) return std::nullopt;
  fraction.resize(9, '0');
  digits += fraction;
  uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, value);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

Result<TimeSpan> WholeSpan(const std::string& option, const Recording& recording,
                           const RecordingClock& clock) {
  if (const auto span = SpanWithSamples(recording, clock)) return *span;
  return Fail(Error(ErrorCode::kUnsupported, option + ": the recording has no time-stamps")
                  .Remedy("leave " + option + " out"));
}

// "+99.4ms" from the recording's begin on, "-5ms" back from its end. No further than the recording.
Result<uint64_t> FromEdge(const std::string& option, const std::string& word,
                          const Recording& recording, const RecordingClock& clock) {
  const Result<uint64_t> distance = ParseDuration(word.substr(1), option);
  if (!distance) return Fail(BadTime(option, word));
  const Result<TimeSpan> span = WholeSpan(option, recording, clock);
  if (!span) return Fail(span.error());
  const uint64_t most = std::min(*distance, span->end - span->begin);
  return word.front() == '+' ? span->begin + most : span->end - most;
}

Result<uint64_t> FromPercent(const std::string& option, const std::string& word,
                             const Recording& recording, const RecordingClock& clock) {
  double percent = 0;
  const char* end = word.data() + word.size() - 1;
  const auto [stop, code] = std::from_chars(word.data(), end, percent, std::chars_format::fixed);
  if (code != std::errc() || stop != end || !(percent >= 0 && percent <= 100))
    return Fail(BadTime(option, word));
  const Result<TimeSpan> span = WholeSpan(option, recording, clock);
  if (!span) return Fail(span.error());
  const double length = static_cast<double>(span->end - span->begin);
  return span->begin + static_cast<uint64_t>(std::llround(length * (percent / 100)));
}

Result<uint64_t> FromTsc(const std::string& option, const std::string& word,
                         const RecordingClock& clock) {
  uint64_t tsc = 0;
  const char* end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, tsc);
  if (word.empty() || code != std::errc() || stop != end) return Fail(BadTime(option, word));
  return clock.Value(tsc);
}

// That nothing is in --time's span; `trace` is from when to when there is trace.
Error NothingInSpan(const RecordingClock& clock, const std::optional<TimeSpan>& trace,
                    const ReaderOptions& options) {
  const std::string start =
      fmt::format("{}: --time {}: nothing to show", options.InputName(), options.time);
  if (!trace)
    return Error(ErrorCode::kUsage, start + ": the trace has no times").Remedy("leave --time out");
  const auto text = [&](uint64_t value) {
    return clock.has_nanoseconds() ? SecondsText(value) : fmt::format("tsc:{}", value);
  };
  const std::string first = text(trace->begin);
  const std::string last = text(trace->end);
  return Error(ErrorCode::kUsage,
               fmt::format("{} in that time; the trace is from {} to {}", start, first, last))
      .Remedy(fmt::format("--time {},{}, or per cent of it: --time 10%,20%", first, last));
}

}  // namespace

Result<uint64_t> ParseTime(const std::string& option, const std::string& word,
                           const Recording& recording, const RecordingClock& clock) {
  if (word.starts_with("tsc:")) return FromTsc(option, word.substr(4), clock);
  if (word.ends_with('%')) return FromPercent(option, word, recording, clock);
  if (word == "begin" || word == "end") {
    const Result<TimeSpan> span = WholeSpan(option, recording, clock);
    if (!span) return Fail(span.error());
    return word == "begin" ? span->begin : span->end;
  }
  if (!clock.has_nanoseconds())
    return Fail(
        Error(ErrorCode::kUnsupported,
              fmt::format("{}: the recording does not say how its time-stamps convert to seconds",
                          option))
            .Remedy(option == "--time" ? "--time tsc:A,tsc:B, or per cent"
                                       : option + " tsc:N, or per cent"));
  if (word.starts_with('+') || word.starts_with('-'))
    return FromEdge(option, word, recording, clock);
  if (const auto exact = ExactSeconds(word)) return *exact;
  Result<uint64_t> duration = ParseDuration(word, option);
  if (!duration) return Fail(BadTime(option, word));
  return duration;
}

Status ShowTimeOfDay(RecordingClock& clock) {
  if (!clock.has_nanoseconds())
    return Fail(
        Error(ErrorCode::kUnsupported,
              "--tod: the recording does not say how its time-stamps convert to seconds, so there "
              "is no time of day")
            .Remedy("leave --tod out"));
  if (!clock.knows_time_of_day())
    return Fail(Error(ErrorCode::kUnsupported,
                      "--tod: the recording does not say what time of day its clock showed")
                    .Remedy("record with `flowback record` (without --clock instructions), or perf "
                            "record -k CLOCK_MONOTONIC, which write that down; or leave --tod "
                            "out"));
  clock.ShowTimeOfDay();
  return {};
}

Result<TimeSpan> ParseTimeSpan(const std::string& text, const Recording& recording,
                               const RecordingClock& clock) {
  TimeSpan span;
  if (text.empty()) return span;
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return Fail(BadTime("--time", text));
  if (comma > 0) {
    const auto begin = ParseTime("--time", text.substr(0, comma), recording, clock);
    if (!begin) return Fail(begin.error());
    span.begin = *begin;
  }
  if (comma + 1 < text.size()) {
    const auto end = ParseTime("--time", text.substr(comma + 1), recording, clock);
    if (!end) return Fail(end.error());
    span.end = *end;
  }
  if (span.end < span.begin)
    return Fail(Error(ErrorCode::kUsage, fmt::format("--time: '{}' ends before it begins", text))
                    .Remedy("--time A,B with the earlier time first"));
  return span;
}

Status CheckSpan(const Recording& recording, const RecordingClock& clock, TimeSpan span,
                 const ReaderOptions& options) {
  const std::optional<TimeSpan> trace = SpanOfRecording(recording, clock);
  if (!trace || options.time.empty()) return {};
  if (span.begin <= trace->end && span.end >= trace->begin) return {};
  return Fail(NothingInSpan(clock, trace, options));
}

Status JudgeEmptySpan(const Recording& recording, const RecordingClock& clock, TimeSpan span,
                      const ReaderOptions& options) {
  if (Status status = CheckSpan(recording, clock, span, options); !status) return status;
  const Error nothing = NothingInSpan(clock, SpanOfRecording(recording, clock), options);
  Warn(nothing.message(), {nothing.remedy()});
  return {};
}

}  // namespace flowback::cli
