// SPDX-License-Identifier: MIT
// `--start` and `--stop`: places in the code, by function, source line or address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/name_pattern.h"
#include "flowback/base/error.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"

namespace flowback::cli {

// "handle" (where the function is entered), "srv.cc:42" (where that line's code begins),
// "0x401136".
class PlaceMatch {
 public:
  // `option` is named in errors. Both must outlive it. Errors: kUsage.
  static Result<PlaceMatch> Parse(const std::string& option, const std::string& word,
                                  Symbolizer& symbolizer, SourceLines& lines);

  // Returns whether the instruction at that address is the place. `space` may be null.
  bool operator()(const AddressSpace* space, uint64_t ip) const;

 private:
  PlaceMatch(Symbolizer& symbolizer, SourceLines& lines)
      : symbolizer_(&symbolizer), lines_(&lines) {}

  bool BeginsFunction(const AddressSpace& space, uint64_t ip) const;
  bool BeginsLine(const AddressSpace& space, uint64_t ip) const;

  Symbolizer* symbolizer_;
  SourceLines* lines_;
  std::optional<NamePattern> function_;
  std::optional<uint64_t> address_;
  std::string file_;  // the end of its path
  uint32_t line_ = 0;
};

}  // namespace flowback::cli
