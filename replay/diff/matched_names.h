// SPDX-License-Identifier: MIT
// Names that two builds have in common: of objects and of source files.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "replay/diff/run_comparison.h"
#include "replay/diff/run_profile.h"

namespace flowback {

// Runs of both sides, as passes over them need them.
struct ProfiledSides {
  std::span<const RunProfile> old;
  std::span<const RunProfile> now;

  std::span<const RunProfile> Of(bool is_new) const { return is_new ? now : old; }
};

// Objects of both sides by one name: the new side's name if it has one.
class MatchedObjects {
 public:
  explicit MatchedObjects(const ProfiledSides& sides);

  const std::string& NameOf(bool is_new, const ProfiledObject& object) const;
  // Whether all runs of both sides that have the object have the same build of it.
  bool IsSameBuild(const std::string& name) const;
  bool Has(bool is_new, const std::string& name) const { return Find(is_new, name) != nullptr; }
  // Whether the side has the object without its file in some run, so that its code is unknown.
  bool LacksFile(bool is_new, const std::string& name) const;
  // Whether functions, or lines and branches, of the object may have executed unseen in that run,
  // because its file is missing.
  bool FunctionsUnknown(bool is_new, size_t run, const std::string& name) const;
  bool LinesUnknown(bool is_new, size_t run, const std::string& name) const;
  std::vector<ObjectMatch> All() const;

 private:
  struct Known {
    std::vector<const ProfiledObject*> objects;
    bool is_main = false;
    bool executed = false;
    bool lacks_file = false;
    bool is_missing = false;               // ObjectMatch::missing
    std::set<size_t> functions_unknown{};  // numbers of runs
    std::set<size_t> lines_unknown{};
  };
  using ByName = std::map<std::string, Known>;

  static ByName Gather(std::span<const RunProfile> runs);
  const Known* Find(bool is_new, const std::string& name) const;
  void Pair(const std::string& old, const std::string& now);
  template <class Fits>
  void PairRest(const Fits& fits);

  ByName old_;
  ByName now_;
  std::map<std::string, std::string> new_name_;  // by old name
  std::map<std::string, std::string> old_name_;  // by new name
};

// Source files of the old side by the paths of the new side: the same path, else the only file of
// that name.
class MatchedFiles {
 public:
  explicit MatchedFiles(const ProfiledSides& sides);

  const std::string& NameOf(bool is_new, const std::string& file) const;

 private:
  std::map<std::string, std::string> new_name_;  // by old path
};

}  // namespace flowback
