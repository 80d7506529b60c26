// SPDX-License-Identifier: MIT
// Which threads ended, and which one ended a process, where the recorder did not see it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "flowback/model/recording.h"

namespace flowback {

// The thread that ended the process: the recorder's word, else the only one that the process had by
// the recording. -1: unknown.
int32_t EndedThread(const Recording& recording, const ProcessEnd& end);

// When threads exited, by the recording's records. A thread whose flow ends without one waits in
// the kernel, or its exit is not recorded.
class ThreadExits {
 public:
  explicit ThreadExits(const Recording& recording);
  // `time`: as in SidebandBase.
  bool IsBefore(int32_t tid, uint64_t time) const;

 private:
  std::unordered_map<int32_t, uint64_t> first_;  // by thread
};

}  // namespace flowback
