// SPDX-License-Identifier: MIT
#include "tests/locks/stepped_program.h"

#include <map>
#include <set>

namespace flowback {
namespace {

constexpr size_t kLongest = 1500;
constexpr uint64_t kFarthestBack = 4096;

using Way = std::vector<uint64_t>;

SteppedTrip TripOf(const ExecutedSteps& steps, const Way& way) {
  SteppedTrip trip;
  trip.head = way.front();
  uint64_t next = 0;
  for (const uint64_t address : way) {
    if (address != next || trip.parts.empty()) {
      if (!trip.parts.empty()) trip.parts.back().taken = true;
      trip.parts.push_back({.address = address, .code = {}, .mode = steps.mode});
      trip.code.emplace_back();
    }
    const std::vector<uint8_t>& code = steps.code.at(address);
    trip.code.back().insert(trip.code.back().end(), code.begin(), code.end());
    next = address + code.size();
  }
  trip.parts.back().taken = next != trip.head;
  for (size_t i = 0; i < trip.parts.size(); ++i) trip.parts[i].code = trip.code[i];
  return trip;
}

std::set<uint64_t> HeadsOf(const std::vector<uint64_t>& addresses) {
  std::set<uint64_t> heads;
  for (size_t i = 1; i < addresses.size(); ++i)
    if (addresses[i] <= addresses[i - 1] && addresses[i - 1] - addresses[i] < kFarthestBack)
      heads.insert(addresses[i]);
  return heads;
}

}  // namespace

std::vector<SteppedTrip> TripsOf(const ExecutedSteps& steps) {
  std::vector<SteppedTrip> trips;
  std::map<Way, size_t> known;
  const std::vector<uint64_t>& all = steps.addresses;
  for (const uint64_t head : HeadsOf(all)) {
    size_t from = all.size();
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] != head) continue;
      if (from < i && i - from <= kLongest) {
        const Way way(all.begin() + static_cast<std::ptrdiff_t>(from),
                      all.begin() + static_cast<std::ptrdiff_t>(i));
        const auto [at, added] = known.try_emplace(way, trips.size());
        if (added) trips.push_back(TripOf(steps, way));
        if (i + 2 * way.size() >= all.size()) trips[at->second].last = true;
      }
      from = i;
    }
  }
  return trips;
}

}  // namespace flowback
