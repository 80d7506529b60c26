// SPDX-License-Identifier: MIT
#include "replay/timeline/function_sums.h"

#include <utility>

#include "base/saturated.h"

namespace flowback {
namespace {

// Adds what `more` has of its own.
void AddOwnSums(const CallSums& more, CallSums& to) {
  to.count += more.count;
  to.partial += more.partial;
  to.self.time += more.self.time;
  to.self.lo += more.self.lo;
  AddSaturated(to.self.hi, more.self.hi);
  for (size_t i = 0; i < to.own.size(); ++i) to.own[i] += more.own[i];
  to.self_instructions += more.self_instructions;
  AddCycles(more.self_cycles, to.self_cycles);
}

void AddInnerSums(const CallSums& more, CallSums& to) {
  to.total += more.total;
  to.executing += more.executing;
  to.instructions += more.instructions;
  AddCycles(more.cycles, to.cycles);
}

}  // namespace

void AddCycles(const CycleShare& more, CycleShare& to) {
  to.instructions += more.instructions;
  to.likely += more.likely;
  to.lo += more.lo;
  AddSaturated(to.hi, more.hi);
  to.untold += more.untold;
}

void InnerSums::Add(const InnerSums& other) {
  total += other.total;
  executing += other.executing;
  instructions += other.instructions;
  AddCycles(other.cycles, cycles);
}

void InnerSums::AddTo(CallSums& sums) const {
  sums.total += total;
  sums.executing += executing;
  sums.instructions += instructions;
  AddCycles(cycles, sums.cycles);
}

void CutFunctions::AddOwn(uint32_t function, const CallSums& own, const DurationCounts& durations) {
  Own& known = own_[function];
  AddOwnSums(own, known.sums);
  known.durations.Add(durations);
}

void CutFunctions::PutUnder(uint32_t root, uint32_t function, uint32_t above) {
  const auto found = outermost_.find(root);
  if (found == outermost_.end()) return;
  auto functions = std::move(found->second);
  outermost_.erase(found);
  // That function's calls are no outermost ones any more.
  functions.erase(function);
  outermost_.emplace(above, std::move(functions));
}

void CutFunctions::Merge(uint32_t from, uint32_t to) {
  const auto found = outermost_.find(from);
  if (found == outermost_.end()) return;
  const auto functions = std::move(found->second);
  outermost_.erase(found);
  for (const auto& [function, sums] : functions) outermost_[to][function].Add(sums);
}

void CutFunctions::AddTo(std::vector<CallSums>& sums,
                         std::vector<DurationCounts>& durations) const {
  for (const auto& [function, own] : own_) {
    AddOwnSums(own.sums, sums[function]);
    durations[function].Add(own.durations);
  }
  for (const auto& [root, functions] : outermost_)
    for (const auto& [function, inner] : functions) inner.AddTo(sums[function]);
}

void AddSums(const CallSums& more, CallSums& to) {
  AddOwnSums(more, to);
  AddInnerSums(more, to);
}

std::vector<CallSums> SumsByFunction(const std::vector<CallPath>& paths, size_t functions) {
  std::vector<CallSums> all(functions);
  // How often the way from the root to a path has each function. The paths are in depth-first
  // order.
  std::vector<uint32_t> on_path(functions, 0);
  std::vector<uint32_t> way;
  for (const CallPath& path : paths) {
    while (way.size() > path.depth) {
      if (way.back() != CallPath::kNoFunction) --on_path[way.back()];
      way.pop_back();
    }
    way.push_back(path.function);
    if (path.function == CallPath::kNoFunction) continue;
    AddOwnSums(path.sums, all[path.function]);
    if (on_path[path.function]++ == 0) AddInnerSums(path.sums, all[path.function]);
  }
  return all;
}

}  // namespace flowback
