// SPDX-License-Identifier: MIT
#include "replay/session/branch_totals.h"

namespace flowback {

Result<BranchReport> SumBranches(Session& session, const ThreadPart& part) {
  const bool of_records = session.source().Unit().bytes != 1;
  BranchSums sums(of_records);
  if (part.IsAll()) {
    if (const Status status = session.PlayAccounted(sums); !status) return Fail(status.error());
    return sums.Take();
  }
  session.AddKnownLosses();
  FlowCut cut(sums, part, &session.losses());
  if (const Status status = session.Play(*part.thread, cut); !status) return Fail(status.error());
  return sums.Take();
}

}  // namespace flowback
