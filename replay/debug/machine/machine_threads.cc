// SPDX-License-Identifier: MIT
#include "replay/debug/machine/machine_threads.h"

#include <utility>

namespace flowback {

MachineThreads::MachineThreads(FlowIndex& index, std::vector<size_t> threads)
    : index_(index), numbers_(std::move(threads)) {}

ThreadWalk& MachineThreads::Walk(size_t thread) {
  for (auto at = live_.begin(); at != live_.end(); ++at) {
    if (at->thread != thread) continue;
    live_.splice(live_.begin(), live_, at);
    return live_.front().walk;
  }
  if (live_.size() == kLive) live_.pop_back();
  live_.emplace_front(thread, index_, index_.threads()[numbers_[thread]]);
  return live_.front().walk;
}

MachineThreads::At MachineThreads::Settle(size_t thread, const MachineMoment& moment) {
  ThreadWalk& walk = Walk(thread);
  if (thread == moment.thread) {
    walk.Return(moment.place);
    return {.walk = walk};
  }
  if (moment.order == 0) {
    walk.ToFirst();
    return {.walk = walk};
  }
  // At the same time, threads with lower numbers come first.
  const uint64_t tsc = thread < moment.thread ? moment.order : moment.order - 1;
  return {.walk = walk, .ended = !walk.ToTime(tsc)};
}

}  // namespace flowback
