// SPDX-License-Identifier: MIT
// What the parts of own_stacks have in common.
#pragma once

#define APART [[gnu::noinline, gnu::noclone]]

// Keeps a call from becoming a jump.
#define HERE asm volatile("" ::: "memory")

// Prints the stack.
APART void Note();
// Calls itself so often, and then Note.
APART int Descend(int depth);

// Tests of stacks that the thread switches.
int Fibres(bool in_turn);
int SwitchByReturn();
int SwitchByJump();
int SwitchByLongjmp();
int Coroutines();
int Pushed();
int BoostFibres();
int SwitchesInline();
// Exceptions and longjmps of the program's own.
int Leaps();
// Calls that look usual.
int Contexts();

// The status that says that a part is not in the program.
inline constexpr int kNotBuilt = 77;
