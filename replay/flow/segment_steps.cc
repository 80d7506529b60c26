// SPDX-License-Identifier: MIT
#include "replay/flow/segment_steps.h"

#include <algorithm>

namespace flowback {

uint32_t ToldRuns::Add(const BlockRun& run) {
  const Key key{run.space, run.address, run.lengths.size(), run.last, run.exit};
  const auto [at, added] = numbers_.try_emplace(key, static_cast<uint32_t>(runs_.size()));
  if (!added) return at->second;
  Kept& kept = runs_.emplace_back();
  kept.lengths = std::make_unique<std::vector<uint8_t>>(run.lengths.begin(), run.lengths.end());
  kept.run.address = run.address;
  kept.run.lengths = *kept.lengths;
  kept.run.mode = run.mode;
  kept.run.space = run.space;
  kept.run.last = run.last;
  kept.run.exit = run.exit;
  return at->second;
}

SegmentSteps StepMarks::Take() {
  SegmentSteps steps{
      .known = true, .addresses = std::exchange(addresses_, false), .tables = {}, .runs = {}};
  for (auto& [table, marks] : tables_) {
    SegmentSteps::PerTable of{.table = table, .ways = {}};
    for (size_t block = 0; block < marks.size(); ++block) {
      if (marks[block] == 0) continue;
      const size_t word = block / SegmentSteps::kWaysOfWord;
      if (word >= of.ways.size()) of.ways.resize(word + 1);
      of.ways[word] |= uint64_t{marks[block]} << (4 * (block % SegmentSteps::kWaysOfWord));
      marks[block] = 0;
    }
    if (!of.ways.empty()) steps.tables.push_back(std::move(of));
  }
  std::ranges::sort(run_numbers_);
  const auto repeated = std::ranges::unique(run_numbers_);
  steps.runs.assign(run_numbers_.begin(), repeated.begin());
  run_numbers_.clear();
  size_t words = steps.runs.size();
  for (const SegmentSteps::PerTable& of : steps.tables) words += of.ways.size();
  if (words > room_) return {};
  room_ -= words;
  return steps;
}

}  // namespace flowback
