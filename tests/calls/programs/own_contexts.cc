// SPDX-License-Identifier: MIT
// The parts of own_stacks whose calls look usual and are not: places that getcontext kept and
// setcontext goes back to, functions inside of others, jumps to other functions at a call's end,
// and jumps by way of code that belongs to no function.
#include <ucontext.h>

#include "own_stacks.h"

namespace {

// --- getcontext and setcontext, used as setjmp and longjmp are. Where it goes on, a call of
// getcontext has returned before.
ucontext_t kept;
volatile int rounds;

APART void GoBack(int depth) {
  if (depth == 0) setcontext(&kept);
  GoBack(depth - 1);
  HERE;
}

APART int ComeAgain(int depth) {
  rounds = 0;
  getcontext(&kept);
  rounds = rounds + 1;
  Note();
  if (rounds < 4) {
    Descend(1);
    GoBack(depth + rounds);
  }
  return rounds;
}

// The same out of the depths of a function that is the receiver's caller, too.
APART int ComeAgainBelow(int depth) {
  if (depth > 0) {
    const int result = ComeAgainBelow(depth - 1);
    HERE;
    return result;
  }
  return ComeAgain(2);
}

// --- A function whose end is a function of its own: the first one comes to it without a jump.
extern "C" void NoteInside() { Note(); }
extern "C" void NoteBehindStub(int depth) { Descend(depth); }
extern "C" void Around(int depth);
extern "C" void TailOnce(int depth);
extern "C" void ByStub(int depth);
asm(R"(
  .text
  .type Around, @function
Around:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_offset %rbx, -16
  mov %edi, %ebx
  test %edi, %edi
  jle Inside
  lea -1(%rdi), %edi
  call Around
  .type Inside, @function
Inside:
  call NoteInside
  mov %ebx, %edi
  pop %rbx
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size Inside, . - Inside
  .size Around, . - Around

# --- Jumps to another function in the place of a return, in turn: TailOnce, TailTwice.
  .type TailOnce, @function
TailOnce:
  .cfi_startproc
  dec %edi
  jmp TailTwice
  .cfi_endproc
  .size TailOnce, . - TailOnce
  .type TailTwice, @function
TailTwice:
  .cfi_startproc
  test %edi, %edi
  jg TailOnce
  jmp NoteInside
  .cfi_endproc
  .size TailTwice, . - TailTwice

# --- A call, and a jump, of code between functions.
  .type ByStub, @function
ByStub:
  .cfi_startproc
  push %rdi
  .cfi_adjust_cfa_offset 8
  call .Lstub
  pop %rdi
  .cfi_adjust_cfa_offset -8
  dec %edi
  jg .Lagain
  ret
  .cfi_endproc
  .size ByStub, . - ByStub
.Lstub:
  jmp NoteBehindStub
.Lagain:
  jmp ByStub
)");

}  // namespace

int Contexts() {
  int result = 0;
  for (int i = 0; i < 3; ++i) result += ComeAgain(i);
  result += ComeAgainBelow(3);
  for (int i = 0; i < 3; ++i) Around(i);
  for (int i = 1; i < 4; ++i) TailOnce(i);
  for (int i = 1; i < 4; ++i) ByStub(i);
  Note();
  return result == 16 ? 0 : 1;
}
