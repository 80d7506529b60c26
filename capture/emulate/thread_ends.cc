// SPDX-License-Identifier: MIT
// How threads end that don't end by a system call of their own.
//
// One thread ends the process: by exit_group, by execve, or by dying of a signal. The others may be
//
//   in the kernel                they are complete
//   running                      their attention is called; at their next block they write where
//                                they are (FUP, TIP.PGD, as at a context switch)
//   stopped by the emulator      it does that where it may dump core: the thread that ends the
//                                process writes where the others are
//
// After that they wait for their end where nothing else waits for them: at execve, which may still
// be refused, and at a signal. At exit_group the emulator stops all threads once more and would
// wait for them: so they run on, and what they do until the kernel kills them is not recorded.
#include <signal.h>
#include <time.h>

#include "capture/emulate/emulated_process.h"

namespace flowback::emulate {
namespace {

// The emulator may dump core for it.
bool DumpsCore(int signal) { return MayBeFault(signal) || signal == SIGABRT || signal == SIGQUIT; }

void Pause() {
  const timespec pause{.tv_sec = 0, .tv_nsec = 100'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

void EmulatedProcess::OnHostFault(bool handled, uint64_t address) {
  if (const unsigned vcpu = OwnVcpu(); vcpu < kMaxVcpus)
    Thread(vcpu)->OnHostFault(handled, address);
}

// The emulator has left its generated code: the state it keeps is up to date.
void EmulatedProcess::OnFatalSignal(int signal, const std::string& core) {
  const unsigned vcpu = OwnVcpu();
  if (vcpu >= kMaxVcpus) return;
  ThreadTracer& thread = *Thread(vcpu);
  TellKilled(vcpu, signal, core);
  if (registers_known_ != 0)
    thread.Die({.ip = InstructionPointer(vcpu), .signal = signal, .fault = thread.Faulted()});
  thread.End(true);
  if (DumpsCore(signal)) return EndStopped(vcpu);
  holding_ = true;
  EndOthers(vcpu);
}

// Called for at its beginning of `block`.
void EmulatedProcess::LookUp(unsigned vcpu, const Block& block, uint32_t attention) {
  ThreadTracer& thread = *Thread(vcpu);
  // A call may come late, for a thread that had the slot before.
  thread.Ignore(record::kAttentionEnd | record::kAttentionCode);
  const bool ends = (attention & record::kAttentionEnd) != 0 && ending_;
  if (ends || (attention & record::kAttentionStop) != 0) {
    thread.Leave();
    thread.End(ends);
  } else if ((attention & record::kAttentionCode) != 0) {
    thread.Sync();
  }
  if (!ends) return;
  while (holding_) Pause();
  if (ending_) return;
  // The process goes on after all.
  const std::lock_guard lock(mutex_);
  SetThread(vcpu, NewTracer(thread.off()));
  delete &thread;
  if (Thread(vcpu)->open()) Thread(vcpu)->Enter(block);
}

// Whether some have to answer yet.
bool EmulatedProcess::CallOthers(unsigned own) {
  const std::lock_guard lock(mutex_);
  bool waiting = false;
  const unsigned count = vcpus_;
  for (unsigned i = 0; i < count; ++i) {
    ThreadTracer* thread = i == own ? nullptr : Thread(i);
    if (thread != nullptr && thread->CallAttention(record::kAttentionEnd))
      waiting |= !thread->in_kernel();
  }
  return waiting;
}

void EmulatedProcess::EndOthers(unsigned own) {
  constexpr int kMaxRounds = 20'000;  // two seconds: some may wait for one that waits here
  if (vcpus_ < 2) return;
  ending_ = true;
  // A second look when none is seen running: one may just have come out of the kernel.
  for (int round = 0, quiet = 0; round < kMaxRounds && quiet < 2; ++round) {
    quiet = CallOthers(own) ? 0 : quiet + 1;
    if (quiet < 2) Pause();
  }
}

void EmulatedProcess::EndStopped(unsigned own) {
  const std::lock_guard lock(mutex_);
  const unsigned count = vcpus_;
  for (unsigned i = 0; i < count; ++i) {
    ThreadTracer* thread = i == own ? nullptr : Thread(i);
    if (thread == nullptr || registers_[i] == nullptr || registers_known_ == 0) continue;
    // A thread that is about to make a system call writes that itself.
    const std::lock_guard telling(thread->telling());
    if (!thread->open() || thread->in_kernel()) continue;
    thread->Die({.ip = InstructionPointer(i), .signal = 0, .fault = thread->Faulted()});
    thread->End(true);
  }
}

}  // namespace flowback::emulate
