// SPDX-License-Identifier: MIT
#include "replay/debug/machine/visit_count.h"

namespace flowback {

std::optional<VisitCount> CountVisits(MachineThreads& threads, size_t thread,
                                      const MachineMoment& moment, uint64_t address,
                                      const KeepOn& keep_on) {
  ThreadWalk& walk = threads.Settle(thread, moment).walk;
  const MachineMoment here = threads.MomentOf(thread, walk);
  const StopMarks marks{.addresses = {address}};
  VisitCount count;
  const auto note = [&] {
    // Within one thread, the place alone gives the order.
    MachineMoment there{.order = here.order, .thread = thread, .place = walk.place()};
    ++count.all;
    if (there < here) ++count.before;
  };
  walk.ToFirst();
  if (walk.pc() == address) note();
  for (;;) {
    const FoundStop found = ToNextStop(walk, threads.index(), marks, UINT64_MAX, keep_on);
    if (found.kind == FoundStop::Kind::kInterrupted) return std::nullopt;
    if (found.kind == FoundStop::Kind::kNone) return count;
    note();
  }
}

}  // namespace flowback
