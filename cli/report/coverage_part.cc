// SPDX-License-Identifier: MIT
#include "cli/report/coverage_part.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/report/output_lines.h"

namespace flowback::cli {
namespace {

using ReportJson = nlohmann::json;

// The rows with the largest keys, in a bounded place.
class LargestRows {
 public:
  explicit LargestRows(size_t most) : most_(most) {}

  void Add(uint64_t key, ReportJson row) {
    ++count_;
    if (rows_.size() == most_ && key <= rows_.back().first) return;
    const auto at = std::ranges::find_if(rows_, [&](const auto& each) { return each.first < key; });
    rows_.emplace(at, key, std::move(row));
    if (rows_.size() > most_) rows_.pop_back();
  }
  size_t left_out() const { return count_ - rows_.size(); }
  ReportJson Rows() const {
    ReportJson rows = ReportJson::array();
    for (const auto& row : rows_) rows.push_back(row.second);
    return rows;
  }

 private:
  size_t most_;
  size_t count_ = 0;
  std::vector<std::pair<uint64_t, ReportJson>> rows_;  // the largest key first
};

struct FileCounts {
  uint64_t lines = 0;
  uint64_t executed_lines = 0;
  uint64_t unknown_lines = 0;
  uint64_t functions = 0;
  uint64_t executed_functions = 0;
  uint64_t ways = 0;  // directions of branches
  uint64_t executed_ways = 0;
  bool of_program = false;
};

bool IsInstalled(std::string_view file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
         file.starts_with("/rustc/");
}

// Code without a known line may be the program's own.
bool IsOwn(const ReportJson& line) {
  const auto file = line.find("file");
  return file == line.end() || !file->is_string() || !IsInstalled(file->get<std::string>());
}

class CoverageReader {
 public:
  explicit CoverageReader(const CoverageRoom& room)
      : room_(room), never_(room.functions), one_way_(room.branches) {}

  void Take(std::string_view text) {
    ReportJson line = ReportJson::parse(text, nullptr, false);
    if (!line.is_object()) return;
    const std::string type = line.value("type", "");
    if (type == "coverage") head_ = std::move(line);
    if (type == "object") TakeObject(std::move(line));
    if (type == "function") TakeFunction(line);
    if (type == "branch") TakeBranch(line);
    if (type == "line") TakeLine(line);
  }

  std::optional<ReportJson> Finish() {
    if (!head_.is_object()) return std::nullopt;
    LargestRows files(room_.files);
    for (const auto& [name, counts] : files_)
      if (counts.of_program && counts.lines != 0)
        files.Add(
            (uint64_t{counts.executed_lines != 0} << 40) + counts.lines - counts.executed_lines,
            FileRow(name, counts));
    head_["program"] = program_;
    head_["objects"] = objects_.Rows();
    head_["files"] = files.Rows();
    head_["never"] = never_.Rows();
    head_["one_way"] = one_way_.Rows();
    head_["left_out"] = {{"objects", objects_.left_out()},
                         {"files", files.left_out()},
                         {"never", never_.left_out()},
                         {"one_way", one_way_.left_out()}};
    return head_;
  }

 private:
  // The recording's main program may be null: then nothing of it executed.
  bool IsOfProgram(const ReportJson& line) const {
    return head_.is_object() && head_.contains("main") && head_["main"].is_string() &&
           line.value("object", "") == head_["main"].get<std::string>();
  }
  FileCounts* FileOf(const ReportJson& line) {
    const auto at = line.find("file");
    return at == line.end() || !at->is_string() ? nullptr : &files_[at->get<std::string>()];
  }

  void TakeObject(ReportJson object) {
    if (IsOfProgram(object)) program_ = object;
    const uint64_t executed =
        object.value(ReportJson::json_pointer("/instructions/executed"), uint64_t{0});
    objects_.Add(executed, std::move(object));
  }

  void TakeFunction(const ReportJson& function) {
    if (!IsOfProgram(function)) return;
    const std::string executed = function.value("executed", "");
    if (FileCounts* file = FileOf(function)) {
      file->of_program = file->of_program || !IsInstalled(function["file"].get<std::string>());
      ++file->functions;
      if (executed == "yes") ++file->executed_functions;
    }
    if (executed != "yes" && IsOwn(function))
      never_.Add(function.value("bytes", uint64_t{0}), ShortRow(function));
  }

  void TakeBranch(const ReportJson& branch) {
    if (!IsOfProgram(branch)) return;
    const auto taken = branch.value("taken", uint64_t{0});
    const auto not_taken = branch.value("not_taken", uint64_t{0});
    if (FileCounts* file = FileOf(branch)) {
      file->ways += 2;
      file->executed_ways += uint64_t{taken != 0} + uint64_t{not_taken != 0};
    }
    if ((taken == 0) != (not_taken == 0) && IsOwn(branch))
      one_way_.Add(taken + not_taken, ShortRow(branch));
  }

  void TakeLine(const ReportJson& line) {
    FileCounts* const file = FileOf(line);
    if (file == nullptr) return;
    const std::string executed = line.value("executed", "");
    ++file->lines;
    if (executed == "yes") ++file->executed_lines;
    if (executed == "unknown") ++file->unknown_lines;
  }

  static ReportJson ShortRow(const ReportJson& line) {
    ReportJson row = ReportJson::object();
    for (const char* key :
         {"function", "address", "bytes", "file", "line", "executed", "taken", "not_taken"})
      if (const auto at = line.find(key); at != line.end()) row[key] = *at;
    return row;
  }
  static ReportJson FileRow(const std::string& name, const FileCounts& counts) {
    return {{"file", name},
            {"lines",
             {{"total", counts.lines},
              {"executed", counts.executed_lines},
              {"unknown", counts.unknown_lines}}},
            {"functions", {{"total", counts.functions}, {"executed", counts.executed_functions}}},
            {"branches", {{"total", counts.ways}, {"executed", counts.executed_ways}}}};
  }

  CoverageRoom room_;
  ReportJson head_;
  ReportJson program_;
  std::map<std::string, FileCounts> files_;
  LargestRows objects_{20};
  LargestRows never_;
  LargestRows one_way_;
};

}  // namespace

std::optional<ReportJson> ReadCoverage(std::FILE* lines, const CoverageRoom& room) {
  CoverageReader reader(room);
  ForEachLine(lines, [&](std::string_view line) { reader.Take(line); });
  return reader.Finish();
}

}  // namespace flowback::cli
