#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""callgrind_test.py FLOWBACK CXX: calls of each function, and its own and its paths' instructions, as
valgrind's callgrind counts them, of one program on one input.

Compares the program's own functions only. The C library differs: under valgrind it sees another
processor, so it takes other functions, and its allocator is valgrind's loader's.
Callgrind joins recursive calls unless an option separates them; the program's recursion is compared
by function. The stubs of the program's procedure linkage table are the callee's to us; callgrind adds
them to the caller, or has them apart with an option.
"""

import json
import os
import sys
import tempfile
import unittest

import callgrind

FLOWBACK = os.path.abspath(sys.argv[1])
CXX = sys.argv[2]

PROGRAM = r"""
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#define KEEP extern "C" __attribute__((noinline, noclone))
static volatile uint32_t sink;
KEEP uint32_t mix(uint32_t a) { return a * 2654435761u ^ (a >> 13); }
KEEP uint32_t hash_block(const unsigned char* data, uint32_t size) {
  uint32_t sum = size;
  for (uint32_t i = 0; i < size; ++i) sum = mix(sum + data[i]);
  return sum;
}
KEEP uint32_t find_match(const unsigned char* data, uint32_t at, uint32_t size) {
  uint32_t best = 0;
  for (uint32_t from = at > 64 ? at - 64 : 0; from < at; ++from) {
    uint32_t length = 0;
    while (at + length < size && data[from + length] == data[at + length] && length < 32) ++length;
    if (length > best) best = length;
  }
  return best;
}
KEEP void emit(uint32_t value) { sink = sink + value; }
KEEP uint32_t compress(const unsigned char* data, uint32_t size) {
  uint32_t out = 0;
  for (uint32_t at = 0; at < size;) {
    const uint32_t match = find_match(data, at, size);
    if (match > 3) { emit(match); at += match; } else { emit(data[at]); ++at; }
    ++out;
  }
  return out;
}
KEEP uint32_t fold(uint32_t depth) { return depth == 0 ? 1 : fold(depth - 1) + mix(depth); }
struct Guard { ~Guard() { emit(7); } };
KEEP uint32_t checked(uint32_t value) { if (value % 5 == 0) throw std::runtime_error("five"); return value; }
KEEP uint32_t careful(uint32_t value) { Guard guard; return checked(value) + 1; }
KEEP uint32_t tries(uint32_t count) {
  uint32_t caught = 0;
  for (uint32_t i = 0; i < count; ++i) try { sink = careful(i); } catch (const std::exception&) { ++caught; }
  return caught;
}
// A machine of bytes, whose dispatch is an indirect jump, and whose calls are its own recursion.
KEEP uint32_t square(uint32_t value) { return value * value; }
KEEP uint32_t interpret(const unsigned char* code, uint32_t value) {
  static const void* const kSteps[] = {&&more, &&less, &&squared, &&again, &&leave};
  uint32_t sum = 0;
  goto *kSteps[*code];
more: ++sum; goto *kSteps[*++code];
less: if (value == 0) return sum; --value; goto *kSteps[*++code];
squared: sum += square(value); goto *kSteps[*++code];
again: sum += interpret(code - 3, value); goto *kSteps[*++code];
leave: return sum;
}
int main() {
  static const unsigned char kProgram[] = {1, 2, 0, 3, 2, 4};
  unsigned char data[6000];
  for (uint32_t i = 0; i < sizeof data; ++i) data[i] = (i * i / 7) % 23 < 9 ? 'a' + i % 5 : 'k';
  for (uint32_t at = 0; at < sizeof data; at += 500) sink = hash_block(data + at, 500);
  sink = compress(data, sizeof data);
  sink = fold(40);
  sink = tries(23);
  sink = interpret(kProgram, 25);
  return 0;
}
"""
OWN = ["mix", "hash_block", "find_match", "emit", "compress", "fold", "checked", "careful", "tries",
       "square", "interpret", "main"]


class Counts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = lambda name: os.path.join(cls.folder.name, name)
        with open(path("work.cc"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        callgrind.run(CXX, "-g", "-O1", "-fno-optimize-sibling-calls", "-fno-inline", "-o", path("work"), path("work.cc"))
        cls.own, cls.calls, cls.edges = callgrind.count(
            path("out"), path("work"), options=("--separate-recs1=fold", "--separate-recs1=interpret"))
        callgrind.run(FLOWBACK, "record", "-o", path("work.data"), "--", path("work"))
        cls.timeline = json.loads(callgrind.run(FLOWBACK, "timeline", path("work.data"), "--json"))
        cls.functions = {f["name"]: f for f in cls.timeline["functions"]}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_calls_by_function(self):
        for name in OWN:
            if name == "main":
                continue  # who calls it is the C library
            self.assertEqual(self.functions[name]["calls"], self.calls[name], name)

    def test_own_instructions_by_function(self):
        for name in OWN:
            self.assertEqual(self.functions[name]["self_instructions"], self.own[name], name)

    def test_instructions_by_call_path(self):
        """Compares each caller and callee with all that is called in turn, if that is all the program's."""
        names = [f["name"] for f in self.timeline["functions"]]
        paths = self.timeline["paths"]
        name = lambda path: None if path["function"] is None else names[path["function"]]
        told = {}
        for path in paths[1:]:
            key = (name(paths[path["parent"]]), name(path))
            before = told.get(key, (0, 0))
            told[key] = (before[0] + path["calls"], before[1] + path["instructions"])
        compared = 0
        for key in (("main", "hash_block"), ("hash_block", "mix"), ("main", "compress"),
                    ("compress", "find_match"), ("compress", "emit"), ("fold", "mix"), ("main", "fold"),
                    ("interpret", "square"), ("main", "interpret")):
            self.assertEqual(told[key], self.edges[key], key)
            compared += 1
        self.assertEqual(compared, 9)

    def test_all_of_it_adds_up(self):
        self.assertEqual(sum(f["self_instructions"] for f in self.timeline["functions"]) +
                         self.timeline["paths"][0]["self_instructions"],
                         self.timeline["threads"][0]["instructions"])


if __name__ == "__main__":
    callgrind.need_valgrind("counts against callgrind")
    unittest.main(argv=sys.argv[:1])
