// SPDX-License-Identifier: MIT
#include "capture/record/target/cpu_binding.h"

namespace flowback::record {

CpuBinding::CpuBinding(bool wanted) {
  if (!wanted || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  const int cpu = sched_getcpu();
  if (cpu < 0) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  bound_ = sched_setaffinity(0, sizeof only, &only) == 0;
}

CpuBinding::~CpuBinding() { Release(0); }

void CpuBinding::Release(pid_t tid) const {
  if (bound_) sched_setaffinity(tid, sizeof before_, &before_);
}

}  // namespace flowback::record
