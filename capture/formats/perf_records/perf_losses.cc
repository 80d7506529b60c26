// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/perf_losses.h"

#include <algorithm>
#include <map>
#include <variant>

#include "capture/formats/perf_records/perf_layout.h"

namespace flowback::perf {
namespace {

class Tally {
 public:
  void operator()(const LostRecord& lost) {
    uint64_t& sum = counts_[LossCause::kRecordsLost];
    if (!lost.samples) sum += std::min(lost.count, ~uint64_t{0} - sum);
  }
  // A truncated one is a gap of its stream.
  void operator()(const AuxRecord& aux) {
    if ((aux.flags & kAuxPartial) != 0) ++counts_[LossCause::kAuxPartial];
    if ((aux.flags & kAuxCollision) != 0) ++counts_[LossCause::kAuxCollision];
  }
  void operator()(const AuxtraceErrorRecord&) { ++counts_[LossCause::kToldByRecorder]; }
  template <class Other>
  void operator()(const Other&) {}

  const std::map<LossCause, uint64_t>& counts() const { return counts_; }

 private:
  std::map<LossCause, uint64_t> counts_;
};

}  // namespace

void AddRecorderLosses(Recording& recording) {
  Tally tally;
  for (const SidebandRecord& record : recording.sideband) std::visit(tally, record);
  for (const auto& [cause, count] : tally.counts())
    if (count != 0) recording.losses.push_back({cause, count});
}

}  // namespace flowback::perf
