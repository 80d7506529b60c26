// SPDX-License-Identifier: MIT
// A limit that a comparison is held against: "instructions(main) > 1.02x" fails a check.
//
//   MEASURE(FUNCTION) > BOUND       also >=, <, <=
//   MEASURE: instructions, self, calls, time, off_cpu of a function, or with () of all;
//            waits, waiting: number and time of waits in a function, or in one that it called;
//            coverage(lines), coverage(branches), ...; new() and gone() count functions
//   BOUND:   1.02x  the new value by the old one        +5%  the change by the old one
//            1000   the new value                       +1000  the difference
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/name_pattern.h"
#include "flowback/base/error.h"
#include "replay/diff/run_comparison.h"

namespace flowback {

struct DiffLimit {
  enum class Measure : uint8_t {
    kInstructions,  // with callees
    kSelf,
    kCalls,
    kTime,    // with callees, also off the CPU; nanoseconds
    kOffCpu,  // nanoseconds
    kWaits,
    kWaiting,  // nanoseconds
    kCoverage,
    kNew,
    kGone,
  };
  enum class Kind : uint8_t { kValue, kDifference, kRatio, kPercent };

  // Errors: kUsage, with the place in the text.
  static Result<DiffLimit> Parse(const std::string& text);

  // Whether it needs the waits of both sides.
  bool MeasuresWaits() const { return measure == Measure::kWaits || measure == Measure::kWaiting; }
  // Whether the value is in nanoseconds.
  bool MeasuresTime() const {
    return measure == Measure::kTime || measure == Measure::kOffCpu || measure == Measure::kWaiting;
  }

  std::string text;
  Measure measure{};
  std::string of;  // the words in parentheses; empty: all
  std::optional<NamePattern> function;
  bool above = true;   // exceeded if the value is above the bound; else if it is below
  bool equal = false;  // also if it equals the bound
  Kind kind = Kind::kValue;
  double bound = 0;
};

struct LimitOutcome {
  bool exceeded = false;
  std::string
      problem;  // not empty: nothing could be held against the limit, which counts as failed
  std::string remedy;
  bool names_nothing = false;  // the problem: no side has the function, as if it were misspelt
  MeasuredChange change;       // for coverage per cent
  bool is_noise = false;       // it would be exceeded, but the sides differ no more than repeats do

  bool passed() const { return !exceeded && problem.empty(); }
};

LimitOutcome Hold(const DiffLimit& limit, const RunComparison& diff);

}  // namespace flowback
