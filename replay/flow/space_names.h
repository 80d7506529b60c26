// SPDX-License-Identifier: MIT
// The address spaces that streams are decoded with, by numbers that mean the same in another
// process which decodes the same recording.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "flowback/decode/decoder.h"
#include "flowback/decode/schedule.h"
#include "flowback/decode/stream_input.h"
#include "flowback/model/recording.h"

namespace flowback {

class SpaceNames {
 public:
  // What the input has that is new, in its order.
  void Add(const DecodeInput& input) {
    Add(input.code);
    for (const StayChange& change : input.changes)
      if (change.stay != nullptr) Add(change.stay->code.get());
  }
  void Add(const AddressSpace& space) {
    const auto name = static_cast<uint32_t>(spaces_.size());
    if (names_.try_emplace(&space, name).second) spaces_.push_back(&space);
  }
  bool Has(const AddressSpace* space) const { return names_.contains(space); }
  // REQUIRES: it has it.
  uint32_t Of(const AddressSpace* space) const { return names_.at(space); }
  // Null: no space has that name.
  const AddressSpace* Find(uint32_t name) const {
    return name < spaces_.size() ? spaces_[name] : nullptr;
  }

 private:
  void Add(const AddressSpaceHistory* history) {
    if (history == nullptr || !names_.try_emplace(history, 0).second) return;
    for (const AddressSpaceHistory::Epoch& epoch : history->epochs) Add(*epoch.space);
  }

  std::vector<const AddressSpace*> spaces_;
  std::unordered_map<const void*, uint32_t> names_;  // of spaces; histories stand for themselves
};

// Returns the spaces that the recording's streams are decoded with.
inline SpaceNames SpacesOf(const Recording& recording, const StreamInputs& inputs) {
  SpaceNames spaces;
  for (const Stream& stream : recording.streams) spaces.Add(inputs.For(stream));
  return spaces;
}

}  // namespace flowback
