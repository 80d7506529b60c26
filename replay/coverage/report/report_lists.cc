// SPDX-License-Identifier: MIT
#include "replay/coverage/report/report_lists.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/path_text.h"

namespace flowback {
namespace {

bool IsLibrary(const ObjectCoverage& object) {
  const std::string_view name = LastPart(object.counts->id.path);
  return name.find(".so") != std::string_view::npos || name.starts_with('[');
}

}  // namespace

const ObjectCoverage* MainObject(const CoverageReport& report) {
  const ObjectCoverage* best = nullptr;
  for (const ObjectCoverage& object : report.objects) {
    if (object.code == nullptr || object.counts->instructions.empty()) continue;
    const auto rank = [&](const ObjectCoverage& each) {
      return std::tuple(!IsLibrary(each), each.shares.lines.total != 0,
                        each.shares.instructions.executed);
    };
    if (best == nullptr || rank(object) > rank(*best)) best = &object;
  }
  return best;
}

std::vector<ReportedFunction> UnexecutedFunctions(const CoverageReport& report,
                                                  const ObjectCoverage* of) {
  std::vector<ReportedFunction> result;
  for (const ObjectCoverage& object : report.objects) {
    if (of != nullptr && &object != of) continue;
    if (object.shares.instructions.executed == 0) continue;
    for (const FunctionCoverage& function : object.functions)
      if (function.state != Executed::kYes) result.push_back({&object, &function});
  }
  return result;
}

void SortFunctions(std::vector<ReportedFunction>& functions, std::string_view by) {
  if (by == "address") return;
  if (by == "name")
    std::ranges::stable_sort(functions, {},
                             [](const ReportedFunction& at) { return at.code().name; });
  else
    std::ranges::stable_sort(functions, std::greater{},
                             [](const ReportedFunction& at) { return at.code().code_bytes; });
}

std::vector<ReportedBranch> OneWayBranches(const CoverageReport& report,
                                           const ObjectCoverage* main) {
  std::vector<ReportedBranch> branches;
  for (const ObjectCoverage& object : report.objects)
    for (const BranchCoverage& branch : object.branches)
      if (WentOneWay(branch.taken, branch.not_taken)) branches.push_back({&object, &branch});
  std::ranges::stable_sort(branches, std::greater{}, [main](const ReportedBranch& each) {
    return std::pair(each.object == main, each.times());
  });
  return branches;
}

bool WentOneWay(uint64_t taken, uint64_t not_taken) { return (taken == 0) != (not_taken == 0); }

}  // namespace flowback
