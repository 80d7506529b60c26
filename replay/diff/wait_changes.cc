// SPDX-License-Identifier: MIT
#include "replay/diff/wait_changes.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "replay/diff/function_changes.h"

namespace flowback {
namespace {

using Names = std::pair<std::string, std::string>;

// The sums of one place in each run.
struct WaitRow {
  std::vector<ProfiledWait> sides[2];  // old, new
};

template <class Member>
Measured MeasureSide(const std::vector<ProfiledWait>& side, Member member) {
  std::vector<uint64_t> values;
  for (const ProfiledWait& each : side) values.push_back(each.*member);
  return Measured::Of(values);
}

template <class Member>
MeasuredChange MeasureRow(const WaitRow& row, Member member) {
  return {MeasureSide(row.sides[0], member), MeasureSide(row.sides[1], member)};
}

// A run that lost trace may have waited unseen.
std::vector<Executed> StatesOf(const std::vector<ProfiledWait>& side,
                               std::span<const RunProfile> runs) {
  std::vector<Executed> states;
  for (size_t r = 0; r < runs.size(); ++r)
    states.push_back(side[r].waits != 0   ? Executed::kYes
                     : runs[r].has_losses ? Executed::kUnknown
                                          : Executed::kNo);
  return states;
}

}  // namespace

std::vector<WaitChange> WaitsOf(const ProfiledSides& sides) {
  std::map<Names, WaitRow> rows;
  for (const bool is_new : {false, true}) {
    const std::span<const RunProfile> runs = sides.Of(is_new);
    for (size_t r = 0; r < runs.size(); ++r)
      for (const ProfiledWait& each : runs[r].waits) {
        WaitRow& row = rows[{each.function, each.caller}];
        for (const bool side : {false, true}) row.sides[side].resize(sides.Of(side).size());
        row.sides[is_new][r].Add(each);
      }
  }
  std::vector<WaitChange> changes;
  for (const auto& [names, row] : rows) {
    const std::vector<Executed> old = StatesOf(row.sides[0], sides.old);
    const std::vector<Executed> now = StatesOf(row.sides[1], sides.now);
    changes.push_back({.function = names.first,
                       .caller = names.second,
                       .fate = FateOf(old, now, true, true),
                       .in_all_runs = ExecutedInAllRuns(old, now),
                       .waits = MeasureRow(row, &ProfiledWait::waits),
                       .trips = MeasureRow(row, &ProfiledWait::trips),
                       .waiting = MeasureRow(row, &ProfiledWait::waiting)});
  }
  return changes;
}

}  // namespace flowback
