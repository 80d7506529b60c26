// SPDX-License-Identifier: MIT
// Named regions of the recorded program (flowback/self.h), added up by name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capture/formats/perf_records/named_regions.h"
#include "capture/record/watch/function_watch.h"
#include "flowback/base/error.h"

namespace flowback::record {

// The functions that a thread calls in and out of its outermost region, with its name as their
// argument.
inline constexpr const char* kRegionEntered = "flowback_region_entered";
inline constexpr const char* kRegionLeft = "flowback_region_left";
// Longer names are cut.
inline constexpr size_t kLongestRegionName = 255;

// Whether recording is switched at these.
inline bool WatchesRegions(const WatchedFunctions& watched) {
  return watched.from.name == kRegionEntered && watched.until.name == kRegionLeft;
}

// Regions as threads report them, one region of each at a time.
class RegionLog {
 public:
  void Begin(pid_t thread, const std::string& name, uint64_t nanoseconds);
  void End(pid_t thread, uint64_t nanoseconds);
  // In the order of their names.
  std::vector<NamedRegion> Regions() const;

 private:
  // A program that makes up names without end does not cost memory without end.
  static constexpr size_t kMostNames = 4096;
  struct Open {
    NamedRegion* region = nullptr;
    uint64_t begin = 0;
  };

  std::map<std::string, NamedRegion, std::less<>> regions_;
  std::map<pid_t, Open> open_;
};

// What a program counted itself, in the file that it named (capture/record/watch/region_table.h).
// Errors: kUnreadable: it is no such file.
Result<std::vector<NamedRegion>> ReadRegionTable(int file);

}  // namespace flowback::record
