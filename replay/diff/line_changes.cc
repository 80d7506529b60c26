// SPDX-License-Identifier: MIT
#include "replay/diff/line_changes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "replay/coverage/report/by_source.h"
#include "replay/diff/aligned_lines.h"

namespace flowback {
namespace {

struct LineSums {
  Executed state = Executed::kNo;
  uint64_t times = 0;
  uint64_t instructions = 0;
};

// A line of the new side, or one that only the old side has.
struct LineRow {
  uint32_t old_line = 0;
  uint32_t line = 0;
  bool found = true;
  std::string_view text;
  std::vector<LineSums> old;  // by run
  std::vector<LineSums> now;
  std::vector<const std::string*> objects;  // names, as MatchedObjects has them
};

class LineRows {
 public:
  LineRows(const ProfiledSides& sides, const MatchedObjects& objects, const MatchedLines& lines)
      : sides_(sides), objects_(objects), lines_(lines) {}

  LineChanges Make() {
    Add(true);
    Add(false);
    LineChanges result;
    for (auto& [key, row] : rows_) {
      MarkUnknown(row);
      AddChange(std::get<0>(key), row, result);
    }
    AddNextLines(result.lines);
    return result;
  }

 private:
  void Add(bool is_new) {
    const auto runs = sides_.Of(is_new);
    for (size_t r = 0; r < runs.size(); ++r)
      for (const ProfiledLine& line : runs[r].lines) Add(is_new, r, runs[r], line);
  }

  void Add(bool is_new, size_t number, const RunProfile& run, const ProfiledLine& line) {
    const std::string& file = run.files[line.at.file];
    const auto place = lines_.LineOf(is_new, file, line.at.line);
    LineRow& row = rows_[{lines_.FileOf(is_new, file), !place, place.value_or(line.at.line)}];
    row.old.resize(sides_.old.size());
    row.now.resize(sides_.now.size());
    (is_new ? row.line : row.old_line) = line.at.line;
    row.found = place.has_value();
    if (is_new || row.text.empty()) row.text = line.text;
    const std::string* const object = &objects_.NameOf(is_new, run.objects[line.object]);
    if (std::ranges::find(row.objects, object) == row.objects.end()) row.objects.push_back(object);
    LineSums& sums = (is_new ? row.now : row.old)[number];
    sums.state = EitherState(sums.state, line.state);
    sums.times += line.times;
    sums.instructions += line.instructions;
  }

  template <class Member>
  static MeasuredChange Measure(const LineRow& row, Member member) {
    std::vector<uint64_t> old;
    std::vector<uint64_t> now;
    for (const LineSums& each : row.old) old.push_back(each.*member);
    for (const LineSums& each : row.now) now.push_back(each.*member);
    return {Measured::Of(old), Measured::Of(now)};
  }

  static std::vector<Executed> States(const std::vector<LineSums>& side) {
    std::vector<Executed> states;
    for (const LineSums& each : side) states.push_back(each.state);
    return states;
  }

  bool LacksFile(bool is_new, const LineRow& row) const {
    return std::ranges::any_of(row.objects, [&](const std::string* object) {
      return objects_.LacksFile(is_new, *object);
    });
  }

  void MarkUnknown(LineRow& row) const {
    for (const bool is_new : {false, true}) {
      std::vector<LineSums>& side = is_new ? row.now : row.old;
      for (size_t r = 0; r < side.size(); ++r)
        if (side[r].state == Executed::kNo &&
            std::ranges::any_of(row.objects, [&](const std::string* object) {
              return objects_.LinesUnknown(is_new, r, *object);
            }))
          side[r].state = Executed::kUnknown;
    }
  }

  // By file: the lines that have code on a side.
  std::map<std::string_view, std::set<uint32_t>> LinesOfCode(uint32_t LineRow::* number) const {
    std::map<std::string_view, std::set<uint32_t>> result;
    for (const auto& [key, row] : rows_)
      if (row.*number != 0) result[std::get<0>(key)].insert(row.*number);
    return result;
  }

  void AddNextLines(std::vector<LineChange>& lines) const {
    const auto old = LinesOfCode(&LineRow::old_line);
    const auto now = LinesOfCode(&LineRow::line);
    const auto next = [](const auto& of_side, const std::string& file, uint32_t line) {
      const auto found = of_side.find(file);
      if (line == 0 || found == of_side.end()) return uint32_t{0};
      const auto behind = found->second.upper_bound(line);
      return behind == found->second.end() ? 0 : *behind;
    };
    for (LineChange& each : lines) {
      each.next_old_line = next(old, each.file, each.old_line);
      each.next_line = next(now, each.file, each.line);
    }
  }

  void AddChange(const std::string& file, const LineRow& row, LineChanges& result) const {
    const std::vector<Executed> old = States(row.old);
    const std::vector<Executed> now = States(row.now);
    const auto executed = [](const std::vector<Executed>& states) {
      return std::ranges::find(states, Executed::kYes) != states.end();
    };
    if (!executed(old) && !executed(now)) return;
    const bool old_may_exist = LacksFile(false, row);
    const bool may_exist = LacksFile(true, row);
    if (!row.found && !may_exist) ++result.unmatched;
    result.lines.push_back(
        {.file = file,
         .old_line = row.old_line,
         .line = row.line,
         .found = row.found,
         .text = std::string(row.text),
         .function = {},
         .fate = FateOf(old, now, row.old_line != 0 || old_may_exist, row.line != 0 || may_exist),
         .in_all_runs = ExecutedInAllRuns(old, now),
         .times = Measure(row, &LineSums::times),
         .instructions = Measure(row, &LineSums::instructions)});
  }

