// SPDX-License-Identifier: MIT
// A thread's call stack anywhere in a long recording, without playing the thread up to there.
//
// A first pass over the thread keeps its stacks as they are at the begin of some of its shares. A
// stack is then found from the nearest place before it.
//
//   shares   |------|------|------|------|------|------|------|
//   kept     *      *             *      *      *      *          where that takes little room
//   told                                 !             !          about stacks left behind
//   asked                     ?
//   played          [-------------]      [-----]       [----]     the last two while that may
//                                                                  change what was asked for
//
// Where the index knows what shares did to the call stack (FlowIndex::Options::calls), both passes
// play few of them (share_walk.h). Call::self of calls that were passed over so is too small.
//
// Later flow may prove facts of a stack (an unseen caller, or which of several stacks it was). They
// are learned from the shares in which the pass noted them.
//
// Kept in the cache beside the flow index, by the same key, it is of the streams and their code.
// The model of calls also asks which function an address is in; so the files that names came from
// are noted, and what was kept is as none where one of them has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/symbolizer.h"
#include "flowback/replay/thread_stack.h"
#include "replay/calls/stack_snapshots.h"

namespace flowback {

// Belongs to one thread.
class KeptStacks {
 public:
  struct Source {
    FlowIndex& index;
    FunctionFinder& functions;
    const Symbolizer& symbolizer;  // which the functions are found with
    // Makes the same index anew, with what shares did to the call stack. It is called where `index`
    // came from the cache, which lacks that: to play all of a long flow takes longer. May be empty.
    std::function<Result<FlowIndex>()> index_anew = nullptr;
  };
  // The stacks that are kept take no more than this part of the trace, and neither does what its
  // shares do to the stack. 0: as much as they take, at each share.
  static constexpr uint64_t kPart = 256;

  // What `source` names must outlive it. Nothing comes from the cache, or is kept there, where that
  // has no folder or no key.
  KeptStacks(const Source& source, IndexCache cache, uint64_t part = kPart);
  KeptStacks(KeptStacks&&) noexcept;
  KeptStacks& operator=(KeptStacks&&) noexcept;
  ~KeptStacks();

  // Threads are known by their numbers in the index.
  bool Has(size_t thread) const;
  // The pass over its flow.
  void Make(size_t thread, ThreadOrigin origin, const StackSnapshots::Options& options);
  // REQUIRES: Has(thread); the options are those of Make.
  ThreadStack At(size_t thread, const StackPlace& place,
                 const StackSnapshots::Options& options) const;
  // Makes the stack what it was at the begin of the nearest share before that one, or of that one,
  // where it was kept; returns the share. REQUIRES: Has(thread); it has shares.
  size_t Enter(size_t thread, size_t share, CallStack& stack) const;
  // As Enter, but goes on to the share itself, and plays as little flow before it as it must. For
  // calls open there, Call::self may be too small; the site of a call that a jump replaced may be
  // the jump's. The options are those of Make.
  size_t GoTo(size_t thread, size_t share, CallStack& stack,
              const StackSnapshots::Options& options) const;
  // Keeps new states in the cache, if making them took long enough. Call it when no user waits.
  void Keep() const;

  // Shares that Make has not played.
  size_t passed_over() const;
  // Bytes in the cache, and places at which stacks are kept.
  size_t file_bytes() const;
  size_t place_count() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flowback
