// SPDX-License-Identifier: MIT
// Where in a process's memory recording is switched on and off.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capture/record/watch/function_name.h"

namespace flowback::record {

// Recording goes from the first instruction of a function called `from`, which is recorded, to the
// first of one called `until`, which is not; each may be empty. A thread begins as the one that
// made it is; the first one on, unless there is a `from`.
struct WatchedFunctions {
  FunctionName from;
  FunctionName until;

  bool everything() const { return from.empty() && until.empty(); }
  bool starts_on() const { return from.empty(); }
};

enum class RecordingSwitch : uint8_t { kNone, kOn, kOff };

// One process's addresses; a forked process goes on with a copy. Functions are looked for in every
// file that is mapped as code, and count wherever there is one of that name.
class FunctionWatch {
 public:
  FunctionWatch() = default;
  explicit FunctionWatch(WatchedFunctions watched) : watched_(std::move(watched)) {}

  const WatchedFunctions& watched() const { return watched_; }
  bool watches() const { return !watched_.everything(); }

  struct Found {
    uint64_t address = 0;  // 0: the function is indirect (IFUNC), and where it is, is not known
    RecordingSwitch turns = RecordingSwitch::kNone;
    std::string text{};  // "f in /lib/libx.so at 0x1139"
  };
  // Code of the file is mapped at [begin, end). Forgets what was there.
  std::vector<Found> OnMapping(uint64_t begin, uint64_t end, uint64_t file_offset,
                               const std::string& path);
  // What happens when control arrives there.
  RecordingSwitch At(uint64_t address) const {
    const auto found = switches_.find(address);
    return found == switches_.end() ? RecordingSwitch::kNone : found->second;
  }
  // The first switch in [begin, end); 0: none.
  uint64_t FirstIn(uint64_t begin, uint64_t end) const;
  // Where recording is switched on, by address.
  std::vector<uint64_t> Beginnings() const;
  // Another program.
  void Reset() { switches_.clear(); }

 private:
  struct Places {
    FunctionPlaces from, until;
  };
  const Places& PlacesIn(const std::string& path);

  WatchedFunctions watched_;
  std::map<uint64_t, RecordingSwitch> switches_;  // by address
  std::map<std::string, Places, std::less<>> files_;
};

}  // namespace flowback::record
