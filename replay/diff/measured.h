// SPDX-License-Identifier: MIT
// One number of several recordings of a side, and whether it differs between the sides.
//
//   old  |--x-x--x--|                    ranges that do not overlap, and means that are three
//   new                 |-x--x-x-|       standard deviations apart: a change
//   new          |-x--x-x-|              ranges that overlap: noise
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace flowback {

// All 0 if there are no values.
struct Measured {
  size_t runs = 0;
  double least = 0;
  double most = 0;
  double mean = 0;
  double deviation = 0;  // standard deviation, estimated from the runs; 0 for a single one

  static Measured Of(std::span<const double> values);
  static Measured Of(std::span<const uint64_t> values);
  // The mean as a whole number, to the nearest.
  uint64_t rounded() const { return static_cast<uint64_t>(mean + 0.5); }
  bool any() const { return most != 0; }
};

struct MeasuredChange {
  Measured old;
  Measured now;

  double delta() const { return now.mean - old.mean; }
  // now / old. Infinite if the old mean is 0 and the new one is not; 1 if both are 0.
  double ratio() const;
  // Whether repeats of the same runs would hardly show this difference. With a single run on each
  // side every difference counts, because nothing is known of the noise.
  bool IsSignificant() const;
};

}  // namespace flowback
