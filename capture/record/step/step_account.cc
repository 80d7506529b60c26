// SPDX-License-Identifier: MIT
// Passes the outcome of a step to the packet generator.
#include <sys/syscall.h>
#include <sys/types.h>

#include <utility>

#include "capture/record/generate/branch_outcome.h"
#include "capture/record/step/step_engine.h"
#include "capture/record/step/step_thread.h"
#include "capture/record/target/ptrace_calls.h"

namespace flowback::record {
namespace {

bool StartsChild(uint64_t number) {
  return number == SYS_fork || number == SYS_vfork || number == SYS_clone || number == SYS_clone3;
}

bool ChangesMappings(uint64_t number) {
  return number == SYS_mmap || number == SYS_mprotect || number == SYS_munmap ||
         number == SYS_mremap || number == SYS_pkey_mprotect || number == SYS_shmat ||
         number == SYS_shmdt || number == SYS_remap_file_pages;
}

}  // namespace

// Accounts for an instruction that ran without a stop of its own: the thread was killed or a signal
// came first.
void StepEngine::CatchUp(Thread& thread, uint64_t next) {
  if (next == thread.ip) return;
  if (thread.restart && next == *thread.restart) {
    thread.ip = *std::exchange(thread.restart, std::nullopt);
    return;
  }
  CompleteStep(thread, next);
}

void StepEngine::CompleteStep(Thread& thread, uint64_t next) {
  const FetchedInstruction& current = thread.current;
  if (!current.known) return CompleteUnknown(thread, next);
  switch (Interpret(current.instruction, current.bytes(), thread.ip, next)) {
    case Outcome::kRepeats:
      return;
    case Outcome::kEntersKernel:
      if (!std::exchange(thread.undisturbed, false)) {
        thread.generator.EnteredKernel(thread.ip, thread.mode);
        CountInstruction(thread);
      }
      return AfterKernelEntry(thread);
    case Outcome::kTrapped:
      return CompleteTrapped(thread, next);
    case Outcome::kEitherWay: {
      const auto registers = ReadRegisters(thread.tid);
      const bool taken =
          registers && ConditionHolds(current.bytes(), registers->eflags, registers->rcx);
      return CompleteBranch(thread, taken, next);
    }
    case Outcome::kSequential:
      return CompleteBranch(thread, false, next);
    case Outcome::kTaken:
      return CompleteBranch(thread, true, next);
  }
}

void StepEngine::CompleteBranch(Thread& thread, bool taken, uint64_t next) {
  const Instruction instruction = thread.current.instruction;
  const uint64_t ip = thread.ip;
  const CodeMode mode = thread.mode;
  thread.ip = next;
  if (IsFar(instruction.kind)) UpdateMode(thread);
  if (IsPushFlags(thread.current.bytes())) HidePushedTrapFlag(thread.tid);
  thread.generator.Completed(instruction, ip, mode, taken, next, thread.mode);
  CountInstruction(thread);
}

// An instruction that this build can't classify: it ran if it went on to just behind itself.
void StepEngine::CompleteUnknown(Thread& thread, uint64_t next) {
  const uint64_t length = next - thread.ip;
  if (length == 0 || length > thread.current.size) return CompleteTrapped(thread, next);
  thread.current.instruction = {};
  thread.current.instruction.length = static_cast<uint8_t>(length);
  CompleteBranch(thread, false, next);
}

void StepEngine::CompleteTrapped(Thread& thread, uint64_t next) {
  if (next == thread.ip) return;
  const FetchedInstruction& current = thread.current;
  if (current.known && IsTransactionBegin(current.instruction, current.bytes())) {
    thread.generator.Aborted(thread.ip, thread.mode, next);
    thread.ip = next;
    return;
  }
  thread.generator.Faulted(thread.ip, thread.mode);
  AfterKernelEntry(thread);
  thread.ip = next;
}

void StepEngine::AfterKernelEntry(Thread& thread) {
  const auto registers = ReadRegisters(thread.tid);
  if (!registers) return;
  if (MayRestart(*registers)) thread.restart = RestartAddress(*registers);
  thread.ip = registers->rip;
  const CodeMode caller_mode = std::exchange(thread.mode, ModeOf(*registers));
  if (caller_mode == CodeMode::kX86_64)
    AfterSystemCall(thread, registers->orig_rax, registers->rax);
  else
    AnnounceMappings(thread);  // other numbers; look every time
}

void StepEngine::AfterSystemCall(Thread& thread, uint64_t number, uint64_t result) {
  thread.process.code.NoteWrites();
  if (ChangesMappings(number)) AnnounceMappings(thread);
  if (number == SYS_prctl) AnnounceComm(thread, false);
  const bool made_child = std::exchange(thread.made_child, false);
  // CLONE_UNTRACED keeps children from us.
  if (StartsChild(number) && static_cast<int64_t>(result) > 0 && !made_child)
    AddNote("the program started a child that must not be traced: it ran untraced");
}

void StepEngine::UpdateMode(Thread& thread) {
  if (const auto registers = ReadRegisters(thread.tid)) thread.mode = ModeOf(*registers);
}

}  // namespace flowback::record
