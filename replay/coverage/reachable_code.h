// SPDX-License-Identifier: MIT
// Finds the functions of a process's objects that may have executed while trace was lost: those
// that control can reach. The others never executed, in spite of the loss.
//
// Control reaches a function by a direct branch from one that it can reach, by the function's name,
// or by its address. The loader finds a name only if a file of the process asks for it. A program
// calls an address only if an instruction of code that control can reach makes that address, or if
// it stands in data. Executed code is known to be reached. A loss does not show which of these ways
// were taken, nor in which order, so each counts; that includes signal handlers, threads' first
// functions, virtual functions and destructors, all of which are called by address. Exceptions go
// on in functions that were called before, at another place: if a function may have executed, all
// of it may have.
//
// Code whose address is computed in another way would be missed. So there is no answer for
// instruction sets that make addresses in several steps, for files without section tables, and for
// processes that ran code without a file, whose calls are unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "flowback/replay/coverage_counts.h"
#include "flowback/replay/object_image.h"
#include "flowback/replay/static_code.h"
#include "replay/symbols/elf/code_references.h"

namespace flowback {

class ReachableCode {
 public:
  using Open = std::function<Result<ObjectImage>(const ObjectId&)>;

  // Reads the tables of all objects that were mapped, whichever of them a report is about.
  ReachableCode(const CoverageCounts& counts, const Open& open);

  // By number of the static code's functions. `times`: how often each instruction executed. Empty:
  // nothing can be excluded.
  std::vector<bool> Of(const ObjectImage& image, const StaticCode& code,
                       const std::vector<uint64_t>& times) const;

 private:
  static constexpr uint32_t kSeveral = ~uint32_t{0};

  // Whether a file of the process asks for the object's export of that name.
  bool IsAskedFor(const std::string& name, uint32_t object) const;

  struct Object {
    ObjectId id;
    symbols::CodeReferences references;  // without those in names_ and words_
  };

  std::vector<Object> objects_;
  std::unordered_set<std::string> names_;            // that some file asks for
  std::unordered_map<std::string, uint32_t> words_;  // in data: the number in objects_, or several
  std::unordered_set<std::string> needed_;
  bool any_export_ = false;  // any name may have been asked for
};

}  // namespace flowback
