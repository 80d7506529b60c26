// SPDX-License-Identifier: MIT
// How often each source line of each function ran, as compilers that optimize by profiles know
// code: by the distance from the function's first line, and within what it was inlined into.
//
//   main:900:1                 bytes of code that ran, times that it was called
//    2: 30                     second line behind its first, times
//    2.1: 7                    the part of that line with discriminator 1
//    4: 10 helper:10           where it called helper
//    5: inlined:200            what was inlined there, with lines of its own
//     1: 10
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "flowback/replay/source_lines.h"
#include "flowback/replay/static_code.h"
#include "replay/profile/compiler_profile.h"

namespace flowback {

struct LineOfFunction {
  uint32_t offset = 0;  // 16 bits, as the format has them
  uint32_t discriminator = 0;
  friend auto operator<=>(const LineOfFunction&, const LineOfFunction&) = default;
};

struct FunctionProfile {
  uint64_t bytes = 0;  // each as often as it ran; of what is inlined, too
  uint64_t calls = 0;
  std::map<LineOfFunction, uint64_t> lines;  // the most that any of its instructions ran
  std::map<LineOfFunction, std::map<std::string, uint64_t>> calls_from;
  std::map<LineOfFunction, std::map<std::string, FunctionProfile>> inlined;
};

// By the linker's names. Functions that did not run are left out; in other functions, code that did
// not run has lines with 0.
std::map<std::string, FunctionProfile> MakeSampleProfile(const CompilerProfile& profile,
                                                         const StaticCode& code,
                                                         SourceLines& lines);

// What the compiler called the function before it made parts and copies of it: "f" of "f.part.0".
std::string CanonicalName(std::string_view name);

}  // namespace flowback
