#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agreement_test.py FLOWBACK CXX WHAT: the commands that count calls of a function agree, and agree with
valgrind's callgrind, on a program with more call paths than are kept, on python3 or on node.

The commands are `timeline`, `decode --as summary --by function` and `branches --annotate`. The first two
also have the instructions of a function. They differ where the code has no function of its own for an
instruction: `timeline` counts a linkage table's stub with the function that it leads to (docs/reference/output.md).
"""

import json
import os
import re
import sys
import tempfile
import unittest

import callgrind

FLOWBACK = os.path.abspath(sys.argv[1])
CXX = sys.argv[2]
WHAT = sys.argv[3]

# Functions that call each other in any order, so that nearly every call has a call path of its own.
PATHS = r"""
#include <cstdint>
#define KEEP extern "C" __attribute__((noinline, noclone))
typedef void (*Step)(uint32_t depth, uint32_t seed);
extern "C" const Step kSteps[7];
static volatile uint32_t sink;
KEEP void spend(uint32_t rounds) { for (uint32_t i = 0; i < rounds; ++i) sink = sink + i; }
#define STEP(name, rounds) \
  KEEP void name(uint32_t depth, uint32_t seed) { \
    seed = seed * 747796405u + 2891336453u; \
    if (depth != 0) kSteps[(seed >> 17) % 7](depth - 1, seed); \
    if ((seed >> 9) % 4 == 0) spend(rounds); \
    sink = sink + depth; \
  }
STEP(walk_a, 1) STEP(walk_b, 2) STEP(walk_c, 3) STEP(walk_d, 4) STEP(walk_e, 5) STEP(walk_f, 6) STEP(walk_g, 7)
extern "C" const Step kSteps[7] = {walk_a, walk_b, walk_c, walk_d, walk_e, walk_f, walk_g};
KEEP void last_jump(uint32_t value) { sink = value; }
KEEP void jumps_at_its_end(uint32_t value) { sink = sink + value; last_jump(value); }
int main() {
  for (uint32_t i = 0; i < 12000; ++i) kSteps[i % 7](20, i * 2654435761u);
  for (uint32_t i = 0; i < 50; ++i) jumps_at_its_end(i);
}
"""
SCRIPT = """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
words = sorted(str(i * i) for i in range(200))
total = 0
for i in range(60):
    try: total += [i].index(i % 7)
    except ValueError: total -= 1
