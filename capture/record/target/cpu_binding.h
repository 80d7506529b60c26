// SPDX-License-Identifier: MIT
// Keeps the calling thread, and what it starts, on one CPU.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace flowback::record {

// Two processes that take turns, as recorder and recorded program do, change several times faster
// on one CPU than across two.
class CpuBinding {
 public:
  // Binds the calling thread to the CPU it runs on; does nothing when `wanted` is false.
  explicit CpuBinding(bool wanted);
  // Binds the calling thread where it was before.
  ~CpuBinding();
  CpuBinding(const CpuBinding&) = delete;
  CpuBinding& operator=(const CpuBinding&) = delete;

  // Lets another thread run on all CPUs the caller could use before.
  void Release(pid_t tid) const;

 private:
  cpu_set_t before_;
  bool bound_ = false;
};

}  // namespace flowback::record
