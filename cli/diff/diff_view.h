// SPDX-License-Identifier: MIT
// What the writers of `flowback diff` get.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/writers.h"
#include "replay/diff/diff_limit.h"
#include "replay/diff/run_comparison.h"

namespace flowback::cli {

struct DiffView {
  const RunComparison& diff;
  std::vector<std::string> old;  // inputs
  std::vector<std::string> now;
  std::span<const DiffLimit> limits;
  std::span<const LimitOutcome> outcomes;  // of the limits
  size_t rows = 10;
  double min_change = 0.1;  // per cent of all instructions
  bool waits = false;       // they were asked for
  size_t width = 120;

  // Whether a change of this many instructions is worth a row.
  bool IsLarge(const MeasuredChange& change) const;
};

// Returns the answer in sentences, the largest change first.
std::vector<std::string> DiffSentences(const DiffView& view);
void WriteDiffText(const DiffView& view, TextSink& sink);
// The number of objects that were not written, by type.
using LeftOut = std::map<std::string, size_t>;
// Writes at most `most` objects of each type. The largest changes come first.
LeftOut WriteDiffJson(const DiffView& view, TextSink& sink, size_t most = SIZE_MAX);
void WriteDiffHtml(const DiffView& view, TextSink& sink);
void WriteDiffJunit(const DiffView& view, TextSink& sink);
void WriteDiffSarif(const DiffView& view, TextSink& sink);

// Returns "+1,234", "-5" or "0".
std::string SignedDigits(double number);
// Returns "12.4 % more", "3.20 times as many" or "as many".
std::string MoreOrFewer(const MeasuredChange& change);
// Returns the function's printable name. Code without one is "[FILE+0xADDRESS]", or words without
// an address (0).
std::string FunctionText(const std::string& name, const std::string& object, uint64_t address);
// Returns "orders.cc:61", or nothing.
std::string PlaceText(const DiffPlace& place);
// Returns what the limit found, such as "instructions(main) is 1,387,654, 1.124 times the 1,234,567
// of the old side".
std::string OutcomeText(const DiffLimit& limit, const LimitOutcome& outcome);

}  // namespace flowback::cli
