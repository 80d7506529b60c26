// SPDX-License-Identifier: MIT
// Functions of both sides, paired.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/diff/matched_names.h"

namespace flowback {

struct SidedFunction {
  const RunProfile* run = nullptr;
  const ProfiledFunction* function = nullptr;  // null: no run of the side has it

  DiffPlace place() const;
};

struct MatchedFunction {
  std::string object;
  SidedFunction old;
  SidedFunction now;
  std::vector<FunctionSums> old_sums;  // by run
  std::vector<FunctionSums> sums;
  std::vector<Executed> old_states;
  std::vector<Executed> states;
  bool old_may_exist = false;  // the side's file is missing, so it may have the function
  bool may_exist = false;

  Fate fate() const;
  bool in_all_runs() const;
};

class MatchedFunctions {
 public:
  MatchedFunctions(const ProfiledSides& sides, const MatchedObjects& objects);

  const std::vector<MatchedFunction>& all() const { return all_; }
  // Whether all runs have one build of its object.
  bool IsSameBuild(const MatchedFunction& function) const {
    return objects_.IsSameBuild(function.object);
  }
  // Returns the number of a run's function.
  uint32_t NumberOf(bool is_new, size_t run, uint32_t function) const {
    return numbers_[is_new ? 1 : 0][run][function];
  }

 private:
  using Key = std::string;

  Key KeyOf(const RunProfile& run, const ProfiledFunction& function,
            const std::string& object) const;
  void AddSide(bool is_new);
  void PairRest();
  void MarkUnknown();

  const ProfiledSides& sides_;
  const MatchedObjects& objects_;
  std::vector<MatchedFunction> all_;
  std::map<Key, uint32_t> by_key_;
  std::vector<std::vector<uint32_t>> numbers_[2];
};

// Returns what became of code with such states in the runs. `was` and `is`: whether the sides have
// the code at all.
Fate FateOf(const std::vector<Executed>& old_states, const std::vector<Executed>& states, bool was,
            bool is);
// Whether the code executed in all runs of each side in which it executed in any.
bool ExecutedInAllRuns(const std::vector<Executed>& old_states,
                       const std::vector<Executed>& states);

// Returns those that executed, in any order.
std::vector<FunctionChange> ChangesOf(const MatchedFunctions& functions);

}  // namespace flowback
