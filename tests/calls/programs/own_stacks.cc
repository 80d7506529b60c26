// SPDX-License-Identifier: MIT
// Prints its own stacks while it runs: Note prints the return addresses that the C library's
// unwinder finds, by thread. Each way to make a stack unusual is a word on the command line.
#include <alloca.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

extern char** environ;

#include "own_stacks.h"

namespace {

[[gnu::noinline]] void Print(const char* kind, void* const* frames, int count) {
  char text[4096];
  int size = std::snprintf(text, sizeof text, "%s %d", kind, static_cast<int>(gettid()));
  for (int i = 0; i < count; ++i)
    size += std::snprintf(text + size, sizeof text - static_cast<size_t>(size), " %lx",
                          reinterpret_cast<unsigned long>(frames[i]));
  text[size++] = '\n';
  if (write(1, text, static_cast<size_t>(size)) != size) _exit(1);
}

// A frame as compilers make it that keep a frame pointer.
struct Frame {
  Frame* caller;
  void* goes_on;
};
const Frame* of_main;
const Frame* of_handler;  // while one runs
const ucontext_t* interrupted;

int Walk(const Frame* frame, void** frames) {
  int count = 0;
  for (; count < 90; frame = frame->caller) {
    if (frame == of_handler) {
      frames[count++] = frame->goes_on;
      frames[count++] = reinterpret_cast<void*>(interrupted->uc_mcontext.gregs[REG_RIP]);
      const auto address = static_cast<uintptr_t>(interrupted->uc_mcontext.gregs[REG_RBP]);
      frame = reinterpret_cast<const Frame*>(address);
    }
    frames[count++] = frame->goes_on;
    if (frame == of_main) break;
  }
  return count;
}

}  // namespace

APART void Note() {
  void* frames[100];
  if (of_handler != nullptr) {
    const auto* own = static_cast<const Frame*>(__builtin_frame_address(0));
    Print("walk", frames, Walk(own, frames));
  } else {
    const int count = backtrace(frames, 100);
    Print("note", frames + 1, count - 1);
  }
}

APART int Descend(int depth) {
  if (depth == 0) Note();
  const int result = depth == 0 ? 1 : Descend(depth - 1) + 1;
  HERE;
  return result;
}

namespace {

int Recursion() { return Descend(40) == 41 ? 0 : 1; }

// --- Exceptions: destructors on the way, in functions that call themselves.
struct Guard {
  ~Guard() { Note(); }
};

APART void Throw(int depth) {
  const Guard guard;
  if (depth == 0) throw std::runtime_error("bottom");
  Throw(depth - 1);
  HERE;
}

APART void Rethrow(int depth) {
  try {
    if (depth == 0) Throw(3);
    Rethrow(depth - 1);
  } catch (const std::runtime_error&) {
    Note();
    if (depth % 2 == 0) throw;
    throw std::runtime_error("again");
  }
}

APART void NoHandlers(int depth) {
  if (depth == 0) throw std::logic_error("far");
  NoHandlers(depth - 1);
  HERE;
}

APART int Catch(int depth) {
  try {
    if (depth == 0)
      NoHandlers(5);
    else
      Catch(depth - 1);
  } catch (const std::logic_error&) {
    Note();
    if (depth < 3) throw;
  }
  Note();
  return depth;
}

int Exceptions() {
  try {
    Rethrow(4);
  } catch (const std::runtime_error&) {
    Note();
  }
  Catch(3);
  Note();
  return 0;
}

// --- setjmp and longjmp, from the depths of a recursion of the function that called setjmp.
jmp_buf far_out;
jmp_buf further_in;

APART void Leap(int depth) {
  if (depth < 0) return;
  if (depth == 0) longjmp(far_out, 1);
  Leap(depth - 1);
  HERE;
}

APART void Recur(int depth) {
  if (depth == 5 && setjmp(further_in) != 0) {
    Note();
    return;
  }
  if (depth == 0) longjmp(further_in, 1);
  Recur(depth - 1);
  HERE;
}

int Jumps() {
  if (setjmp(far_out) == 0) Leap(10);
  Note();
  Recur(9);
  Note();
  Descend(3);
  return 0;
}

// --- Handlers of signals, on the same and on another stack, and one that jumps out.
struct InHandler {
  InHandler(const void* frame, void* context) {
    of_handler = static_cast<const Frame*>(frame);
    interrupted = static_cast<const ucontext_t*>(context);
  }
  ~InHandler() { of_handler = nullptr; }
};

void OnSignal(int, siginfo_t*, void* context) {
  const InHandler in(__builtin_frame_address(0), context);
  Descend(2);
}

sigjmp_buf after_fault;
void OnFault(int, siginfo_t*, void* context) {
  const InHandler in(__builtin_frame_address(0), context);
  Note();
  of_handler = nullptr;
  siglongjmp(after_fault, 1);
}

void Handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = flags | SA_SIGINFO;
  sigaction(signal, &action, nullptr);
}

