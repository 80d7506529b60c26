// SPDX-License-Identifier: MIT
// Functions with what their instructions, blocks and branches did.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_pattern.h"
#include "flowback/decode/recording_code.h"
#include "flowback/replay/object_image.h"
#include "flowback/replay/static_code.h"
#include "replay/branches/branch_sums.h"
#include "replay/branches/range_times.h"

namespace flowback {

// One file's code, with the numbers of a BranchReport, by address. Addresses are those in the
// file's headers.
class HotObject {
 public:
  // Opens object `number` of `report`, which must outlive the result. Errors: kUnreadable.
  static Result<HotObject> Open(const BranchReport& report, uint32_t number,
                                const RecordingCode& code, const ImageSearch& search);

  const ObjectImage& image() const { return *image_; }
  const StaticCode& code() const { return *code_; }
  std::string_view path() const { return path_; }
  // Returns how often the instruction ran, counted in code that ran in a line.
  uint64_t TimesAt(uint64_t address) const { return times_.At(address); }
  // Returns null if no branch executed there.
  const BranchSum* BranchAt(uint64_t address) const;
  // Returns the cycles of runs through this block alone, from its begin to the branch at its end.
  // Returns null if no run was measured.
  const CycleSums* CyclesOf(const StaticCodeBlock& block) const;
  // Returns the sum of TimesAt over the function's instructions.
  uint64_t InstructionsIn(const StaticFunction& function) const;
  // Returns how often control came to the function's begin from outside: by a call, by another
  // function's jump, or from the kernel. The function's own jumps are loops.
  uint64_t CallsOf(const StaticFunction& function) const;

 private:
  struct Jump {
    uint64_t from = 0;
    uint64_t times = 0;
  };

  std::string path_;
  std::optional<ObjectImage> image_;
  std::optional<StaticCode> code_;
  RangeTimes times_;
  std::map<uint64_t, uint64_t> begun_;           // lines, by their first instruction
  std::map<uint64_t, std::vector<Jump>> jumps_;  // that are no calls, by where they led
  std::map<uint64_t, const BranchSum*> branches_;
  std::map<std::pair<uint64_t, uint64_t>, const CycleSums*>
      lines_;  // by first and last instruction
};

struct HotFunction {
  const HotObject* object = nullptr;
  const StaticFunction* function = nullptr;
  uint64_t instructions = 0;
};

struct HotFunctions {
  std::vector<HotObject> objects;
  std::vector<HotFunction> functions;  // most instructions first; they point into `objects`
  bool any_fits = false;               // a function fits the pattern, whether it ran or not
};

// Finds the functions that fit `pattern` and ran. `report` must outlive the result.
HotFunctions FindHotFunctions(const BranchReport& report, const RecordingCode& code,
                              const ImageSearch& search, const NamePattern& pattern);

}  // namespace flowback
