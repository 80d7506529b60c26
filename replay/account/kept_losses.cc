// SPDX-License-Identifier: MIT
#include "base/saturated.h"
#include "flowback/replay/loss_tally.h"

namespace flowback {

void KeptLosses::Add(LossCause cause, const Sum& sum) {
  if (sum == Sum()) return;
  Sum& all = causes[cause];
  AddSaturated(all.count, sum.count);
  AddSaturated(all.bytes, sum.bytes);
}

void KeptLosses::Add(const KeptLosses& other) {
  for (const auto& [cause, sum] : other.causes) Add(cause, sum);
  AddSaturated(trace_bytes, other.trace_bytes);
  AddSaturated(missing_bytes, other.missing_bytes);
  AddSaturated(unattributed_bytes, other.unattributed_bytes);
  AddSaturated(damage, other.damage);
}

}  // namespace flowback
