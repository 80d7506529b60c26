// SPDX-License-Identifier: MIT
// The places at which calls of one stack may go on later although no call returns there: behind a
// call of setjmp, at the receiver of __builtin_setjmp, at the handler of an OCaml exception. A
// place belongs to the call that was the innermost one when the code took its address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowback {

struct SavedPlace {
  size_t depth = 0;  // of its call, counted from the outermost one
  uint64_t address = 0;
  uint64_t self = 0;    // Call::self of its call when it was saved last
  bool pushed = false;  // it lies on the stack: TakenPlace::pushed
  bool used = false;    // the flow went on there since
};

// By depth; the innermost come last.
class SavedPlaces {
 public:
  // Adds the place, or renews it. A call has kMostOfCall places: the one that was saved first goes.
  void Add(const SavedPlace& place);
  // Forgets the places of calls that are not among the outermost `calls`.
  [[gnu::always_inline]] void Shorten(size_t calls) {
    while (!places_.empty() && places_.back().depth >= calls) places_.pop_back();
  }
  const std::vector<SavedPlace>& all() const { return places_; }
  void SetUsed(size_t index) { places_[index].used = true; }

  // Returns the index of the place at which the flow goes on when a call at depth `from` leaps to
  // `address`; all().size(): no such place exists. That is the innermost such place, but not a
  // place of a call that raises an exception again: such a call has taken its own handler off
  // before. That is so if the call leaps itself, or if the flow went on at its place already and
  // what it called leaps. `is_there(place)` says whether the place is still on the stack.
  template <class IsThere>
  size_t Find(uint64_t address, size_t from, IsThere&& is_there) const {
    size_t raised_again = places_.size();
    for (size_t i = places_.size(); i > 0; --i) {
      const SavedPlace& place = places_[i - 1];
      if (place.address != address || !is_there(place)) continue;
      const bool leaps = place.depth == from && !place.pushed;
      if (!leaps && !(place.used && place.depth + 1 >= from)) return i - 1;
      if (raised_again == places_.size()) raised_again = i - 1;
    }
    return raised_again;
  }

 private:
  static constexpr size_t kMostOfCall = 64;

  std::vector<SavedPlace> places_;
};

}  // namespace flowback
