// SPDX-License-Identifier: MIT
// The executable memory of a process, as /proc lists it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "flowback/model/recording.h"

namespace flowback::record {

// Half-open range of addresses, executable unless said otherwise.
struct ExecutableMapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path;       // "//anon" for memory without a file, "[vdso]"; a deleted file's name
                          // without the kernel's remark
  std::string identity;   // device and inode, to distinguish files of one name
  bool writable = false;  // its bytes may change at any time
  bool shared = false;    // other mappings of the same memory show writes to it
  bool has_file = false;
  bool deleted = false;  // the path does not lead to the file, any more or from the start

  // A mapping stays the same one when its file is deleted.
  bool operator==(const ExecutableMapping& other) const {
    return begin == other.begin && end == other.end && file_offset == other.file_offset &&
           path == other.path && identity == other.identity && writable == other.writable &&
           has_file == other.has_file;
  }
};

// Empty when the process is gone. [vsyscall] is left out: its code can't be read.
std::vector<ExecutableMapping> ReadExecutableMappings(pid_t pid);

// All mappings with anything in them, executable or not.
std::vector<ExecutableMapping> ReadMappings(pid_t pid);

// One mapping from a line of /proc/PID/maps; false when it is not executable or not a mapping.
bool ParseMapsLine(const std::string& line, ExecutableMapping& out);

// The name the kernel shows for the thread; empty when it is gone.
std::string ReadComm(pid_t pid, pid_t tid);

// Whether the thread is there and can run again: no zombie.
bool ThreadLives(pid_t pid, pid_t tid);

// The thread group `tid` belongs to; -1 when it is gone.
pid_t ReadThreadGroup(pid_t tid);
// The process that made it or that it fell to.
pid_t ReadParent(pid_t pid);
// Returns its tracer; 0: none. -1 when it is gone.
pid_t ReadTracer(pid_t tid);

// Whether the signal does nothing to the program, now: it has no handler, and ignores it or means
// to by default.
bool IgnoresSignal(pid_t tid, int signal);

}  // namespace flowback::record
