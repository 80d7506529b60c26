// SPDX-License-Identifier: MIT
#include "replay/diff/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "replay/diff/direction_changes.h"
#include "replay/diff/function_changes.h"
#include "replay/diff/line_changes.h"
#include "replay/diff/matched_names.h"
#include "replay/diff/wait_changes.h"

namespace flowback {
namespace {

template <class Of>
MeasuredChange MeasureRuns(const ProfiledSides& sides, const Of& of) {
  const auto measure = [&](std::span<const RunProfile> runs) {
    std::vector<uint64_t> values;
    for (const RunProfile& run : runs) values.push_back(of(run));
    return Measured::Of(values);
  };
  return {measure(sides.old), measure(sides.now)};
}

template <class Has>
bool AllRuns(const ProfiledSides& sides, const Has& has) {
  return std::ranges::all_of(sides.old, has) && std::ranges::all_of(sides.now, has);
}

MeasuredChange MeasurePercent(const ProfiledSides& sides, CoverageShare CoverageShares::* share) {
  const auto measure = [&](std::span<const RunProfile> runs) {
    std::vector<double> percents;
    for (const RunProfile& run : runs)
      if (const CoverageShare& of = run.shares.*share; of.total != 0)
        percents.push_back(100 * static_cast<double>(of.executed) / static_cast<double>(of.total));
    return Measured::Of(percents);
  };
  return {measure(sides.old), measure(sides.now)};
}

std::array<CoverageMeasure, 5> MeasureCoverage(const ProfiledSides& sides) {
  constexpr std::pair<const char*, CoverageShare CoverageShares::*> kShares[] = {
      {"functions", &CoverageShares::functions},
      {"blocks", &CoverageShares::blocks},
      {"branches", &CoverageShares::branches},
      {"instructions", &CoverageShares::instructions},
      {"lines", &CoverageShares::lines}};
  std::array<CoverageMeasure, 5> result;
  for (size_t i = 0; i < result.size(); ++i) {
    const auto share = kShares[i].second;
    result[i].name = kShares[i].first;
    result[i].executed =
        MeasureRuns(sides, [&](const RunProfile& run) { return (run.shares.*share).executed; });
    result[i].total =
        MeasureRuns(sides, [&](const RunProfile& run) { return (run.shares.*share).total; });
    result[i].percent = MeasurePercent(sides, share);
  }
  return result;
}

// Functions by source file and line, to find the one that holds a line.
class FunctionPlaces {
 public:
  explicit FunctionPlaces(const std::vector<FunctionChange>& functions) {
    for (const FunctionChange& each : functions)
      if (const uint32_t line = each.place().line; line != 0)
        places_[each.file].emplace(line, &each);
  }
  const FunctionChange* Find(const std::string& file, uint32_t line) const {
    const auto of_file = places_.find(file);
    if (of_file == places_.end()) return nullptr;
    auto at = of_file->second.upper_bound(line);
    if (at == of_file->second.begin()) return nullptr;
    --at;
    return line <= at->second->last_line ? at->second : nullptr;
  }

