// SPDX-License-Identifier: MIT
// How processes end, as their threads' exit events tell.
//
// Each thread's event says what the process ends with, where that is decided: a signal's or
// exit_group's status comes to all of them. The one that decided it is told apart by what it did
// last. Else the status is the first thread's. A process has ended when its last thread has.
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "capture/record/core_pattern.h"
#include "capture/record/process_maps.h"
#include "capture/record/ptrace_calls.h"
#include "capture/record/step_engine.h"
#include "capture/record/step_thread.h"

namespace flowback::record {
namespace {

constexpr int kDumpSeconds = 60;  // a dump that took longer is not found by its time

std::string LinkIn(pid_t pid, const char* name) {
  char target[4096] = {};
  const std::string link = "/proc/" + std::to_string(pid) + "/" + name;
  return readlink(link.c_str(), target, sizeof target - 1) < 0 ? std::string() : target;
}

CoreFacts FactsOf(pid_t pid, pid_t tid, int signal) {
  CoreFacts facts{.pid = pid,
                  .tid = tid,
                  .signal = signal,
                  .time = std::time(nullptr),
                  .comm = ReadComm(pid, tid),
                  .program = LinkIn(pid, "exe")};
  struct stat about{};
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &about) == 0) {
    facts.uid = about.st_uid;
    facts.gid = about.st_gid;
  }
  rlimit limit{};
  if (prlimit(pid, RLIMIT_CORE, nullptr, &limit) == 0) facts.size_limit = limit.rlim_cur;
  utsname system{};
  if (uname(&system) == 0) facts.host = system.nodename;
  return facts;
}

// The file that the kernel has just dumped into; empty where there is none to be found.
std::string FindCore(pid_t pid, pid_t tid, int signal) {
  const CorePattern pattern = ReadCorePattern();
  const std::string folder = LinkIn(pid, "cwd");
  CoreFacts facts = FactsOf(pid, tid, signal);
  for (int i = 0; i < kDumpSeconds; ++i, --facts.time) {
    std::string path = CoreFileName(pattern, facts);
    if (path.empty()) return {};
    if (!path.starts_with('/') && folder.empty()) return {};
    if (!path.starts_with('/')) path = folder + '/' + path;
    if (access(path.c_str(), F_OK) == 0) return path;
  }
  return {};
}

}  // namespace

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
  end.tid = thread.tid;
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
    end.core = FindCore(thread.process.pid, thread.tid, WTERMSIG(end.wait_status));
}

void StepEngine::NoteSignal(Thread& thread, int signal, const siginfo_t& info) {
  thread.last_signal = signal;
  thread.last_fault.reset();
  const bool of_memory = signal == SIGSEGV || signal == SIGBUS;
  // At addresses that can be none (not canonical) the kernel tells nothing.
  if (of_memory && info.si_code > 0 && info.si_code != SI_KERNEL)
    thread.last_fault = reinterpret_cast<uint64_t>(info.si_addr);
}

// Its last thread is gone. Of threads recorded by number there may be others.
void StepEngine::EndProcess(Process& process) {
  if (process.end && !stopping_ && (process.end_decided || options_.target.tids.empty()))
    summary_.process_ends.push_back(*std::move(process.end));
  process.end.reset();
}

}  // namespace flowback::record
