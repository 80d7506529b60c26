// SPDX-License-Identifier: MIT
// What a newer run, or several, executed that an older one did not, and how often.
//
//   objects     of one build-id; else of one file name; else a library of another version, or
//               the two programs
//   functions   of one build by address; else by name, and by source file where several have it
//   lines       of one build by number; else by their text; else by their distance from the begin
//               of their function
//   waits       by the names of the function that waits and of its caller
//   directions  of one build by the branch's address; else by the lines that they lead from and to
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/diff/measured.h"
#include "replay/diff/run_profile.h"

namespace flowback {

// What became of code, on the way from the old side to the new one.
enum class Fate : uint8_t {
  kBoth,              // executed on both sides
  kNewlyExecuted,     // was there, and had not executed
  kAdded,             // is new code
  kNoLongerExecuted,  // is there, and does not execute
  kRemoved,           // is no code of the new side
  kInlined,           // is no function of the new side, but executes inlined in others
  kNoLongerInlined,   // executed inlined in others, and is a function now
  kNotKnown,          // lost trace or a missing file may hide that it executed
};
const char* Name(Fate fate);
inline bool IsNew(Fate fate) {
  return fate == Fate::kNewlyExecuted || fate == Fate::kAdded || fate == Fate::kNoLongerInlined;
}
inline bool IsGone(Fate fate) {
  return fate == Fate::kNoLongerExecuted || fate == Fate::kRemoved || fate == Fate::kInlined;
}

struct DiffPlace {
  std::string file;
  uint32_t line = 0;  // 0: not known
};

// Values are those of each run, so a run that did not execute the code has 0.
struct FunctionChange {
  std::string object;    // the last part of its path
  std::string name;      // of the new side where it is there; empty: code without a name
  uint64_t address = 0;  // as linked, if both sides are one build; else 0
  DiffPlace old_at;
  DiffPlace at;
  uint32_t last_line = 0;  // of `at`'s file, or of `old_at`'s if `at` is not known
  Fate fate = Fate::kBoth;
  bool in_all_runs = true;  // false: it executed in some runs of its side only
  MeasuredChange calls;
  MeasuredChange self;
  MeasuredChange total;
  MeasuredChange time;
  MeasuredChange total_time;
  MeasuredChange off_cpu;

  const DiffPlace& place() const { return at.line != 0 ? at : old_at; }
  std::string file{};  // place()'s, as LineChange::file names it
};

struct LineChange {
  std::string file;       // as the new side names it
  uint32_t old_line = 0;  // 0: the old side has no code of such a line
  uint32_t line = 0;      // 0: the new side has none
  bool found = true;      // false: a line of the old source that the new source does not have
  std::string text;       // empty: not known
  std::string function;   // that holds the line in its source; empty: not known
  Fate fate = Fate::kBoth;
  bool in_all_runs = true;
  bool in_new_function = false;  // the function itself is newly executed or no longer executed
  // The next line of the file that has code on the side, executed or not; 0: none follows.
  uint32_t next_old_line = 0;
  uint32_t next_line = 0;
  MeasuredChange times;
  MeasuredChange instructions;
};

// A direction of a branch in a function that executed on both sides.
struct DirectionChange {
  std::string object;
  std::string function;
  DiffPlace at;
  DiffPlace to;
  uint64_t address = 0;  // of the branch, if both sides are one build; else 0
  bool taken = false;    // if both sides are one build
  bool reached = false;  // the branch was reached on both sides
  bool in_all_runs = true;
  Fate fate = Fate::kBoth;
  MeasuredChange times;
};

// Waits of threads for each other in one function, called from another.
struct WaitChange {
  std::string function;
  std::string caller;  // empty: not known
  Fate fate = Fate::kBoth;
  bool in_all_runs = true;
  MeasuredChange waits;
  MeasuredChange trips;    // around loops that wait
  MeasuredChange waiting;  // nanoseconds; RunComparison::has_times
};

struct ObjectMatch {
  std::string old_name;  // empty: only the new side has it
  std::string name;      // empty: only the old side has it
  bool same_build = false;
  bool executed = false;
  // Some run of the side lacks its file, so it is not known which of its functions executed.
  bool old_missing = false;
  bool missing = false;

  // Whether code of it executed whose functions are not known on some side.
  bool is_unknown() const { return executed && (old_missing || missing); }
};

struct CoverageMeasure {
  const char* name = "";  // "functions", "blocks", ...
  MeasuredChange executed;
  MeasuredChange total;
  MeasuredChange percent;  // each run's share; of the runs that know of any
};

struct RunComparison {
  MeasuredChange instructions;
  MeasuredChange duration;  // of all threads' lives, in nanoseconds; has_times
  MeasuredChange off_cpu;   // has_times
  std::vector<ObjectMatch> objects;
  std::vector<FunctionChange> functions;    // that executed, by change of `self`
  std::vector<LineChange> lines;            // that executed, by change of `instructions`
  std::vector<DirectionChange> directions;  // newly executed or no longer; the most frequent first
  std::vector<WaitChange> waits;            // by change of their time, or number; has_waits
  MeasuredChange all_waits;                 // has_waits
  MeasuredChange waiting;                   // all threads' time; has_waits and has_times
  std::array<CoverageMeasure, 5> coverage;
  uint64_t unmatched_lines = 0;  // of the old side, that executed and have no place in the new one
  // Directions that one side takes, and the other perhaps.
  uint64_t unknown_directions = 0;
  bool old_lost = false;   // some run of the old side lost trace
  bool lost = false;       // some run of the new side did
  bool emulated = false;   // some run
  bool sampled = false;    // some run
  bool has_calls = false;  // all runs
  bool has_times = false;  // all runs
  bool has_waits = false;  // all runs
  bool is_part = false;
  bool same_builds = true;  // all code that executed

  size_t runs() const { return instructions.old.runs + instructions.now.runs; }
  // Neither side has repeats, so nothing is known of the noise.
  bool IsSingle() const { return runs() == 2; }
};

// REQUIRES: neither side is empty.
RunComparison Compare(std::span<const RunProfile> old, std::span<const RunProfile> now);

// Returns the line of that function whose instructions changed most, in the direction in which the
// function changed; null: none is known.
const LineChange* MostChangedLine(const RunComparison& diff, const FunctionChange& function);

}  // namespace flowback
