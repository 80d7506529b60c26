// SPDX-License-Identifier: MIT
// How likely it is that chance alone makes a feature look like a cause.
#pragma once

#include <cstdint>

namespace flowback {

// If `having` of `all` instances have a feature: Returns the probability that `drawn` instances
// that are drawn at random have it at least `hits` times: Fisher's exact test, one-sided.
double ChanceOf(uint64_t hits, uint64_t drawn, uint64_t having, uint64_t all);

}  // namespace flowback
