// SPDX-License-Identifier: MIT
// How threads end that don't end by a system call of their own.
#include "capture/emulate/emulated_process.h"

namespace flowback::emulate {

void EmulatedProcess::OnHostFault(bool handled) {
  if (const unsigned vcpu = OwnVcpu(); vcpu < kMaxVcpus) Thread(vcpu)->OnHostFault(handled);
}

// The emulator has left its generated code: the state it keeps is up to date.
void EmulatedProcess::OnFatalSignal(int signal) {
  const unsigned vcpu = OwnVcpu();
  if (vcpu >= kMaxVcpus) return;
  ThreadTracer& thread = *Thread(vcpu);
  const std::lock_guard lock(mutex_);
  if (registers_known_) {
    Interruption interruption{.ip = registers_[vcpu]->rip, .signal = signal, .fault = {}};
    if (!MayBeFault(signal)) interruption.fault = false;
    if (thread.faulted()) interruption.fault = true;
    thread.Die(interruption);
  }
  thread.End(true);
}

}  // namespace flowback::emulate
