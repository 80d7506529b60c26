// SPDX-License-Identifier: MIT
// Numbers of address spaces that are the same in each run of the program.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {

// Numbers address spaces in the order in which they are met. Items sorted or hashed by an object's
// place in memory come in another order in each run; sort and hash by these numbers instead. The
// spaces must live as long as the object is used.
class SpaceNumbers {
 public:
  // Returns the number of `space`, which may be null. Gives it the next one if it has none.
  uint32_t Of(const AddressSpace* space) {
    if (space == last_) return number_;
    const auto next = static_cast<uint32_t>(spaces_.size());
    const auto [known, is_new] = numbers_.try_emplace(space, next);
    if (is_new) spaces_.push_back(space);
    last_ = space;
    number_ = known->second;
    return number_;
  }
  // REQUIRES: Of returned that number.
  const AddressSpace* At(uint32_t number) const { return spaces_[number]; }

 private:
  std::vector<const AddressSpace*> spaces_ = {nullptr};
  std::unordered_map<const AddressSpace*, uint32_t> numbers_ = {{nullptr, 0}};
  const AddressSpace* last_ = nullptr;
  uint32_t number_ = 0;  // of `last_`
};

}  // namespace flowback
