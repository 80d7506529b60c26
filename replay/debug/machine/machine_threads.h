// SPDX-License-Identifier: MIT
// The threads of a replayed machine, each as it was at one moment.
//
// A thread is looked at only on request; only the walks of the threads requested last are in
// memory, since a recording may have thousands of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "replay/debug/machine/moment.h"
#include "replay/debug/machine/thread_walk.h"

namespace flowback {

// Whether a thread's flow had begun at a moment, and had not ended.
enum class ThreadState : uint8_t { kNotBegun, kRunning, kEnded };

class MachineThreads {
 public:
  // The largest number of walks kept in memory.
  static constexpr size_t kLive = 8;

  // `threads`: numbers of the index's threads, which have instructions. The index must outlive it.
  MachineThreads(FlowIndex& index, std::vector<size_t> threads);

  size_t size() const { return numbers_.size(); }
  const IndexedThread& thread(size_t thread) const { return index_.threads()[numbers_[thread]]; }
  size_t index_number(size_t thread) const { return numbers_[thread]; }
  FlowIndex& index() { return index_; }

  // The thread's walk, standing anywhere: the caller moves it. Valid until kLive others have been
  // asked for.
  ThreadWalk& Walk(size_t thread);
  // Moves the thread's walk to the first place that the thread had not executed at the moment.
  // Returns whether there is one; else the walk stands at the last place, all executed.
  struct At {
    ThreadWalk& walk;
    bool ended = false;
  };
  At Settle(size_t thread, const MachineMoment& moment);

  // The moment when the walk of the thread stands where it does.
  MachineMoment MomentOf(size_t thread, const ThreadWalk& walk) const {
    return {.order = walk.tsc() + 1, .thread = thread, .place = walk.place()};
  }

 private:
  struct Live {
    size_t thread;
    ThreadWalk walk;
    Live(size_t number, FlowIndex& index, const IndexedThread& of)
        : thread(number), walk(index, of) {}
  };

  FlowIndex& index_;
  std::vector<size_t> numbers_;
  std::list<Live> live_;  // the one used last first
};

}  // namespace flowback
