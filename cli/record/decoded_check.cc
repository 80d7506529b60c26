// SPDX-License-Identifier: MIT
#include "cli/record/decoded_check.h"

#include "cli/reading/losses.h"
#include "flowback/session.h"

namespace flowback::cli {

std::optional<DecodedCheck> CheckDecoded(const RecordSummary& summary,
                                         const RecordOptions& options) {
  // Reading takes some 300 KB for each process: a whole build would fill the memory.
  constexpr size_t kMostThreads = 2000;
  if (summary.threads.size() > kMostThreads) return std::nullopt;
  const bool whole = !summary.failure && summary.overwritten_bytes == 0 && summary.files <= 1;
  if (summary.events || !whole || options.files.pipe >= 0 || !options.files.raw_directory.empty())
    return std::nullopt;
  SessionOptions read;
  read.open.input = options.files.output;
  read.open.whole_streams = false;  // a long trace does not lie in memory as a whole
  Result<Session> session = Session::Open(read);
  if (!session) return std::nullopt;
  const auto sums = session->Sum();
  if (!sums) return std::nullopt;
  DecodedCheck check;
  for (const ThreadTotals& sum : *sums) {
    check.instructions += sum.totals.digest.count;
    if (check.first_loss.empty() && !sum.totals.losses.empty())
      check.first_loss = LossText(sum.totals.losses.front());
  }
  return check;
}

}  // namespace flowback::cli
