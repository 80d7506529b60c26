// SPDX-License-Identifier: MIT
// Source lines of both sides, paired.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replay/diff/function_changes.h"
#include "replay/diff/matched_names.h"

namespace flowback {

// Where lines of the old side stand in the source of the new one.
class MatchedLines {
 public:
  MatchedLines(const ProfiledSides& sides, const MatchedObjects& objects, const MatchedFiles& files,
               const MatchedFunctions& functions);

  const std::string& FileOf(bool is_new, const std::string& file) const {
    return files_.NameOf(is_new, file);
  }
  // Returns the new side's number of the line. Empty: the new side does not have it.
  std::optional<uint32_t> LineOf(bool is_new, const std::string& file, uint32_t line) const;

 private:
  using Texts = std::map<uint32_t, std::string_view>;  // by line
  // Functions by the line at which they begin on the old side.
  struct MovedFunction {
    uint32_t last = 0;
    uint32_t begin = 0;  // on the new side
    uint32_t end = 0;    // its last line
  };

  static std::optional<uint32_t> MovedLine(const std::map<uint32_t, MovedFunction>& functions,
                                           uint32_t line);
  void FindChanged(const MatchedObjects& objects);
  bool IsOneFile(const std::string& file) const;
  void AlignTexts();
  void FindFunctions(const MatchedFunctions& functions);
  static std::map<std::string, Texts> TextsOf(std::span<const RunProfile> runs,
                                              const std::set<std::string>& files,
                                              const MatchedFiles& names, bool is_new);

  const ProfiledSides& sides_;
  const MatchedFiles& files_;
  std::set<std::string> changed_;  // files with different builds on the two sides
  std::map<std::string, std::map<uint32_t, uint32_t>> aligned_;
  std::map<std::string, std::map<uint32_t, MovedFunction>> moved_;
};

struct LineChanges {
  std::vector<LineChange> lines;  // that executed, in any order
  uint64_t unmatched = 0;         // of the old side, that executed
};

LineChanges ChangesOf(const ProfiledSides& sides, const MatchedObjects& objects,
                      const MatchedLines& lines);

}  // namespace flowback
