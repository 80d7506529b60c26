// SPDX-License-Identifier: MIT
// The code that one recording executed, by function, source line and direction of a branch, in a
// form that outlives the recording and can be compared with another build's.
//
//   CoverageCounts + code -> RunProfile::Of          own instructions, lines, directions
//   Timeline              -> AddCalls                calls, what callees executed, times
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/coverage_report.h"
#include "flowback/replay/timeline.h"

namespace flowback {

struct ProfiledObject {
  ObjectId id;
  bool has_code = false;  // its file was found
  bool executed = false;
  bool is_main = false;  // the program rather than a library
  // Without its file: some of its lines and branches, or of its functions, may have executed
  // unseen.
  bool lines_unknown = false;
  bool functions_unknown = false;
  bool is_named = false;  // AddCalls found the functions that executed, even without its file
  // Functions whose inlined copies executed, by name without parameters.
  std::set<std::string> inlined{};
};

// Sums of a function. Times are those of the recording's clock.
struct FunctionSums {
  uint64_t calls = 0;
  uint64_t self = 0;        // instructions of its own
  uint64_t total = 0;       // with those of what it called; RunProfile::has_calls
  uint64_t time = 0;        // executing in it; RunProfile::has_times
  uint64_t total_time = 0;  // in it and what it called, also off the CPU
  uint64_t off_cpu = 0;     // its own time off the CPU

  void Add(const FunctionSums& other);
};

struct ProfiledFunction {
  uint32_t object = 0;   // number in RunProfile::objects
  uint64_t address = 0;  // as linked; 0 if only a symbol's name is known
  std::string name;      // without the marks of a compiler's copies (f.isra.0); empty: none
  SourceLine at{};       // line 0: not known
  uint32_t last_line = 0;
  Executed state = Executed::kNo;
  FunctionSums sums{};
};

struct ProfiledLine {
  SourceLine at;
  uint32_t object = 0;
  Executed state = Executed::kNo;
  uint64_t times = 0;         // as LineCoverage
  uint64_t instructions = 0;  // of the line, those of inlined copies too
  std::string text;           // without white space around it; empty: not known
};

// One way that control left a conditional branch.
struct ProfiledDirection {
  uint32_t function = 0;  // number in RunProfile::functions
  uint64_t address = 0;   // of the branch, as linked
  bool taken = false;
  Executed state = Executed::kNo;
  SourceLine at;
  SourceLine to;  // where this way leads
  uint64_t times = 0;
};

// Waits of threads for each other, all that one function made in calls from another.
struct ProfiledWait {
  std::string function{};
  std::string caller{};  // empty: not known
  uint64_t waits = 0;
  uint64_t trips = 0;    // around loops that wait
  uint64_t waiting = 0;  // time; RunProfile::has_times

  void Add(const ProfiledWait& other);
};

struct RunProfile {
  std::string input;
  std::vector<ProfiledObject> objects;
  std::vector<std::string> files;  // of source
  std::vector<ProfiledFunction> functions;
  std::vector<ProfiledLine> lines;
  std::vector<ProfiledDirection> directions;  // of branches that were reached, or may have been
  std::vector<ProfiledWait> waits;            // has_waits
  CoverageShares shares;
  uint64_t instructions = 0;  // of all flow, or of the chosen code
  uint64_t duration = 0;      // of all threads' lives; has_times
  uint64_t off_cpu = 0;       // of these; has_times
  bool has_losses = false;    // trace was lost, so counts may be too low
  bool emulated = false;
  bool sampled = false;    // counts are those of samples
  bool has_calls = false;  // AddCalls was called
  bool has_times = false;  // times of a real clock
  bool has_waits = false;  // waits were searched for
  bool is_part = false;    // some code was not chosen

  // `report` is made from `counts`. `lines` may be null: no text is known then.
  static RunProfile Of(const CoverageCounts& counts, const CoverageReport& report,
                       SourceLines* lines, bool is_part);
};

// Adds the calls and times that a timeline has of the same threads. Functions that the code of no
// file has (stubs, code made at run time) become new ones, unless the profile is a part.
void AddCalls(const Timeline& timeline, const CoverageReport& report, RunProfile& profile);

// Returns `name` without the marks of the copies and parts that compilers make: "f.isra.0", "f
// [clone .cold]".
std::string WithoutCopyMarks(std::string_view name);
// Returns the name without the types of parameters: "f" for "f(int)". Operators stay as they are.
std::string WithoutParameterTypes(const std::string& name);
// Returns whether it is a part that the compiler moved out of a function, to which control jumps.
bool IsMovedPart(std::string_view name);

}  // namespace flowback
