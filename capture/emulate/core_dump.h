// SPDX-License-Identifier: MIT
// The program's core dump, under its natural name.
//
// Where a program dies of a signal that dumps core, the emulator writes a dump of the program's
// memory, as long as RLIMIT_CORE is not 0, into a file named its own way. Then it dies of the same
// signal itself, and the kernel would dump the emulator, with all the memory shared with the
// recorder, over what a debugger should find. So the emulator's file is made under the name that
// the kernel would have chosen, and the kernel is kept from dumping.
#pragma once

#include <sys/types.h>

#include <string>

#include "capture/record/target/core_pattern.h"

namespace flowback::emulate {

// One for the process. All calls come from the thread that dies, once the emulator has stopped the
// others, but for IsDump and Write, which any thread may call.
class CoreDump {
 public:
  // Whether the emulator opens that file for a dump of this process.
  static bool IsDump(const char* path, int flags);
  // Makes the file; -1 and errno where that fails. `comm` is the dying thread's name, `program` the
  // program's file.
  int Open(const std::string& comm, const std::string& program);
  // The dump is complete, and this is the signal, which it may be named after.
  void Finish(int signal);
  // What the emulator writes, anywhere. Empty pages of the dump become holes, as the kernel has it.
  ssize_t Write(int descriptor, const void* bytes, size_t size);
  // Returns the dump's path; empty: no dump was written.
  const std::string& path() const { return path_; }
  // The kernel shall dump nothing of this process from now on.
  static void KeepKernelFromDumping();

 private:
  std::string PathFor(int signal) const;

  record::CorePattern pattern_;
  record::CoreFacts facts_;
  std::string folder_;
  std::string path_;
  int descriptor_ = -1;
  pid_t pid_ = 0;
};

}  // namespace flowback::emulate
