// SPDX-License-Identifier: MIT
// Where in a stream its parts begin: behind gaps, in which bytes are missing, and with the stays of
// threads on its CPU.
//
//   offset    0            gap                  gap                      size
//   parts     |============|====================|========================|
//   stays     |------------------->|<-------------->|<-------------------|
//
// It only goes forward. It is part of a state that other decoders of the same stream go on from, so
// it keeps numbers, and takes the input each time.
#pragma once

#include <algorithm>
#include <cstddef>

#include "flowback/decode/decoder.h"

namespace flowback::pt {

class StreamParts {
 public:
  // Returns the offset up to which the bytes from `begin` on follow each other: the next gap, or
  // the stream's end.
  size_t EndFrom(const DecodeInput& input, size_t begin) {
    const size_t size = input.bytes.size();
    while (gap_ < input.gaps.size() && std::min<size_t>(input.gaps[gap_].offset, size) <= begin)
      ++gap_;
    return gap_ < input.gaps.size() ? std::min<size_t>(input.gaps[gap_].offset, size) : size;
  }
  // At which the bytes end now; null: none.
  const StreamGap* NextGap(const DecodeInput& input) const {
    return gap_ < input.gaps.size() ? &input.gaps[gap_] : nullptr;
  }

  // The next stay, if it begins at `offset` or before; null: not yet. It is the one at hand then.
  const ThreadStay* Enter(const DecodeInput& input, size_t offset) {
    if (change_ == input.changes.size() || input.changes[change_].offset > offset) return nullptr;
    return input.changes[change_++].stay;
  }
  // Null: none has begun.
  const ThreadStay* StayAtHand(const DecodeInput& input) const {
    return change_ != 0 ? input.changes[change_ - 1].stay : nullptr;
  }
  // Returns where the next stay begins; the stream's end: no stay follows.
  size_t NextStay(const DecodeInput& input) const {
    return change_ < input.changes.size() ? input.changes[change_].offset : input.bytes.size();
  }

  // Whether it can be of this input.
  bool Fits(const DecodeInput& input) const {
    return change_ <= input.changes.size() && gap_ <= input.gaps.size();
  }
  bool operator==(const StreamParts&) const = default;

  // All that it consists of, for a state to be written and read.
  template <class T, class Use>
  static void Parts(T& of, Use use) {
    auto& [change, gap] = of;
    use(change, gap);
  }

 private:
  size_t change_ = 0;  // the next one's number in input.changes
  size_t gap_ = 0;     // in input.gaps
};

}  // namespace flowback::pt
