// SPDX-License-Identifier: MIT
// The places at which threads wait, by number, for all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/locks/lock_functions.h"
#include "replay/locks/locks.h"
#include "replay/timeline/function_table.h"

namespace flowback {

class LockSites {
 public:
  // Places in the same file are one, wherever it is mapped, and so are loops whose code overlaps.
  // `end` is the address after the last instruction that waits.
  uint32_t Find(const LockSite& site, uint64_t end);
  // A wait at the site began: in a call that had stored nothing before, or not.
  void NoteWait(uint32_t site, bool is_first) {
    if (site >= begins_later_.size()) begins_later_.resize(site + size_t{1});
    if (!is_first) begins_later_[site] = true;
  }
  // Whether waiting was the first that each call with a wait did: then the function is one that
  // acquires, and each of its calls an acquisition.
  bool WaitsFirst(uint32_t site) const {
    return site < begins_later_.size() && !begins_later_[site];
  }
  // What the function is by its name.
  LockFunction UseOf(uint32_t function, FunctionTable& functions);
  const std::vector<LockSite>& all() const { return sites_; }
  std::vector<LockSite> Take() { return std::move(sites_); }

 private:
  struct Key {
    uint32_t function = 0;
    uint64_t call = 0;  // in its file
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  std::vector<LockSite> sites_;
  std::vector<bool> begins_later_;                 // by site
  std::vector<std::optional<LockFunction>> uses_;  // by function
  // Sites of one call, by what waits there, in its file: half-open.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t site = 0;
  };
  std::unordered_map<Key, std::vector<Range>, Hash> ranges_;
};

}  // namespace flowback
