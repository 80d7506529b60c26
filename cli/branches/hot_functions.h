// SPDX-License-Identifier: MIT
// Functions with what their instructions, blocks and branches did, for `branches --annotate`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/name_pattern.h"
#include "cli/branches/branches_view.h"
#include "cli/branches/range_times.h"
#include "flowback/replay/object_image.h"
#include "flowback/replay/static_code.h"

namespace flowback::cli {

// One file's code, and the report's numbers of it at the addresses of its headers.
class HotObject {
 public:
  // `number` is of BranchReport::objects. Errors: kUnreadable.
  static Result<HotObject> Open(const BranchesView& view, uint32_t number);

  const ObjectImage& image() const { return *image_; }
  const StaticCode& code() const { return *code_; }
  std::string_view path() const { return path_; }
  // How often an instruction ran in code that is known to have run in a line.
  uint64_t TimesAt(uint64_t address) const { return times_.At(address); }
  // Null: no branch there was executed.
  const BranchSum* BranchAt(uint64_t address) const;
  // Of lines that were this block alone, from its begin to the branch at its end. Null: none tell.
  const CycleSums* CyclesOf(const StaticCodeBlock& block) const;
  // Instructions that ran in it, each as often as it did.
  uint64_t InstructionsIn(const StaticFunction& function) const;
  // How often control came to its begin from elsewhere: by a call, by another function's jump, from
  // the kernel. Its own jumps make loops.
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

// Of the functions that fit the pattern those that ran, the one with most instructions first. The
// objects are kept in `objects`. Errors: kUsage when none fits.
Result<std::vector<HotFunction>> HotFunctions(const BranchesView& view, const NamePattern& pattern,
                                              std::vector<HotObject>& objects);

}  // namespace flowback::cli
