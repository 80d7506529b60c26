// SPDX-License-Identifier: MIT
// Wakes a thread that waits for its children.
#pragma once

#include <sys/types.h>

namespace flowback::record {

// waitpid can't wait for anything but children, and a traced program may not be able to stop when
// asked: it may be stopped already. So this is a child of its own, which ends when the bell rings.
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // Makes the child, of the calling thread, unless it is there; when the bell has rung, it ends at
  // once. Where there is no room for another process the bell can't be heard.
  void Arm();
  // Ends the child and reaps it.
  void Disarm();
  // Whether waitpid gave back the child.
  bool Is(pid_t pid) const { return pid == child_; }
  // The child ended so: because the bell rang, or of a signal to this program that went astray,
  // which is sent here. The next child, once it is armed, waits for the next ring.
  void OnEnd(int status);
  // Rings. By any thread, once or more.
  void Ring();

 private:
  int ends_[2] = {-1, -1};  // of a pipe
  pid_t child_ = -1;
};

}  // namespace flowback::record
