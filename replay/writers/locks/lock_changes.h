// SPDX-License-Identifier: MIT
// What got better or worse since an earlier recording of the same program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/writers/locks/locks_view.h"

namespace flowback {

// The compared figures of a site. Sites are matched by the two names: addresses change with each
// build.
struct LockFigure {
  std::string function;
  std::string caller;  // empty: not known
  uint64_t waits = 0;
  uint64_t trips = 0;
  uint64_t waiting = 0;
  std::optional<uint64_t> acquisitions;

  // Returns the waiting time of an acquisition, in the mean; empty where they are not counted.
  std::optional<double> PerAcquisition() const;
};

struct LockFigures {
  std::string input;
  bool nanoseconds = true;
  bool has_times = true;
  uint64_t life = 0;     // of the threads that waited
  uint64_t waiting = 0;  // of all sites
  std::vector<LockFigure> sites;

  double share() const { return WaitShare(waiting, life); }
};
// Sites of the same names are added up.
LockFigures FiguresOf(const LocksView& view);

// kMixed: the share and the time of an acquisition went different ways.
enum class LockTrend : uint8_t { kSame, kBetter, kWorse, kMixed, kNew, kGone };
const char* Name(LockTrend trend);

struct LockChange {
  LockTrend trend = LockTrend::kSame;
  std::string function;
  std::string caller;
  double old_share = 0;  // of the life of the threads that waited
  double share = 0;
  std::optional<double> old_each;  // time of an acquisition
  std::optional<double> each;
};

struct LockChanges {
  std::string input;  // the baseline
  double old_share = 0;
  double share = 0;
  bool has_times = true;  // of both; else only new and gone sites are listed
  LockTrend trend = LockTrend::kSame;
  std::vector<LockChange> sites;  // by how much the share changed, most first

  // A share is another one from a tenth of it and a tenth of a per cent on.
  static LockChanges Between(const LockFigures& old, const LockFigures& now);
};

// Returns the sentence that begins the text, and one for each site that changed.
std::vector<std::string> ChangeSentences(const LockChanges& changes, bool nanoseconds);
std::string ChangesJson(const LockChanges& changes);

}  // namespace flowback
