// SPDX-License-Identifier: MIT
// A thread's turns on the virtual CPUs that all recorded processes share.
#pragma once

#include <cstdint>
#include <optional>

#include "capture/record/emulate/shared_area.h"

namespace flowback::emulate {

// A thread must hold a CPU to write its trace. It keeps the one it has while it is in the kernel,
// unless another one takes it meanwhile: by one exchange of the holder's word, which all processes
// see. One that waits makes those that run give way after a time slice; when none does, as a thread
// whose loop writes no packet, or one that the emulator makes wait for this one, there is one CPU
// more. Used by its own thread only.
class CpuTurns {
 public:
  CpuTurns(record::SharedArea& area, int32_t pid, int32_t tid);

  struct Turn {
    uint32_t cpu = 0;
    bool same = false;         // no other thread has run there since
    record::CpuHolder before;  // the holder before; tid 0: no thread
  };
  // One look for a CPU; empty: all are busy.
  std::optional<Turn> Take();
  // While Take finds none, between two looks. False: there can't be another CPU either.
  bool Wait(unsigned waits);
  // Wait no more.
  void StopWaiting();

  // Gives those that wait the time to take the CPU.
  static void StandBack();

  int32_t pid() const { return self_.pid; }
  bool running() const { return running_; }
  // The CPU it has, or had last; -1: none so far.
  int64_t cpu() const { return cpu_; }
  // Someone waits, and the thread has had its time.
  bool ShouldGiveWay() const {
    return area_->waiting.load(std::memory_order_relaxed) != 0 && SliceIsOver();
  }
  // The thread writes no more for now, in the kernel or to give way.
  void Release(bool preempted);
  // The same for good. False: another thread has the CPU already.
  bool Leave();

 private:
  std::optional<Turn> TakeFrom(uint32_t cpu, bool own);
  bool SliceIsOver() const;

  record::SharedArea* area_;
  record::CpuHolder self_;
  int64_t cpu_ = -1;
  int64_t since_ = 0;  // monotonic nanoseconds
  bool running_ = false;
  bool waiting_ = false;
};

}  // namespace flowback::emulate
