// SPDX-License-Identifier: MIT
// A profile of one file of code for compilers and linkers: which ranges ran in a line, and which
// branches were taken, by the addresses in the file's headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/instruction.h"
#include "flowback/replay/object_image.h"
#include "replay/branches/branch_sums.h"

namespace flowback {

struct ProfileRange {
  uint64_t begin = 0;  // of the first and of the last instruction
  uint64_t end = 0;
  uint64_t times = 0;
};

struct ProfileBranch {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t times = 0;
  uint64_t wrong = 0;
  bool from_outside = false;  // of the file; `from` or `to` is then 0
  bool to_outside = false;
  InstructionClass kind = InstructionClass::kOther;  // kOther: from outside
};

struct CompilerProfile {
  std::string object;                // as the recording names it
  uint64_t first_page = 0;           // of all that is loaded of the file
  uint64_t text_base = 0;            // where the file's code begins, its page
  std::vector<ProfileRange> ranges;  // by begin, then end
  std::vector<ProfileBranch> branches;
  std::optional<ObjectImage> image;  // the file
};

// Returns whether `wanted` is the path, its last part, or empty.
bool IsNamedObject(std::string_view wanted, std::string_view path);

// Returns the number, among BranchReport::objects, of the file in which most ran of those that
// `wanted` names. Returns nothing if no code of such a file ran in a line.
std::optional<uint32_t> MostRunObject(const BranchReport& report, const RecordingCode& code,
                                      std::string_view wanted);

// Makes the profile of object `number` of the report. Errors: kUnreadable.
Result<CompilerProfile> MakeCompilerProfile(const BranchReport& report, const RecordingCode& code,
                                            uint32_t number);

}  // namespace flowback
