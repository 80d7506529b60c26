// SPDX-License-Identifier: MIT
#include "replay/spikes/causes/chance.h"

#include <algorithm>
#include <cmath>

namespace flowback {
namespace {

double LogChoose(uint64_t n, uint64_t k) {
  return std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(k) + 1) -
         std::lgamma(static_cast<double>(n - k) + 1);
}

}  // namespace

double ChanceOf(uint64_t hits, uint64_t drawn, uint64_t having, uint64_t all) {
  const uint64_t most = std::min(drawn, having);
  const uint64_t least = drawn + having > all ? drawn + having - all : 0;
  if (hits <= least) return 1;
  double sum = 0;
  for (uint64_t i = hits; i <= most; ++i)
    sum +=
        std::exp(LogChoose(having, i) + LogChoose(all - having, drawn - i) - LogChoose(all, drawn));
  return std::min(sum, 1.0);
}

}  // namespace flowback