 private:
  std::map<std::string, std::map<uint32_t, const FunctionChange*>> places_;
};

void NameFunctionsOfLines(const MatchedFiles& files, RunComparison& diff) {
  for (FunctionChange& each : diff.functions)
    each.file = files.NameOf(each.at.line != 0, each.place().file);
  const FunctionPlaces places(diff.functions);
  for (LineChange& line : diff.lines) {
    const FunctionChange* const function =
        places.Find(line.file, line.line != 0 ? line.line : line.old_line);
    if (function == nullptr) continue;
    line.function = function->name;
    line.in_new_function = function->fate != Fate::kBoth && function->fate != Fate::kNotKnown;
  }
}

// Finds functions that one side has as such, and the other one inlined in others.
void FindInlined(const ProfiledSides& sides, const MatchedObjects& objects, RunComparison& diff) {
  std::map<std::string, std::set<std::string>> inlined[2];
  for (const bool is_new : {false, true})
    for (const RunProfile& run : sides.Of(is_new))
      for (const ProfiledObject& object : run.objects)
        inlined[is_new][objects.NameOf(is_new, object)].insert(object.inlined.begin(),
                                                               object.inlined.end());
  for (FunctionChange& each : diff.functions) {
    const std::string name = WithoutParameterTypes(each.name);
    if (each.fate == Fate::kRemoved && inlined[1][each.object].contains(name))
      each.fate = Fate::kInlined;
    if (each.fate == Fate::kAdded && inlined[0][each.object].contains(name))
      each.fate = Fate::kNoLongerInlined;
  }
}

void AddWaits(const ProfiledSides& sides, RunComparison& diff) {
  const auto sum = [](uint64_t ProfiledWait::* member) {
    return [member](const RunProfile& run) {
      uint64_t all = 0;
      for (const ProfiledWait& each : run.waits) all += each.*member;
      return all;
    };
  };
  diff.has_waits = AllRuns(sides, [](const RunProfile& run) { return run.has_waits; });
  if (!diff.has_waits) return;
  diff.waits = WaitsOf(sides);
  diff.all_waits = MeasureRuns(sides, sum(&ProfiledWait::waits));
  diff.waiting = MeasureRuns(sides, sum(&ProfiledWait::waiting));
}

void SortChanges(RunComparison& diff) {
  std::ranges::stable_sort(diff.waits, std::greater{}, [&](const WaitChange& each) {
    return std::abs((diff.has_times ? each.waiting : each.waits).delta());
  });
  std::ranges::stable_sort(diff.functions, std::greater{}, [](const FunctionChange& each) {
    return std::pair(std::abs(each.self.delta()), each.self.now.mean);
  });
  std::ranges::stable_sort(diff.lines, std::greater{}, [](const LineChange& each) {
    return std::pair(std::abs(each.instructions.delta()), each.instructions.now.mean);
  });
  std::ranges::stable_sort(diff.directions, std::greater{}, [](const DirectionChange& each) {
    return std::pair(each.reached, std::abs(each.times.delta()));
  });
}

}  // namespace

const char* Name(Fate fate) {
  switch (fate) {
    case Fate::kBoth:
      return "both";
    case Fate::kNewlyExecuted:
      return "newly_executed";
    case Fate::kAdded:
      return "added";
    case Fate::kNoLongerExecuted:
      return "no_longer_executed";
    case Fate::kRemoved:
      return "removed";
    case Fate::kInlined:
      return "inlined";
    case Fate::kNoLongerInlined:
      return "no_longer_inlined";
    case Fate::kNotKnown:
      return "not_known";
  }
  return "";
}

RunComparison Compare(std::span<const RunProfile> old, std::span<const RunProfile> now) {
  const ProfiledSides sides{old, now};
  const MatchedObjects objects(sides);
  const MatchedFunctions functions(sides, objects);
  const MatchedFiles files(sides);
  const MatchedLines lines(sides, objects, files, functions);
  RunComparison diff;
  diff.instructions = MeasureRuns(sides, [](const RunProfile& run) { return run.instructions; });
  diff.duration = MeasureRuns(sides, [](const RunProfile& run) { return run.duration; });
  diff.off_cpu = MeasureRuns(sides, [](const RunProfile& run) { return run.off_cpu; });
  diff.objects = objects.All();
  diff.functions = ChangesOf(functions);
  LineChanges changed = ChangesOf(sides, objects, lines);
  diff.lines = std::move(changed.lines);
  diff.unmatched_lines = changed.unmatched;
  DirectionChanges directions = DirectionsOf(sides, objects, functions, lines, diff.lines);
  diff.directions = std::move(directions.changes);
  diff.unknown_directions = directions.unknown;
  diff.coverage = MeasureCoverage(sides);
  AddWaits(sides, diff);
  diff.old_lost = std::ranges::any_of(old, &RunProfile::has_losses);
  diff.lost = std::ranges::any_of(now, &RunProfile::has_losses);
  diff.emulated = !AllRuns(sides, [](const RunProfile& run) { return !run.emulated; });
  diff.sampled = !AllRuns(sides, [](const RunProfile& run) { return !run.sampled; });
  diff.has_calls = AllRuns(sides, [](const RunProfile& run) { return run.has_calls; });
  diff.has_times = AllRuns(sides, [](const RunProfile& run) { return run.has_times; });
  diff.is_part = !AllRuns(sides, [](const RunProfile& run) { return !run.is_part; });
  diff.same_builds = std::ranges::all_of(diff.objects, [](const ObjectMatch& object) {
    return !object.executed || object.same_build;
  });
  FindInlined(sides, objects, diff);
  NameFunctionsOfLines(files, diff);
  SortChanges(diff);
  return diff;
}

const LineChange* MostChangedLine(const RunComparison& diff, const FunctionChange& function) {
  if (function.place().line == 0) return nullptr;
  for (const LineChange& line : diff.lines)
    if (line.function == function.name && line.file == function.file &&
        line.instructions.delta() * function.self.delta() > 0)
      return &line;
  return nullptr;
}

}  // namespace flowback
