// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/linux/kernel_address.h"
#include "base/linux/linux_waiting_calls.h"
#include "replay/locks/lock_functions.h"
#include "replay/writers/spikes/spikes_view.h"

namespace flowback {
namespace {

LockFunction UseOf(const SpikesView& view, const InstancePath& node) {
  if (node.kind != PathKind::kCall || node.function == CallPath::kNoFunction) return {};
  const TimelineFunction& function = view.report->functions[node.function];
  return LockFunctionOf(function.name, IsKernelAddress(function.entry_ip));
}

// Returns the outermost of a lock's functions that make the system call; kRoot: none does.
uint32_t LockAround(const SpikesView& view, uint32_t call) {
  const std::vector<InstancePath>& nodes = view.report->paths.nodes();
  uint32_t lock = PathTree::kRoot;
  for (uint32_t at = nodes[call].parent; at != PathTree::kRoot; at = nodes[at].parent) {
    const LockFunction use = UseOf(view, nodes[at]);
    if (use.waits()) lock = at;
    if (lock != PathTree::kRoot && !use.belongs_to_lock()) break;
  }
  return lock;
}

}  // namespace

std::string LockWaitWords(const SpikesView& view, const Cause& cause) {
  const InstancePath& inside = view.report->paths.nodes()[cause.inside];
  const bool sleeps = inside.kind == PathKind::kSystemCall &&
                      inside.function != CallPath::kNoFunction &&
                      IsFutexCall(inside.function, static_cast<LinuxAbi>(inside.abi));
  const uint32_t lock = sleeps ? LockAround(view, cause.inside) : PathTree::kRoot;
  if (lock == PathTree::kRoot) return {};
  const InstancePath& call = view.report->paths.nodes()[lock];
  const bool is_event = UseOf(view, call).use == LockUse::kWaits;
  const std::string place =
      call.site == 0
          ? std::string()
          : fmt::format(" called at {}", WordsOf(view, call.space, call.site).LineOrPlace());
  return fmt::format(" That is the wait {}{}{}: `flowback locks` shows {}.",
                     is_event ? "in " : "for a lock in ", PathName(view, lock), place,
                     is_event ? "how long threads waited there" : "who held it");
}

}  // namespace flowback