  const ProfiledSides& sides_;
  const MatchedObjects& objects_;
  const MatchedLines& lines_;
  // By file, whether only the old side has it, and number.
  std::map<std::tuple<std::string, bool, uint32_t>, LineRow> rows_;
};

}  // namespace

MatchedLines::MatchedLines(const ProfiledSides& sides, const MatchedObjects& objects,
                           const MatchedFiles& files, const MatchedFunctions& functions)
    : sides_(sides), files_(files) {
  FindChanged(objects);
  if (changed_.empty()) return;
  AlignTexts();
  FindFunctions(functions);
}

void MatchedLines::FindChanged(const MatchedObjects& objects) {
  for (const bool is_new : {false, true})
    for (const RunProfile& run : sides_.Of(is_new)) {
      std::vector<bool> same;
      for (const ProfiledObject& object : run.objects)
        same.push_back(objects.IsSameBuild(objects.NameOf(is_new, object)));
      for (const ProfiledLine& line : run.lines)
        if (!same[line.object]) changed_.insert(files_.NameOf(is_new, run.files[line.at.file]));
    }
}

std::map<std::string, MatchedLines::Texts> MatchedLines::TextsOf(std::span<const RunProfile> runs,
                                                                 const std::set<std::string>& files,
                                                                 const MatchedFiles& names,
                                                                 bool is_new) {
  std::map<std::string, Texts> result;
  for (const RunProfile& run : runs)
    for (const ProfiledLine& line : run.lines) {
      const std::string& file = names.NameOf(is_new, run.files[line.at.file]);
      if (!line.text.empty() && files.contains(file)) result[file].emplace(line.at.line, line.text);
    }
  return result;
}

// Text is known of sources only that are as they were compiled: what lies at one path then is the
// source of both sides.
bool MatchedLines::IsOneFile(const std::string& file) const {
  for (const RunProfile& run : sides_.old)
    for (const std::string& each : run.files)
      if (each != file && files_.NameOf(false, each) == file) return false;
  return true;
}

void MatchedLines::AlignTexts() {
  const auto old = TextsOf(sides_.old, changed_, files_, false);
  const auto now = TextsOf(sides_.now, changed_, files_, true);
  for (const auto& [file, before] : old) {
    const auto after = now.find(file);
    if (after == now.end()) continue;
    if (IsOneFile(file)) {
      changed_.erase(file);
      continue;
    }
    std::vector<std::string_view> old_texts;
    std::vector<std::string_view> texts;
    std::vector<uint32_t> lines;
    for (const auto& [line, text] : before) old_texts.push_back(text);
    for (const auto& [line, text] : after->second) {
      texts.push_back(text);
      lines.push_back(line);
    }
    const auto pairs = AlignLines(old_texts, texts);
    auto& map = aligned_[file];
    size_t i = 0;
    for (const auto& [line, text] : before) {
      if (pairs[i]) map.emplace(line, lines[*pairs[i]]);
      ++i;
    }
  }
}

void MatchedLines::FindFunctions(const MatchedFunctions& functions) {
  for (const MatchedFunction& each : functions.all()) {
    const DiffPlace old = each.old.place();
    const DiffPlace now = each.now.place();
    if (old.line == 0 || now.line == 0 || files_.NameOf(false, old.file) != now.file) continue;
    if (!changed_.contains(now.file) || aligned_.contains(now.file)) continue;
    moved_[now.file][old.line] = {.last = each.old.function->last_line,
                                  .begin = now.line,
                                  .end = each.now.function->last_line};
  }
}

std::optional<uint32_t> MatchedLines::LineOf(bool is_new, const std::string& file,
                                             uint32_t line) const {
  const std::string& name = files_.NameOf(is_new, file);
  if (is_new || !changed_.contains(name)) return line;
  if (const auto texts = aligned_.find(name); texts != aligned_.end()) {
    const auto found = texts->second.find(line);
    return found == texts->second.end() ? std::nullopt : std::optional(found->second);
  }
  const auto moved = moved_.find(name);
  if (moved == moved_.end()) return std::nullopt;
  return MovedLine(moved->second, line);
}

// Lines outside of functions are those of inlined ones. They moved as the functions around did, if
// these moved alike.
std::optional<uint32_t> MatchedLines::MovedLine(const std::map<uint32_t, MovedFunction>& functions,
                                                uint32_t line) {
  const auto next = functions.upper_bound(line);
  std::optional<uint32_t> before;
  std::optional<uint32_t> behind;
  if (next != functions.end()) behind = next->second.begin - next->first;
  if (next != functions.begin()) {
    const auto& [begin, function] = *std::prev(next);
    const uint32_t result = line - begin + function.begin;
    if (line <= function.last && result <= function.end) return result;
    if (line <= function.last) return std::nullopt;
    before = function.end - function.last;
  }
  if (before && behind && *before != *behind) return std::nullopt;
  if (!before && !behind) return std::nullopt;
  return line + before.value_or(behind.value_or(0));
}

LineChanges ChangesOf(const ProfiledSides& sides, const MatchedObjects& objects,
                      const MatchedLines& lines) {
  return LineRows(sides, objects, lines).Make();
}

}  // namespace flowback
