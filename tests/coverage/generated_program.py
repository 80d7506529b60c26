#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program in C, made of a seed: functions with loops, conditions, calls and ways out that never happen. A statement
a line, no library: with -DBARE it begins at _start. It ends, for budgets of calls are used up."""

import random


class Writer:
    def __init__(self, seed, functions):
        self.random = random.Random(seed)
        self.functions = functions
        self.lines = []
        self.loops = 0

    def out(self, depth, text):
        self.lines.append("  " * depth + text)

    def value(self, depth=0):
        kind = self.random.randrange(6 if depth < 2 else 3)
        if kind == 0:
            return str(self.random.randrange(200))
        if kind < 3:
            return self.random.choice("abst")
        operator = self.random.choice("+-*^&|")
        return f"({self.value(depth + 1)} {operator} {self.value(depth + 1)})"

    def condition(self):
        kind = self.random.randrange(8)
        if kind == 0:
            return f"({self.value()} & 0xff) == {self.random.randrange(256, 400)}"  # never
        if kind == 1:
            return f"({self.value()} & 3) < 4"  # always
        if kind == 2:
            return f"({self.value()} & 1) && ({self.value()} & 2)"
        if kind == 3:
            return f"({self.value()} & 1) || ({self.value()} & 4)"
        return f"({self.value()} & 7) {self.random.choice(['<', '>', '==', '!='])} {self.random.randrange(8)}"

    def statement(self, depth, number):
        kind = self.random.randrange(10)
        if depth > 4 or kind < 3:
            name, value = self.random.choice("st"), self.value()
            operator = "+=" if value == name else self.random.choice(["=", "+=", "^="])
            self.out(depth, f"{name} {operator} {value};")
        elif kind < 6:
            self.out(depth, f"if ({self.condition()}) {{")
            self.block(depth + 1, number)
            if self.random.randrange(2):
                self.out(depth, "} else {")
                self.block(depth + 1, number)
            self.out(depth, "}")
        elif kind < 8:
            self.loops += 1
            name = f"i{self.loops}"
            if self.random.randrange(2):
                self.out(depth, f"for (unsigned {name} = 0; {name} < {self.random.randrange(1, 5)}; ++{name}) {{")
                self.block(depth + 1, number)
                self.out(depth, "}")
            else:
                self.out(depth, f"unsigned {name} = {self.random.randrange(1, 4)};")
                self.out(depth, "do {")
                self.block(depth + 1, number)
                self.out(depth, f"}} while (--{name} != 0);")
        elif kind == 8 and number + 1 < self.functions:
            callee = min(self.functions - 1, number + self.random.randrange(1, 6))
            self.out(depth, f"s += f{callee}({self.value()}, {self.value()});")
        else:
            self.out(depth, f"if ({self.condition()})")
            self.out(depth + 1, "return t;")

    def block(self, depth, number):
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, number)

    def function(self, number):
        self.out(0, f"unsigned f{number}(unsigned a, unsigned b) {{")
        self.out(1, "unsigned s = a;")
        self.out(1, "unsigned t = b;")
        self.out(1, "if (budget == 0)")
        self.out(2, "return s;")
        self.out(1, "--budget;")
        for _ in range(3):
            self.statement(1, number)
        self.out(1, "return s ^ t;")
        self.out(0, "}")

    def program(self):
        self.out(0, "static unsigned budget;")
        self.out(0, "static unsigned sink;")
        for number in range(self.functions):
            self.out(0, f"unsigned f{number}(unsigned a, unsigned b);")
        for number in range(self.functions):
            self.function(number)
        names = ", ".join(f"f{number}" for number in range(0, self.functions, 2))
        self.out(0, f"static unsigned (*const some[])(unsigned, unsigned) = {{{names}}};")
        self.out(0, "static void run(void) {")
        self.out(1, f"for (unsigned i = 0; i < {2 * self.functions}; ++i) {{")
        self.out(2, "budget = 40;")
        self.out(2, "sink += some[i % (sizeof some / sizeof *some)](i, sink);")
        self.out(1, "}")
        self.out(0, "}")
        self.lines += ["#ifdef BARE", "void _start(void) {", "  run();",
                       '  asm volatile("syscall" : : "a"(231), "D"(0));', "  __builtin_unreachable();", "}", "#else",
                       "int main(void) {", "  run();", "  return 0;", "}", "#endif"]
        return "\n".join(self.lines) + "\n"


def generate(seed, functions):
    return Writer(seed, functions).program()
