// SPDX-License-Identifier: MIT
#include "replay/diff/direction_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/hex.h"
#include "base/path_text.h"
#include "replay/coverage/report/by_source.h"

namespace flowback {
namespace {

struct DirectionRow {
  std::string branch;  // key of the branch
  const RunProfile* run = nullptr;
  const ProfiledDirection* shown = nullptr;  // of the new side where it has it
  uint32_t function = 0;                     // number of the matched one
  bool same_build = false;
  bool tells = false;
  std::vector<uint64_t> times[2]{};  // by side, then run
  std::vector<Executed> states[2]{};
};

class DirectionRows {
 public:
  DirectionRows(const ProfiledSides& sides, const MatchedObjects& objects,
                const MatchedFunctions& functions, const MatchedLines& lines,
                const std::vector<LineChange>& executed)
      : sides_(sides), objects_(objects), functions_(functions), lines_(lines) {
    for (const LineChange& line : executed)
      if (line.fate == Fate::kNewlyExecuted || line.fate == Fate::kNoLongerExecuted)
        of_one_side_.insert(line.file + ':' +
                            std::to_string(line.line != 0 ? line.line : line.old_line));
  }

  DirectionChanges Make() {
    for (const bool is_new : {true, false}) {
      const auto runs = sides_.Of(is_new);
      for (size_t r = 0; r < runs.size(); ++r)
        for (const ProfiledDirection& each : runs[r].directions) Add(is_new, r, runs[r], each);
    }
    for (const auto& [key, row] : rows_) AddChange(row);
    result_.unknown += without_place_.size();
    return std::move(result_);
  }

 private:
  struct Keys {
    std::string branch;
    std::string direction;
    bool same_build = false;
    bool tells = false;  // the direction may be one that only one side takes
  };

  std::optional<std::string> PlaceKey(bool is_new, const RunProfile& run,
                                      const SourceLine& at) const {
    if (at.line == 0) return std::nullopt;
    const auto line = lines_.LineOf(is_new, run.files[at.file], at.line);
    if (!line) return std::nullopt;
    return lines_.FileOf(is_new, run.files[at.file]) + ':' + std::to_string(*line);
  }

  std::optional<Keys> KeysOf(bool is_new, const RunProfile& run, const ProfiledDirection& each,
                             uint32_t function) const {
    const std::string begin = std::to_string(function) + '\n';
    const MatchedFunction& matched = functions_.all()[function];
    if (objects_.IsSameBuild(matched.object)) {
      const std::string branch = begin + Hex(each.address);
      return Keys{branch, branch + (each.taken ? "\n1" : "\n0"), true, true};
    }
    const auto at = PlaceKey(is_new, run, each.at);
    const auto to = PlaceKey(is_new, run, each.to);
    if (!at || !to) return std::nullopt;
    const bool tells = of_one_side_.contains(*to);
    return Keys{begin + *at, begin + *at + '\n' + *to, false, tells};
  }

  void Add(bool is_new, size_t number, const RunProfile& run, const ProfiledDirection& each) {
    const uint32_t function = functions_.NumberOf(is_new, number, each.function);
    if (functions_.all()[function].fate() != Fate::kBoth) return;
    const std::optional<Keys> keys = KeysOf(is_new, run, each, function);
    if (!keys) {
      if (each.state == Executed::kYes)
        without_place_.insert({function, is_new, each.address, each.taken});
      return;
    }
    const size_t side = is_new ? 1 : 0;
    DirectionRow& row = rows_[keys->direction];
    if (row.run == nullptr)
      row = {.branch = keys->branch,
             .run = &run,
             .shown = &each,
             .function = function,
             .same_build = keys->same_build,
             .tells = keys->tells};
    if (row.states[0].empty()) Prepare(functions_.all()[function].object, row);
    row.times[side][number] += each.times;
    Executed& state = row.states[side][number];
    state = EitherState(state, each.state);
    if (each.times != 0) reached_[side].insert(keys->branch);
  }

  // A run without the object's file knows of no branch.
  void Prepare(const std::string& object, DirectionRow& row) const {
    for (const bool of_new : {false, true}) {
      const size_t runs = sides_.Of(of_new).size();
      row.times[of_new].resize(runs);
      for (size_t r = 0; r < runs; ++r)
        row.states[of_new].push_back(objects_.LinesUnknown(of_new, r, object) ? Executed::kUnknown
                                                                              : Executed::kNo);
    }
  }

  bool IsReached(size_t side, const std::string& branch) const {
    return reached_[side].contains(branch);
  }
  static DiffPlace PlaceOf(const RunProfile& run, const SourceLine& at) {
    return at.line == 0 ? DiffPlace() : DiffPlace{run.files[at.file], at.line};
  }

  static bool IsExecuted(const DirectionRow& row) {
    return std::ranges::any_of(row.states, [](const std::vector<Executed>& side) {
      return std::ranges::find(side, Executed::kYes) != side.end();
    });
  }

  void AddChange(const DirectionRow& row) {
    if (!IsExecuted(row)) return;
    const Fate fate = FateOf(row.states[0], row.states[1], true, true);
    result_.unknown += fate == Fate::kNotKnown;
    if (fate != Fate::kNewlyExecuted && fate != Fate::kNoLongerExecuted) return;
    const bool reached = IsReached(0, row.branch) && IsReached(1, row.branch);
    const MeasuredChange times{Measured::Of(row.times[0]), Measured::Of(row.times[1])};
    // Of another build, a branch that was not reached may be one that is not there.
    if (!row.tells || (!row.same_build && !reached)) {
      ++result_.unknown;
      return;
    }
    const MatchedFunction& function = functions_.all()[row.function];
    result_.changes.push_back({.object = function.object,
                               .function = function.now.function->name,
                               .at = PlaceOf(*row.run, row.shown->at),
                               .to = PlaceOf(*row.run, row.shown->to),
                               .address = row.same_build ? row.shown->address : 0,
                               .taken = row.shown->taken,
                               .reached = reached,
                               .in_all_runs = ExecutedInAllRuns(row.states[0], row.states[1]),
                               .fate = fate,
                               .times = times});
  }

  const ProfiledSides& sides_;
  const MatchedObjects& objects_;
  const MatchedFunctions& functions_;
  const MatchedLines& lines_;
  std::set<std::string> of_one_side_;  // lines, as PlaceKey
  std::map<std::string, DirectionRow> rows_;
  std::set<std::string> reached_[2];  // by side: branches
  // Executed directions whose lines are not known: function, side, address, whether taken.
  std::set<std::tuple<uint32_t, bool, uint64_t, bool>> without_place_;
  DirectionChanges result_;
};

}  // namespace

DirectionChanges DirectionsOf(const ProfiledSides& sides, const MatchedObjects& objects,
                              const MatchedFunctions& functions, const MatchedLines& lines,
                              const std::vector<LineChange>& executed) {
  return DirectionRows(sides, objects, functions, lines, executed).Make();
}

}  // namespace flowback