print(fib(9), words[:3], total, "-".join(words)[:20])
"""


def paths(folder):
    with open(folder + "/work.cc", "w", encoding="utf-8") as file:
        file.write(PATHS)
    callgrind.run(CXX, "-g", "-O2", "-fno-inline", "-o", folder + "/work", folder + "/work.cc")
    return [folder + "/work"]


def python3(folder):
    if not os.path.exists("/usr/bin/python3"):
        callgrind.leave_out("what python3 calls", "no python3: apt-get install python3")
    with open(folder + "/work.py", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    return [os.path.realpath("/usr/bin/python3"), "-I", "-S", "-B", folder + "/work.py"]


def node(_folder):
    if not os.path.exists("/usr/bin/node"):
        callgrind.leave_out("what node calls", "no node: apt-get install nodejs")
    return [os.path.realpath("/usr/bin/node"), "--v8-options"]


PROGRAMS = {"paths": paths, "python3": python3, "node": node}


def lines(*words):
    return [json.loads(line) for line in callgrind.run(FLOWBACK, *words).splitlines()]


def shares(data):
    return {(one["function"], one["object"]): one
            for one in lines("decode", data, "--as", "summary", "--by", "function", "--json")
            if one.get("type") == "function"}


def annotated(data):
    """{(function, file): calls}. Functions of one name in a file are one, as for the other commands."""
    calls, before = {}, None
    for one in lines("branches", data, "--annotate", "*", "--json"):
        if one.get("type") != "block":
            continue
        key = (one["sym"], one["object"])
        begins = before is None or before[:2] != (key, one["calls"])
        # The blocks of a function follow each other by address.
        if begins or int(one["address"], 16) <= before[2]:
            calls[key] = calls.get(key, 0) + one["calls"]
        before = (key, one["calls"], int(one["address"], 16))
    return calls


class Agreement(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.words = PROGRAMS[WHAT](cls.folder.name)
        data = cls.folder.name + "/work.data"
        callgrind.run(FLOWBACK, "record", "-o", data, "--", *cls.words)
        cls.timeline = json.loads(callgrind.run(FLOWBACK, "timeline", data, "--json"))
        cls.shares = shares(data)
        cls.annotated = annotated(data)
        cls.functions = {}
        for function in cls.timeline["functions"]:
            if not function["named"] or function["partial"] != 0:
                continue  # of a call that was not seen whole only the model of calls knows
            sums = cls.functions.setdefault((function["name"], function["file"]), [0, 0])
            sums[0] += function["calls"]
            sums[1] += function["self_instructions"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_calls(self):
        compared = 0
        for key, (calls, _) in self.functions.items():
            share = self.shares.get(key)
            if share is None:
                continue
            self.assertEqual(share["calls"], calls, key)
            if key in self.annotated:
                self.assertEqual(self.annotated[key], calls, key)
                compared += 1
        self.assertGreater(compared, 60)

    def test_all_instructions(self):
        """However many paths are cut, the functions have what all have."""
        own = sum(one["self_instructions"] for one in self.timeline["functions"])
        threads = sum(one["instructions"] for one in self.timeline["threads"])
        self.assertEqual(own + self.timeline["paths"][0]["self_instructions"], threads)

    @unittest.skipUnless(WHAT == "paths", "of the program with many paths")
    def test_many_paths(self):
        self.assertGreater(self.timeline["threads"][0]["calls_without_path"], 10_000)
        path = os.path.realpath(self.words[0])
        for name in [f"walk_{letter}" for letter in "abcdefg"] + ["spend", "jumps_at_its_end", "last_jump"]:
            calls, own = self.functions[name, path]
            self.assertEqual((self.shares[name, path]["calls"], self.shares[name, path]["instructions"]), (calls, own), name)

    @unittest.skipUnless(WHAT == "paths", "of the program with many paths")
    def test_cut_paths(self):
        """A path and what was cut below it have what the path has in all."""
        paths = self.timeline["paths"]
        below = [0] * len(paths)
        cut = 0
        for path in paths[1:]:
            below[path["parent"]] += path["instructions"]
            cut += path["calls"] if path["cut"] else 0
            self.assertEqual(path["cut"], path["function"] is None)
        for path, inner in zip(paths, below):
            self.assertEqual(path["instructions"], path["self_instructions"] + inner * (not path["cut"]))
        self.assertEqual(cut, self.timeline["threads"][0]["calls_without_path"])

    def test_callgrind(self):
        """Functions of the program's file; the two have different C libraries."""
        callgrind.need_valgrind(f"what {WHAT} calls, against callgrind", self)
        own, calls, _ = callgrind.count(self.folder.name + "/out", *self.words, options=("--separate-threads=no",))
        own, calls = callgrind.by_name(own), callgrind.by_name(calls)
        path = os.path.realpath(self.words[0])
        ours = {name: sums for (name, file), sums in self.functions.items() if file == path and name in calls}
        differing = {name: (sums, calls[name]) for name, sums in ours.items() if sums[0] != calls[name]}
        print(f"{WHAT}: {len(ours)} functions, of which {len(differing)} have other numbers of calls: {differing}")
        if WHAT == "paths":
            self.assertGreater(len(ours), 9)
            self.assertEqual(differing, {})
            for name, sums in ours.items():
                self.assertEqual(sums[1], own[name], name)
            return
        # Entries that are looked up by address, or by a random seed, are found in another order.
        self.assertGreater(len(ours), 300)
        self.assertLessEqual(len(differing), len(ours) // 20)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
