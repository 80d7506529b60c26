// SPDX-License-Identifier: MIT
#include "replay/diff/function_changes.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/path_text.h"
#include "replay/coverage/report/by_source.h"

namespace flowback {
namespace {

bool HasExecuted(const std::vector<Executed>& states, Executed state) {
  return std::ranges::find(states, state) != states.end();
}

template <class Member>
MeasuredChange MeasureSums(const MatchedFunction& function, Member member) {
  std::vector<uint64_t> old;
  std::vector<uint64_t> now;
  for (const FunctionSums& each : function.old_sums) old.push_back(each.*member);
  for (const FunctionSums& each : function.sums) now.push_back(each.*member);
  return {Measured::Of(old), Measured::Of(now)};
}

}  // namespace

DiffPlace SidedFunction::place() const {
  if (function == nullptr || function->at.line == 0) return {};
  return {run->files[function->at.file], function->at.line};
}

Fate FateOf(const std::vector<Executed>& old_states, const std::vector<Executed>& states, bool was,
            bool is) {
  const bool did = HasExecuted(old_states, Executed::kYes);
  const bool does = HasExecuted(states, Executed::kYes);
  if (did && does) return Fate::kBoth;
  if (HasExecuted(did ? states : old_states, Executed::kUnknown)) return Fate::kNotKnown;
  if (does) return was ? Fate::kNewlyExecuted : Fate::kAdded;
  return is ? Fate::kNoLongerExecuted : Fate::kRemoved;
}

bool ExecutedInAllRuns(const std::vector<Executed>& old_states,
                       const std::vector<Executed>& states) {
  const auto all_or_none = [](const std::vector<Executed>& side) {
    const auto count = std::ranges::count(side, Executed::kYes);
    return count == 0 || count == std::ssize(side);
  };
  return all_or_none(old_states) && all_or_none(states);
}

Fate MatchedFunction::fate() const {
  return FateOf(old_states, states, old.function != nullptr || old_may_exist,
                now.function != nullptr || may_exist);
}

bool MatchedFunction::in_all_runs() const { return ExecutedInAllRuns(old_states, states); }

MatchedFunctions::MatchedFunctions(const ProfiledSides& sides, const MatchedObjects& objects)
    : sides_(sides), objects_(objects) {
  AddSide(true);
  AddSide(false);
  PairRest();
  MarkUnknown();
}

// Functions without a name can be found again in the same build only. Else they are one together.
MatchedFunctions::Key MatchedFunctions::KeyOf(const RunProfile& run,
                                              const ProfiledFunction& function,
                                              const std::string& object) const {
  std::string key = object + '\n';
  if (function.address != 0 && objects_.IsSameBuild(object)) return key + Hex(function.address);
  key += function.name + '\n';
  if (!function.name.empty() && function.at.line != 0) key += LastPart(run.files[function.at.file]);
  return key;
}

void MatchedFunctions::AddSide(bool is_new) {
  const std::span<const RunProfile> runs = sides_.Of(is_new);
  for (size_t r = 0; r < runs.size(); ++r) {
    std::vector<uint32_t>& numbers = numbers_[is_new ? 1 : 0].emplace_back();
    for (const ProfiledFunction& function : runs[r].functions) {
      const std::string& object = objects_.NameOf(is_new, runs[r].objects[function.object]);
      const auto [at, is_first] =
          by_key_.try_emplace(KeyOf(runs[r], function, object), static_cast<uint32_t>(all_.size()));
      if (is_first) {
        MatchedFunction& made = all_.emplace_back();
        made.object = object;
        made.old_sums.resize(sides_.old.size());
        made.sums.resize(sides_.now.size());
        made.old_states.resize(sides_.old.size(), Executed::kNo);
        made.states.resize(sides_.now.size(), Executed::kNo);
      }
      MatchedFunction& matched = all_[at->second];
      SidedFunction& side = is_new ? matched.now : matched.old;
      if (side.function == nullptr) side = {&runs[r], &function};
      (is_new ? matched.sums : matched.old_sums)[r].Add(function.sums);
      Executed& state = (is_new ? matched.states : matched.old_states)[r];
      state = EitherState(state, function.state);
      numbers.push_back(at->second);
    }
  }
}

// Pairs functions whose source file was renamed or whose parameters changed, if there is only one
// of that name on each side.
void MatchedFunctions::PairRest() {
  std::map<std::pair<std::string, std::string>, std::vector<uint32_t>> rest[2];
  for (uint32_t i = 0; i < all_.size(); ++i) {
    const MatchedFunction& each = all_[i];
    if ((each.old.function == nullptr) == (each.now.function == nullptr)) continue;
    const bool is_new = each.now.function != nullptr;
    const std::string& name = (is_new ? each.now : each.old).function->name;
    if (!name.empty())
      rest[is_new ? 1 : 0][{each.object, WithoutParameterTypes(name)}].push_back(i);
  }
  std::map<uint32_t, uint32_t> moved;
  for (const auto& [name, numbers] : rest[0]) {
    const auto found = rest[1].find(name);
    if (numbers.size() != 1 || found == rest[1].end() || found->second.size() != 1) continue;
    MatchedFunction& old = all_[numbers.front()];
    MatchedFunction& now = all_[found->second.front()];
    now.old = std::exchange(old.old, {});
    now.old_sums = old.old_sums;
    now.old_states = old.old_states;
    std::ranges::fill(old.old_states, Executed::kNo);
    moved.emplace(numbers.front(), found->second.front());
  }
  for (std::vector<uint32_t>& run : numbers_[0])
    for (uint32_t& number : run)
      if (const auto found = moved.find(number); found != moved.end()) number = found->second;
}

// Code of a side without its file is not known there. Code without a name stands for all code of
// its object, and the side that has the file knows the parts of it by their names.
void MatchedFunctions::MarkUnknown() {
  for (MatchedFunction& each : all_) {
    if (each.old.function == nullptr && each.now.function == nullptr) continue;
    each.old_may_exist = objects_.LacksFile(false, each.object);
    each.may_exist = objects_.LacksFile(true, each.object);
    const ProfiledFunction& shown = *(each.now.function != nullptr ? each.now : each.old).function;
    const bool is_rest = shown.name.empty() && shown.address == 0;
    const bool all_unknown = is_rest && each.old_may_exist != each.may_exist &&
                             objects_.Has(false, each.object) && objects_.Has(true, each.object);
    for (const bool is_new : {false, true}) {
      std::vector<Executed>& states = is_new ? each.states : each.old_states;
      for (size_t r = 0; r < states.size(); ++r)
        if (states[r] == Executed::kNo &&
            (all_unknown || objects_.FunctionsUnknown(is_new, r, each.object)))
          states[r] = Executed::kUnknown;
    }
  }
}

std::vector<FunctionChange> ChangesOf(const MatchedFunctions& functions) {
  std::vector<FunctionChange> changes;
  for (const MatchedFunction& each : functions.all()) {
    const bool executed =
        HasExecuted(each.old_states, Executed::kYes) || HasExecuted(each.states, Executed::kYes);
    if (!executed) continue;
    const SidedFunction& shown = each.now.function != nullptr ? each.now : each.old;
    changes.push_back({.object = each.object,
                       .name = shown.function->name,
                       .address = functions.IsSameBuild(each) ? shown.function->address : 0,
                       .old_at = each.old.place(),
                       .at = each.now.place(),
                       .last_line = shown.function->last_line,
                       .fate = each.fate(),
                       .in_all_runs = each.in_all_runs(),
                       .calls = MeasureSums(each, &FunctionSums::calls),
                       .self = MeasureSums(each, &FunctionSums::self),
                       .total = MeasureSums(each, &FunctionSums::total),
                       .time = MeasureSums(each, &FunctionSums::time),
                       .total_time = MeasureSums(each, &FunctionSums::total_time),
                       .off_cpu = MeasureSums(each, &FunctionSums::off_cpu)});
  }
  return changes;
}

}  // namespace flowback
