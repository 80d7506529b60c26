// SPDX-License-Identifier: MIT
// Finds which processes of a recording still exist, without waiting for them: a daemon is no child
// of the recorder's, and between two programs it has nothing of ours in it.
//
// Each process maps a page of shared memory, which its children inherit from their first moment on
// and which the kernel takes away at its end. The kernel shows whether any process has it: such
// memory can't be sealed against writing. The page goes at execve as well, so a process enters its
// number in a table before, and the new program takes it out when it has mapped the page in turn.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <string>

#include "base/descriptor.h"

namespace flowback::record {

// In the shared area.
struct PresenceTable {
  static constexpr uint32_t kEntries = 1024;

  int32_t page = -1;                         // the recorder's descriptor
  std::atomic<int32_t> executing[kEntries];  // processes about to become other programs

  // A process writes down that it becomes another program, and that it has, or could not. Beyond
  // the table's size nothing is written.
  void Enter(pid_t pid);
  void Leave(pid_t pid);
  // Returns the live ones among these.
  std::set<pid_t> Executing();
};

// A process of the recording, whose recorder has its files open at `folder` ("/proc/PID/fd/"),
// shows that it is there. Where that fails, only its threads' slots do.
void ShowPresence(const PresenceTable& table, const std::string& folder);

// The recorder's side.
class PresencePage {
 public:
  explicit PresencePage(PresenceTable& table);
  // Whether a process shows its presence. Once none does, none is let in any more. False if the
  // kernel cannot say.
  bool IsHeld() const;

 private:
  Descriptor page_;
};

}  // namespace flowback::record
