// SPDX-License-Identifier: MIT
// How processes end, from their threads' exit events.
//
// Each thread's event says what the process ends with, where that is decided: a signal's or
// exit_group's status comes to all of them. Its last action shows which thread decided it. Else the
// status is the first thread's. A process has ended when its last thread has.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "capture/record/step/step_engine.h"
#include "capture/record/step/step_thread.h"
#include "capture/record/target/found_core.h"
#include "capture/record/target/process_maps.h"
#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {

void StepEngine::NoteExit(Thread& thread, int status) {
  Process& process = thread.process;
  const auto registers = ReadRegisters(thread.tid);
  if (!registers) return;
  const bool deciding = WIFSIGNALED(status) ? WTERMSIG(status) == thread.last_signal
                                            : registers->orig_rax == SYS_exit_group;
  const bool first = thread.tid == process.pid;
  if (process.end_decided || (!deciding && !first)) return;
  process.end_decided = deciding;
  ProcessEnd end;
  end.pid = process.pid;
  if (deciding) end.tid = thread.tid;
  end.time = clock_.ToNanoseconds(clock_.Now());
  end.wait_status = status;
  end.comm = ReadComm(process.pid, thread.tid);
  if (deciding && WIFSIGNALED(status)) DescribeDeath(thread, registers->rip, end);
  process.end = std::move(end);
}

void StepEngine::DescribeDeath(Thread& thread, uint64_t ip, ProcessEnd& end) {
  end.ip = ip;
  end.fault_address = thread.last_fault;
  thread.process.code.ReadThrough(thread.tid);
  if (const ExecutableMapping* mapping = thread.process.code.Find(ip);
      mapping != nullptr && mapping->has_file) {
    end.file = mapping->path;
    end.file_offset = mapping->file_offset + (ip - mapping->begin);
  }
  if (WCOREDUMP(end.wait_status))
    end.core = FindCore(thread.process.pid, thread.tid, WTERMSIG(end.wait_status),
                        FolderOf(thread.process.pid));
}

void StepEngine::NoteSignal(Thread& thread, int signal, const siginfo_t& info) {
  thread.last_signal = signal;
  thread.last_fault.reset();
  const bool of_memory = signal == SIGSEGV || signal == SIGBUS;
  // The kernel reports no address if it is not canonical.
  if (of_memory && info.si_code > 0 && info.si_code != SI_KERNEL)
    thread.last_fault = reinterpret_cast<uint64_t>(info.si_addr);
}

// Its last thread is gone. It may have other threads, if threads were chosen by number.
void StepEngine::EndProcess(Process& process) {
  if (process.end && !stopping_ && (process.end_decided || options_.target.tids.empty()))
    summary_.process_ends.push_back(*std::move(process.end));
  process.end.reset();
}

}  // namespace flowback::record
