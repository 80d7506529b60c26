// SPDX-License-Identifier: MIT
// The parts of own_stacks that leap into functions that are active, at places where no call returns
// to: handlers of exceptions, receivers of __builtin_longjmp, a setjmp of one's own. The last part
// looks the same and is a switch of stacks.
#include "own_stacks.h"

namespace {

// --- __builtin_longjmp out of a recursion.
void* receiver[5];

APART void LeapFrom(int depth) {
  if (depth == 0) __builtin_longjmp(receiver, 1);
  LeapFrom(depth - 1);
  HERE;
}

APART int Receive(int depth) {
  if (__builtin_setjmp(receiver) == 0) {
    LeapFrom(depth);
    return 0;
  }
  Note();
  return 1;
}

// --- Clean-up on the way out, as interpreters have it: each call has a receiver of its own.
struct Receivers {
  void* words[5];
  Receivers* outer;
};
Receivers* innermost;

[[noreturn]] APART void Raise() { __builtin_longjmp(innermost->words, 1); }

APART void CleanUp(int depth) {
  Receivers own;
  own.outer = innermost;
  innermost = &own;
  if (__builtin_setjmp(own.words) == 0) {
    if (depth > 0) CleanUp(depth - 1);
    Descend(1);
    Raise();
  }
  innermost = innermost->outer;
  Note();
  if (innermost != nullptr) Raise();
}

// --- Handlers that lie on the stack, as OCaml has them: a call takes its handler off when what it
// protects has returned, and raises an exception then. That goes to a caller's handler.
extern "C" void* handlers;
void* handlers;
extern "C" void RaiseToHandler();
extern "C" int Handle(int depth);
extern "C" void NoteHandler() { Note(); }
asm(R"(
  .text
  .type RaiseToHandler, @function
RaiseToHandler:
  .cfi_startproc
  mov handlers(%rip), %rsp
  pop handlers(%rip)
  pop %rax
  jmp *%rax
  .cfi_endproc
  .size RaiseToHandler, . - RaiseToHandler
  .type Handle, @function
Handle:
  .cfi_startproc
  push %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_offset %rbp, -16
  lea 2f(%rip), %rax
  push %rax
  .cfi_adjust_cfa_offset 8
  push handlers(%rip)
  .cfi_adjust_cfa_offset 8
  mov %rsp, handlers(%rip)
  test %edi, %edi
  jle 1f
  dec %edi
  call Handle
1:
  pop handlers(%rip)
  .cfi_adjust_cfa_offset -8
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
2:
  call NoteHandler
  cmpq $0, handlers(%rip)
  je 3f
  call RaiseToHandler
3:
  mov $1, %eax
  pop %rbp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size Handle, . - Handle
)");

// --- A setjmp that takes its return address off the stack, and jumps back.
extern "C" [[gnu::returns_twice]] int OwnSetjmp(void** words);
extern "C" [[noreturn]] void OwnLongjmp(void** words);
asm(R"(
  .text
  .type OwnSetjmp, @function
OwnSetjmp:
  pop %rsi
  mov %rbx, (%rdi)
  mov %rsp, 8(%rdi)
  mov %rbp, 16(%rdi)
  mov %r12, 24(%rdi)
  mov %r13, 32(%rdi)
  mov %r14, 40(%rdi)
  mov %r15, 48(%rdi)
  mov %rsi, 56(%rdi)
  xor %eax, %eax
  jmp *%rsi
  .size OwnSetjmp, . - OwnSetjmp
  .type OwnLongjmp, @function
OwnLongjmp:
  mov $1, %eax
  mov (%rdi), %rbx
  mov 8(%rdi), %rsp
  mov 16(%rdi), %rbp
  mov 24(%rdi), %r12
  mov 32(%rdi), %r13
  mov 40(%rdi), %r14
  mov 48(%rdi), %r15
  jmp *56(%rdi)
  .size OwnLongjmp, . - OwnLongjmp
)");
void* own_words[8];

[[noreturn]] APART void OwnLeapFrom(int depth) {
  if (depth == 0) OwnLongjmp(own_words);
  OwnLeapFrom(depth - 1);
  HERE;
}

APART int OwnReceive(int depth) {
  if (OwnSetjmp(own_words) == 0) {
    Note();
    OwnLeapFrom(depth);
  }
  Note();
  return 1;
}

// --- Fibres whose switch is a part of their function: it takes the address of a place in itself.
constexpr int kInline = 3;
void* inline_fibres[kInline][3];  // where each goes on, its stack pointer, its frame pointer

APART void SwitchInline(int from, int to) {
  void** left = inline_fibres[from];
  void** next = inline_fibres[to];
  asm volatile(
      "lea 1f(%%rip), %%rax\n\t"
      "mov %%rax, (%0)\n\t"
      "mov %%rsp, 8(%0)\n\t"
      "mov %%rbp, 16(%0)\n\t"
      "mov 8(%1), %%rsp\n\t"
      "mov 16(%1), %%rbp\n\t"
      "jmp *(%1)\n"
      "1:"
      : "+D"(left), "+S"(next)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
        "memory");
  Note();
}

template <int Number>
[[noreturn]] void InlineBody() {
  for (int i = 0;; ++i) {
    Descend(Number + i % 2);
    SwitchInline(Number, (Number + 1) % kInline);
  }
}

}  // namespace

int Leaps() {
  int result = 0;
  for (int i = 0; i < 3; ++i) result += Receive(i + 1);
  CleanUp(3);
  for (int i = 0; i < 2; ++i) result += Handle(3);
  for (int i = 0; i < 2; ++i) result += OwnReceive(i);
  Note();
  return result == 7 ? 0 : 1;
}

int SwitchesInline() {
  alignas(16) static char memory[kInline][1 << 16];
  for (int i = 1; i < kInline; ++i) {
    void** top = reinterpret_cast<void**>(memory[i] + sizeof memory[i]) - 3;
    *top = nullptr;  // a fibre returns to nowhere
    inline_fibres[i][0] = reinterpret_cast<void*>(i == 1 ? InlineBody<1> : InlineBody<2>);
    inline_fibres[i][1] = top;
  }
  for (int i = 0; i < 5; ++i) {
    SwitchInline(0, 1);
    Descend(1);
  }
  return 0;
}
