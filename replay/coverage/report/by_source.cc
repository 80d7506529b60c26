// SPDX-License-Identifier: MIT
#include "replay/coverage/report/by_source.h"

#include <algorithm>
#include <map>
#include <utility>

namespace flowback {
namespace {

using LinesByNumber = std::map<uint32_t, CoveredLine>;
using FunctionsByPlace = std::map<std::pair<uint32_t, std::string>, CoveredFunction>;

struct Gathered {
  LinesByNumber lines;
  FunctionsByPlace functions;
};

void AddBranches(const ObjectCoverage& object, const LineCoverage& from, CoveredLine& to) {
  const bool same_code = to.branches.size() == from.branches.size();
  for (size_t i = 0; i < from.branches.size(); ++i) {
    const BranchCoverage& branch = object.branches[from.branches[i]];
    CoveredBranch& sum = same_code ? to.branches[i] : to.branches.emplace_back();
    sum.taken += branch.taken;
    sum.not_taken += branch.not_taken;
  }
}

void AddLines(const ObjectCoverage& object, std::map<uint32_t, Gathered>& files) {
  for (const LineCoverage& each : object.lines) {
    const auto [at, is_new] = files[each.at.file].lines.try_emplace(each.at.line);
    CoveredLine& line = at->second;
    line.line = each.at.line;
    line.times += each.times;
    line.state = is_new ? each.state : EitherState(line.state, each.state);
    AddBranches(object, each, line);
    for (const LineCopy& copy : each.copies)
      line.copies.push_back({object.code->functions()[copy.function].name, copy.times, copy.state});
  }
}

void AddFunctions(const ObjectCoverage& object, std::map<uint32_t, Gathered>& files) {
  for (const FunctionCoverage& each : object.functions) {
    if (each.at.line == 0) continue;
    const std::string& name = object.Code(each).name;
    const auto [at, is_new] = files[each.at.file].functions.try_emplace({each.at.line, name});
    CoveredFunction& function = at->second;
    function.name = name;
    function.line = each.at.line;
    function.last_line = std::max(function.last_line, each.last_line);
    function.entries += each.entries;
    function.state = is_new ? each.state : EitherState(function.state, each.state);
  }
}

// A direction that was not taken where the branch is not known to have been reached.
Executed DirectionState(const CoveredLine& line, uint64_t times) {
  if (times != 0) return Executed::kYes;
  return line.state == Executed::kUnknown ? Executed::kUnknown : Executed::kNo;
}

CoveredFile Take(uint32_t number, Gathered& gathered) {
  CoveredFile file;
  file.file = number;
  for (auto& [at, line] : gathered.lines) {
    file.shares.lines.Add(line.state);
    for (const CoveredBranch& branch : line.branches) {
      file.shares.branches.Add(DirectionState(line, branch.taken));
      file.shares.branches.Add(DirectionState(line, branch.not_taken));
    }
    file.lines.push_back(std::move(line));
  }
  for (auto& [at, function] : gathered.functions) {
    file.shares.functions.Add(function.state);
    file.functions.push_back(std::move(function));
  }
  return file;
}

}  // namespace

Executed EitherState(Executed a, Executed b) {
  if (a == Executed::kYes || b == Executed::kYes) return Executed::kYes;
  return a == Executed::kUnknown || b == Executed::kUnknown ? Executed::kUnknown : Executed::kNo;
}

std::vector<CoveredFile> BySource(const CoverageReport& report) {
  std::map<uint32_t, Gathered> files;
  for (const ObjectCoverage& object : report.objects) {
    AddLines(object, files);
    AddFunctions(object, files);
  }
  std::vector<CoveredFile> result;
  for (auto& [number, gathered] : files) result.push_back(Take(number, gathered));
  return result;
}

std::vector<CoveredDirectory> ByDirectory(const CoverageReport& report,
                                          const std::vector<CoveredFile>& files) {
  std::map<std::string, CoveredDirectory> directories;
  for (const CoveredFile& file : files) {
    const std::string& path = report.files[file.file];
    const size_t slash = path.rfind('/');
    const std::string name = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    CoveredDirectory& directory = directories[name];
    directory.name = name;
    ++directory.files;
    directory.shares.Add(file.shares);
  }
  std::vector<CoveredDirectory> result;
  for (auto& [name, directory] : directories) result.push_back(std::move(directory));
  return result;
}

}  // namespace flowback
