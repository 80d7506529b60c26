// SPDX-License-Identifier: MIT
#include "cli/reading/moment_words.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/reading/spike_moment.h"
#include "cli/reading/time_words.h"

namespace flowback::cli {
namespace {

using Kind = NamedMoment::Kind;

Result<NamedMoment> Instruction(const std::string& option, const std::string& word) {
  NamedMoment moment{.kind = Kind::kInstruction};
  const char* const end = word.data() + word.size();
  const auto [rest, code] = std::from_chars(word.data() + 1, end, moment.value);
  if (code == std::errc() && rest == end) return moment;
  return Fail(Error(ErrorCode::kUsage, fmt::format("{}: cannot understand '{}'", option, word))
                  .Remedy(option + " '#7': before the instruction with 7 of its thread before it"));
}

Result<NamedMoment> Crash(const std::string& option, const Recording& recording) {
  const bool crashed = std::ranges::any_of(
      recording.process_ends, [](const ProcessEnd& end) { return WIFSIGNALED(end.wait_status); });
  if (crashed) return NamedMoment{.kind = Kind::kCrash};
  return Fail(Error(ErrorCode::kUsage, fmt::format("{} crash: no recorded process crashed", option))
                  .Remedy(option + " end"));
}

// A user who types 6179 may mean an instruction.
Status CheckNumber(const std::string& option, const std::string& word, uint64_t time,
                   const Recording& recording, const RecordingClock& clock) {
  const bool is_number = std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
  const auto span = is_number ? SpanWithSamples(recording, clock) : std::nullopt;
  if (!span || (time >= span->begin && time <= span->end)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("{} {}: a number is a time in seconds, and the recording is from "
                                "{} to {}",
                                option, word, SecondsText(span->begin), SecondsText(span->end)))
                  .Remedy(fmt::format("{} {} for the thread's instruction of that number", option,
                                      option.starts_with("--") ? "'#" + word + "'" : "#" + word)));
}

}  // namespace

Result<NamedMoment> ParseMoment(const std::string& option, const std::string& word,
                                const Recording& recording, const RecordingClock& clock) {
  if (word == "begin") return NamedMoment{.kind = Kind::kBegin};
  if (word == "end") return NamedMoment{.kind = Kind::kEnd};
  if (word == "crash") return Crash(option, recording);
  if (NamesSpike(word)) return NamedMoment{.kind = Kind::kSpike};
  if (word.starts_with('#')) return Instruction(option, word);
  const Result<uint64_t> time = ParseTime(option, word, recording, clock);
  if (!time) return Fail(time.error());
  if (Status status = CheckNumber(option, word, *time, recording, clock); !status)
    return Fail(status.error());
  return NamedMoment{.kind = Kind::kTime, .value = *time};
}

Result<uint64_t> TimeOf(const NamedMoment& moment, const std::string& option,
                        const Recording& recording, const RecordingClock& clock) {
  if (moment.kind == Kind::kTime) return moment.value;
  return ParseTime(option, moment.kind == Kind::kBegin ? "begin" : "end", recording, clock);
}

}  // namespace flowback::cli
