// SPDX-License-Identifier: MIT
// Sums by function that do not depend on which call paths are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/timeline.h"
#include "replay/timeline/duration_counts.h"

namespace flowback {

// Adds the sums of one more call path, or of another function. `to`'s upper limit of cycles is a
// sum that has not been limited yet.
void AddCycles(const CycleShare& more, CycleShare& to);

// What calls took together with the calls that they made.
struct InnerSums {
  uint64_t total = 0;      // time
  uint64_t executing = 0;  // of it
  uint64_t instructions = 0;
  CycleShare cycles;

  void Add(const InnerSums& other);
  void AddTo(CallSums& sums) const;
};

// The calls of call paths that have been cut from a CallTree, by function.
//
// A call's own sums belong to its function, whichever function called it. Its sums with callees
// belong to the function only once, to its outermost call. A caller of all calls under a root may
// be found later; so these sums are kept by root until no caller can be found any more.
class CutFunctions {
 public:
  // Adds a call path's own sums. `cycles` are the path's own, too.
  void AddOwn(uint32_t function, const CallSums& own, const DurationCounts& durations);
  // Adds the sums of a function's outermost call under `root`.
  void AddOutermost(uint32_t root, uint32_t function, const InnerSums& sums) {
    outermost_[root][function].Add(sums);
  }
  // Everything under `root` happened in a call of `function`; `above` is the root now.
  void PutUnder(uint32_t root, uint32_t function, uint32_t above);
  // `to` is the root of what was under `from`.
  void Merge(uint32_t from, uint32_t to);

  // Adds the sums to `sums` and `durations`, which have an element for each function.
  void AddTo(std::vector<CallSums>& sums, std::vector<DurationCounts>& durations) const;

 private:
  struct Own {
    CallSums sums;
    DurationCounts durations;
  };

  std::unordered_map<uint32_t, Own> own_;
  std::map<uint32_t, std::unordered_map<uint32_t, InnerSums>> outermost_;  // by root
};

// Checks that the functions' own times and instructions, with those in no call, are all of the
// timeline's. Errors: kSystem where they are not. An overview's functions are estimates, so that
// need not hold for them.
Status CheckFunctions(const Timeline& timeline);

// Adds one thread's sums by function to those of all.
void AddSums(const CallSums& more, CallSums& to);

}  // namespace flowback
