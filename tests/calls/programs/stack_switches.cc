// SPDX-License-Identifier: MIT
// The parts of own_stacks in which a thread leaves a stack and comes back to it.
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <coroutine>
#include <cstdlib>

#include "own_stacks.h"

namespace {

// --- Fibres that all yield in one function, and are gone on with in no order.
constexpr int kFibres = 5;
ucontext_t scheduler;
ucontext_t fibres[kFibres];
bool ended[kFibres];
int running;
unsigned seed = 7;

APART void Yield() {
  swapcontext(&fibres[running], &scheduler);
  HERE;
}

APART void Work(int depth) {
  Yield();
  if (depth > 0) Work(depth - 1);
  Note();
}
APART void First() {
  Work(2);
  Yield();
  Note();
}
APART void Second() {
  for (int i = 0; i < 4; ++i) Work(i);
  Note();
}
APART void Third(int depth) {
  if (depth > 0) return Third(depth - 1), Yield(), Note();
  for (int i = 0; i < 3; ++i) Yield();
}

void Body(int number) {
  switch (number % 3) {
    case 0:
      First();
      break;
    case 1:
      Second();
      break;
    default:
      Third(4);
  }
  Yield();
  Note();
  ended[number] = true;
}

int Pick(bool in_turn, int last) {
  if (in_turn) return (last + 1) % kFibres;
  seed = seed * 1103515245 + 12345;
  return static_cast<int>((seed >> 16) % kFibres);
}

}  // namespace

int Fibres(bool in_turn) {
  static char memory[kFibres][1 << 16];
  for (int i = 0; i < kFibres; ++i) {
    getcontext(&fibres[i]);
    fibres[i].uc_stack.ss_sp = memory[i];
    fibres[i].uc_stack.ss_size = sizeof memory[i];
    fibres[i].uc_link = &scheduler;
    makecontext(&fibres[i], reinterpret_cast<void (*)()>(Body), 1, i);
  }
  int last = 0;
  while (!std::all_of(ended, ended + kFibres, [](bool end) { return end; })) {
    last = running = Pick(in_turn, last);
    if (ended[running]) continue;
    swapcontext(&scheduler, &fibres[running]);
    Note();
  }
  return 0;
}

namespace {

// --- A switch of stacks in a few instructions, as libraries of fibres have it.
extern "C" void SwitchStack(void** left, void* next);
asm(R"(
  .text
  .type SwitchStack, @function
SwitchStack:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
  .size SwitchStack, . - SwitchStack
)");
// The same, but for a jump to where it goes on.
extern "C" void JumpStack(void** left, void* next);
asm(R"(
  .text
  .type JumpStack, @function
JumpStack:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  pop %r8
  jmp *%r8
  .size JumpStack, . - JumpStack
)");

using Switcher = void (*)(void**, void*);
Switcher switcher;
void* mine;
void* others;

APART void Give(void** left, void* next) {
  switcher(left, next);
  HERE;
}

APART void Generate(int depth) {
  Note();
  Give(&others, mine);
  if (depth > 0) Generate(depth - 1);
  Note();
  Give(&others, mine);
}

[[noreturn]] void Generator() {
  for (;;) Generate(3);
}

int ByHand(Switcher how) {
  switcher = how;
  alignas(16) static char memory[1 << 16];
  void** top = reinterpret_cast<void**>(memory + sizeof memory) - 3;
  *top-- = nullptr;  // the generator returns to nowhere
  *top = reinterpret_cast<void*>(Generator);
  others = top - 6;
  for (int i = 0; i < 20; ++i) {
    Give(&mine, others);
    Note();
  }
  return 0;
}

// --- A switch of stacks by longjmp, in the function that has just called setjmp.
sigjmp_buf buffers[2];
bool started;

APART void Swap(int to);
[[noreturn]] void Other(int) {
  for (int i = 0;; ++i) {
    Descend(i % 3);
    Swap(0);
  }
}
APART void StartOther() {
  static char memory[1 << 16];
  static ucontext_t back;
  static ucontext_t there;
  getcontext(&there);
  there.uc_stack.ss_sp = memory;
  there.uc_stack.ss_size = sizeof memory;
  makecontext(&there, reinterpret_cast<void (*)()>(Other), 1, 0);
  swapcontext(&back, &there);
}
APART void Swap(int to) {
  if (sigsetjmp(buffers[1 - to], 0) != 0) return;
  if (to == 1 && !started) {
    started = true;
    StartOther();
  }
  siglongjmp(buffers[to], 1);
}

}  // namespace

int SwitchByReturn() { return ByHand(SwitchStack); }
int SwitchByJump() { return ByHand(JumpStack); }

int SwitchByLongjmp() {
  for (int i = 0; i < 5; ++i) {
    Swap(1);
    Descend(1);
  }
  return 0;
}

namespace {

// --- Coroutines, gone on with by another function than the one that began them.
struct Task {
  struct promise_type {
    std::coroutine_handle<> next;
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

struct GoTo {
  std::coroutine_handle<> other;
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return other; }
  void await_resume() {}
};

Task Leaf() {
  Note();
  co_await std::suspend_always{};
  Note();
}
Task Stem(std::coroutine_handle<> other) {
  Note();
  co_await GoTo{other};
  Note();
  co_await std::suspend_always{};
  Note();
}

APART void GoOn(std::coroutine_handle<> handle) {
  handle.resume();
  HERE;
}
APART void GoOnElsewhere(std::coroutine_handle<> handle) {
  GoOn(handle);
  HERE;
}

}  // namespace

int Coroutines() {
  const Task leaf = Leaf();
  const Task stem = Stem(leaf.handle);
  GoOn(stem.handle);
  GoOnElsewhere(stem.handle);
  GoOnElsewhere(leaf.handle);
  stem.handle.resume();
  Note();
  return 0;
}

// --- Returns that are jumps: of a retpoline, and of code that pushes where it goes.
extern "C" void ThroughRetpoline(void (*target)());
extern "C" void ThroughPush(void (*target)());
asm(R"(
  .text
  .type Thunk, @function
Thunk:
  call 2f
1:
  pause
  lfence
  jmp 1b
2:
  mov %rdi, (%rsp)
  ret
  .size Thunk, . - Thunk
  .type ThroughRetpoline, @function
ThroughRetpoline:
  .cfi_startproc
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call Thunk
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size ThroughRetpoline, . - ThroughRetpoline
  .type ThroughPush, @function
ThroughPush:
  .cfi_startproc
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call 3f
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  ret
3:
  push %rdi
  ret
  .cfi_endproc
  .size ThroughPush, . - ThroughPush
)");

int Pushed() {
  for (int i = 0; i < 3; ++i) {
    ThroughRetpoline(Note);
    ThroughPush(Note);
  }
  return 0;
}
