// SPDX-License-Identifier: MIT
// The places at which a region begins and ends (--start, --stop), as code that is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/model/execution.h"

namespace flowback {

class RegionPlaces {
 public:
  // Returns whether the instruction at an address of a space is such a place.
  using IsPlace = std::function<bool(const AddressSpace* space, uint64_t ip)>;

  RegionPlaces(IsPlace starts, IsPlace stops)
      : starts_(std::move(starts)), stops_(std::move(stops)) {}

  struct Place {
    size_t instruction = 0;  // of the run
    bool starts = false;
    bool stops = false;
  };
  // Calls visit(place) for each such instruction of the run, in order.
  template <class Visit>
  void ForEach(const BlockRun& run, Visit&& visit) const {
    uint64_t ip = run.address;
    for (size_t i = 0; i < run.lengths.size(); ip += run.lengths[i++]) {
      const Answer answer = At(run.space, ip);
      if (answer.starts || answer.stops)
        visit(Place{.instruction = i, .starts = answer.starts, .stops = answer.stops});
    }
  }

 private:
  struct Answer {
    bool starts = false;
    bool stops = false;
  };
  Answer At(const AddressSpace* space, uint64_t ip) const {
    const auto [known, added] = answers_[space].try_emplace(ip);
    if (added) known->second = {.starts = starts_(space, ip), .stops = stops_(space, ip)};
    return known->second;
  }

  IsPlace starts_;
  IsPlace stops_;
  mutable std::unordered_map<const AddressSpace*, std::unordered_map<uint64_t, Answer>> answers_;
};

}  // namespace flowback
