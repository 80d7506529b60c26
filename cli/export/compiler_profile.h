// SPDX-License-Identifier: MIT
// What compilers and linkers want to know of a file of code: which ranges ran in a line and which
// branches were taken, at the addresses that the file's headers tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/reading/opened_recording.h"
#include "flowback/base/error.h"
#include "flowback/model/instruction.h"
#include "flowback/replay/object_image.h"

namespace flowback::cli {

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

// Of the file that was asked for, or that in which most ran. Says on stderr which one that is.
// `object` is its path or the path's last part; empty: none was asked for. Errors: kUsage where no
// code of such a file was mapped; kImageMissing where none ran that could be decoded; kUnreadable.
Result<CompilerProfile> MakeCompilerProfile(OpenedRecording& opened, const std::string& object);

}  // namespace flowback::cli
