// SPDX-License-Identifier: MIT
// Call stacks of threads at any place of their flow, as the flow itself makes them.
//
// The first question about a thread takes a pass over its flow, which keeps the stacks at places
// along the way; later ones begin at the nearest of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "flowback/base/error.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/thread_stack.h"
#include "flowback/session.h"

namespace flowback {

// Used by one thread.
class ReplayedStacks {
 public:
  // Both must outlive it; the index has all the session's flows. `cache`: where stacks are kept
  // beside the index.
  ReplayedStacks(Session& session, FlowIndex& index, IndexCache cache);
  ~ReplayedStacks();

  // The stack of the index's thread before its instruction of that number; behind all of them, the
  // stack at the end. Valid until the next call. Errors: as Player::Play's.
  Result<const ThreadStack*> At(size_t thread, uint64_t number);
  // Keeps new stacks in the cache. Call it when no user waits.
  void Keep() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
