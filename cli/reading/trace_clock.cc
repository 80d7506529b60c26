// SPDX-License-Identifier: MIT
#include "cli/reading/trace_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <iterator>

#include "cli/text/quantity.h"
#include "flowback/decode/trace_source.h"

namespace flowback::cli {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

Error BadTime(std::string_view word) {
  return Error(ErrorCode::kUsage, fmt::format("--time: can't understand '{}'", word))
      .Remedy(
          "--time A,B with times as listings print them, e.g. 969388.25,969388.5 (seconds), or "
          "with per cent of the recording: --time 10%,20%");
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

Result<uint64_t> FromPercent(const std::string& word, const Recording& recording,
                             const TraceClock& clock) {
  double percent = 0;
  const char* end = word.data() + word.size() - 1;
  const auto [stop, code] = std::from_chars(word.data(), end, percent, std::chars_format::fixed);
  if (code != std::errc() || stop != end || !(percent >= 0 && percent <= 100))
    return Fail(BadTime(word));
  const auto span = SpanOfRecording(recording, clock);
  if (!span)
    return Fail(Error(ErrorCode::kUnsupported, "--time: the recording has no time-stamps")
                    .Remedy("leave --time out"));
  const double length = static_cast<double>(span->end - span->begin);
  return span->begin + static_cast<uint64_t>(std::llround(length * (percent / 100)));
}

Result<uint64_t> FromTsc(const std::string& word, const TraceClock& clock) {
  uint64_t tsc = 0;
  const char* end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, tsc);
  if (word.empty() || code != std::errc() || stop != end) return Fail(BadTime(word));
  return clock.Value(tsc);
}

Result<uint64_t> ParseBound(const std::string& word, const Recording& recording,
                            const TraceClock& clock) {
  if (word.starts_with("tsc:")) return FromTsc(word.substr(4), clock);
  if (word.ends_with('%')) return FromPercent(word, recording, clock);
  if (!clock.has_nanoseconds())
    return Fail(Error(ErrorCode::kUnsupported,
                      "--time: the recording does not say how its time-stamps convert to seconds")
                    .Remedy("--time tsc:A,tsc:B, or per cent"));
  if (const auto exact = ExactSeconds(word)) return *exact;
  Result<uint64_t> duration = ParseDuration(word, "--time");
  if (!duration) return Fail(BadTime(word));
  return duration;
}

}  // namespace

// By hand, because it is part of most lines.
void AppendSeconds(std::string& out, uint64_t nanoseconds) {
  char text[32];
  char* at = std::to_chars(text, text + sizeof text, nanoseconds / kSecond).ptr;
  *at = '.';
  uint64_t rest = nanoseconds % kSecond;
  for (int digit = 9; digit > 0; --digit, rest /= 10)
    at[digit] = static_cast<char>('0' + rest % 10);
  out.append(text, at + 10);
}

std::string SecondsText(uint64_t nanoseconds) {
  std::string text;
  AppendSeconds(text, nanoseconds);
  return text;
}

Status TraceClock::ShowTimeOfDay() {
  if (!has_nanoseconds())
    return Fail(
        Error(ErrorCode::kUnsupported,
              "--tod: the recording does not say how its time-stamps convert to seconds, so there "
              "is no time of day")
            .Remedy("leave --tod out"));
  if (wall_.wall_ns == 0)
    return Fail(Error(ErrorCode::kUnsupported,
                      "--tod: the recording does not say what time of day its clock showed")
                    .Remedy("record with `flowback record` (without --clock instructions), or perf "
                            "record -k CLOCK_MONOTONIC, which write that down; or leave --tod "
                            "out"));
  time_of_day_ = true;
  return {};
}

// ISO 8601 in the local time zone, without spaces: one column.
std::string TimeOfDayText(uint64_t nanoseconds) {
  const time_t seconds = static_cast<time_t>(nanoseconds / kSecond);
  tm local{};
  char date[32] = "";
  char zone[8] = "";
  if (localtime_r(&seconds, &local) != nullptr) {
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &local);
    strftime(zone, sizeof(zone), "%z", &local);
  }
  return fmt::format("{}.{:09}{}", date, nanoseconds % kSecond, zone);
}

void TraceClock::AppendText(std::string& out, uint64_t tsc) const {
  if (tsc == 0) {
    out += '-';
  } else if (!conversion_.known()) {
    fmt::format_to(std::back_inserter(out), "tsc:{}", tsc);
  } else if (time_of_day_) {
    out += TimeOfDayText(wall_.wall_ns + (conversion_.ToNanoseconds(tsc) - wall_.clock_ns));
  } else {
    AppendSeconds(out, conversion_.ToNanoseconds(tsc));
  }
}

std::optional<TimeSpan> SpanOfRecording(const Recording& recording, const TraceClock& clock) {
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

void Extend(std::optional<TimeSpan>& span, uint64_t value) {
  if (!span) span = TimeSpan{value, value};
  span->begin = std::min(span->begin, value);
  span->end = std::max(span->end, value);
}

Result<TimeSpan> ParseTimeSpan(const std::string& text, const Recording& recording,
                               const TraceClock& clock) {
  TimeSpan span;
  if (text.empty()) return span;
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return Fail(BadTime(text));
  if (comma > 0) {
    const auto begin = ParseBound(text.substr(0, comma), recording, clock);
    if (!begin) return Fail(begin.error());
    span.begin = *begin;
  }
  if (comma + 1 < text.size()) {
    const auto end = ParseBound(text.substr(comma + 1), recording, clock);
    if (!end) return Fail(end.error());
    span.end = *end;
  }
  if (span.end < span.begin)
    return Fail(Error(ErrorCode::kUsage, fmt::format("--time: '{}' ends before it begins", text))
                    .Remedy("--time A,B with the earlier time first"));
  return span;
}

}  // namespace flowback::cli
