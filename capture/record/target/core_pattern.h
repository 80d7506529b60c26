// SPDX-License-Identifier: MIT
// Where a core dump goes, by the kernel's setting.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace flowback::record {

// Facts of a dying process that may be in its core dump's name.
struct CoreFacts {
  pid_t pid = 0;
  pid_t tid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  int signal = 0;
  unsigned cpu = 0;
  uint64_t size_limit = 0;  // bytes; all ones: none
  std::time_t time = 0;
  std::string host{};
  std::string comm{};     // of the thread
  std::string program{};  // file name of the program
};

// As /proc/sys/kernel/core_pattern and core_uses_pid say it.
struct CorePattern {
  std::string text;
  bool uses_pid = false;

  // The kernel hands the dump to a program.
  bool is_pipe() const { return text.starts_with("|"); }
};
CorePattern ReadCorePattern();

// Returns the dump's file, relative to the process's folder unless absolute. Empty: the kernel
// writes no file, as with a pipe. core(5) says what each letter stands for.
std::string CoreFileName(const CorePattern& pattern, const CoreFacts& facts);

}  // namespace flowback::record