// A signal that comes while the function itself is in a system call.
APART void Signal() {
  const long process = getpid();
  long result = SYS_kill;
  asm volatile("syscall" : "+a"(result) : "D"(process), "S"(SIGUSR1) : "rcx", "r11", "memory");
}

APART void Raise(int depth) {
  if (depth == 0)
    Signal();
  else
    Raise(depth - 1);
  Note();
}

APART void Fault(int depth) {
  if (depth < 0) return;
  if (depth == 0) *static_cast<volatile int*>(nullptr) = 0;
  Fault(depth - 1);
  HERE;
}

int Signals(bool other_stack) {
  static char memory[1 << 16];
  const stack_t stack = {.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
  if (other_stack && sigaltstack(&stack, nullptr) != 0) return 1;
  const int flags = other_stack ? SA_ONSTACK : 0;
  Handle(SIGUSR1, OnSignal, flags);
  Handle(SIGSEGV, OnFault, flags);
  Raise(3);
  for (static int i = 0; i < 2; ++i)
    if (sigsetjmp(after_fault, 1) == 0) Fault(4);
  Note();
  return 0;
}

// --- Functions of the C library that call back, memory on the stack, tail calls.
int Compare(const void* a, const void* b) {
  Note();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

APART int OnStack(int size) {
  char* memory = static_cast<char*>(alloca(static_cast<size_t>(size)));
  std::memset(memory, 1, static_cast<size_t>(size));
  Note();
  return memory[size / 2];
}

APART int Tail(int depth);
APART int Other(int* depth) { return Tail(*depth - 1); }
APART int Tail(int depth) {
  static int kept;
  if (depth == 0) return OnStack(100);
  kept = depth;
  return Other(&kept);
}

int Library() {
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof numbers[0], Compare);
  return OnStack(1000) + Tail(6) == 2 ? 0 : 1;
}

// --- Threads, and children: of fork, of vfork, of posix_spawn.
int Threads() {
  std::thread first([] { Descend(2); });
  std::thread second([] { Catch(3); });
  first.join();
  second.join();
  Note();
  return 0;
}

APART pid_t Fork(int depth) {
  if (depth > 0) {
    const pid_t child = Fork(depth - 1);
    if (child == 0) Note();
    return child;
  }
  return fork();
}

APART void Vfork() {
  const pid_t child = vfork();
  if (child == 0) {
    Note();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  Note();
}

int Forked() {
  const pid_t child = Fork(3);
  if (child == 0) {
    Descend(2);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  Note();
  return 0;
}

// Its child is this program, which prints its own stacks, and has a child of its own.
APART int Spawn(char* program, int depth) {
  if (depth > 0) {
    const int result = Spawn(program, depth - 1);
    HERE;
    return result;
  }
  char what[] = "fork";
  char* words[] = {program, what, nullptr};
  pid_t spawned = -1;
  if (posix_spawn(&spawned, program, nullptr, nullptr, words, environ) != 0) return 1;
  int status = 0;
  waitpid(spawned, &status, 0);
  Note();
  return status;
}

int Children(char* program) {
  if (Forked() != 0) return 1;
  Vfork();
  return Spawn(program, 3);
}

int Run(char* program, const std::string& what) {
  if (what == "recursion") return Recursion();
  if (what == "exceptions") return Exceptions();
  if (what == "jumps") return Jumps();
  if (what == "signals") return Signals(false);
  if (what == "alternate-stack") return Signals(true);
  if (what == "fibres") return Fibres(true);
  if (what == "fibres-in-no-order") return Fibres(false);
  if (what == "switch-by-return") return SwitchByReturn();
  if (what == "switch-by-jump") return SwitchByJump();
  if (what == "switch-by-longjmp") return SwitchByLongjmp();
  if (what == "coroutines") return Coroutines();
  if (what == "pushed") return Pushed();
  if (what == "fork") return Forked();
  if (what == "boost-fibres") return BoostFibres();
  if (what == "leaps") return Leaps();
  if (what == "contexts") return Contexts();
  if (what == "fibres-inline") return SwitchesInline();
  if (what == "library") return Library();
  if (what == "threads") return Threads();
  if (what == "children") return Children(program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  of_main = static_cast<const Frame*>(__builtin_frame_address(0));
  char text[40];
  const int size =
      std::snprintf(text, sizeof text, "at %lx\n", reinterpret_cast<unsigned long>(Note));
  if (write(1, text, static_cast<size_t>(size)) != size) return 1;
  return argc < 2 ? 2 : Run(argv[0], argv[1]);
}
