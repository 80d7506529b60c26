// SPDX-License-Identifier: MIT
#include "replay/calls/shadow_stack/saved_places.h"

namespace flowback {

void SavedPlaces::Add(const SavedPlace& place) {
  size_t first = places_.size();
  for (; first > 0 && places_[first - 1].depth == place.depth; --first) {
    SavedPlace& known = places_[first - 1];
    if (known.address != place.address) continue;
    known = place;
    return;
  }
  if (places_.size() - first == kMostOfCall)
    places_.erase(places_.begin() + static_cast<ptrdiff_t>(first));
  places_.push_back(place);
}

}  // namespace flowback
