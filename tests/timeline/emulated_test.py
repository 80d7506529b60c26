#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""emulated_test.py FLOWBACK CXX: an emulator's cycles are not shown as a processor's, and a timeline of an
emulated recording is sorted by instructions."""

import json
import os
import sys
import tempfile
import unittest

import callgrind

FLOWBACK = os.path.abspath(sys.argv[1])
CXX = sys.argv[2]
PROGRAM = r"""
#define KEEP extern "C" __attribute__((noinline, noclone))
static volatile unsigned sink;
KEEP void small_step(unsigned value) { sink = sink + value; }
KEEP void long_loop() { for (unsigned i = 0; i < 5000; ++i) sink = sink + i; }
int main() {
  for (unsigned i = 0; i < 700; ++i) small_step(i);
  for (unsigned i = 0; i < 20; ++i) long_loop();
}
"""


class Emulated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = {}
        program = cls.folder.name + "/work"
        with open(program + ".cc", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        callgrind.run(CXX, "-g", "-O1", "-o", program, program + ".cc")
        for kind, words in (("flow", ["--cyc"]), ("stacks", ["-b"])):
            cls.data[kind] = f"{cls.folder.name}/{kind}.data"
            callgrind.run(FLOWBACK, "record", "--engine", "emulate", *words, "-o", cls.data[kind], "--", program)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def tell(self, command, kind, *words):
        return callgrind.run(FLOWBACK, command, self.data[kind], *words)

    def test_cycles_are_not_shown(self):
        branches = self.tell("branches", "stacks")
        self.assertIn("The recording is emulated: cycles are the emulator's, and are not shown.", branches)
        self.assertNotIn("slowest", branches)
        for words in (["--json"], ["--annotate", "long_loop", "--json"]):
            for line in self.tell("branches", "stacks", *words).splitlines()[1:]:
                self.assertIsNone(json.loads(line)["cycles"])
        for kind in ("flow", "stacks"):
            self.assertNotIn("IPC", self.tell("timeline", kind))
            timeline = json.loads(self.tell("timeline", kind, "--json"))
            self.assertTrue(all(one["cycles"] is None and one["self_cycles"] is None for one in timeline["functions"]))
            self.assertTrue(all(one["cycles"] is None for one in timeline["paths"]))

    def first_function(self, *words):
        """Checks the table by function."""
        lines = self.tell("timeline", "flow", *words).splitlines()
        row = lines[lines.index("by function") + 2].split()
        return row[0], row[-1]

    def test_sorted_by_instructions(self):
        self.assertEqual(self.first_function()[1], "long_loop")
        self.assertEqual(self.first_function("--sort", "instructions"), self.first_function())
        self.assertEqual(self.first_function("--sort", "calls")[1], "small_step")
        self.assertIn("Functions are sorted by instructions", self.tell("timeline", "flow"))
        self.assertNotIn("Functions are sorted", self.tell("timeline", "flow", "--sort", "time"))
        functions = json.loads(self.tell("timeline", "flow", "--json"))["functions"]
        for words, key in ((["--sort", "time"], "self"), (["--sort", "total"], "total")):
            name = self.first_function(*words)[1]
            most = max(one[key] for one in functions)
            self.assertIn(most, [one[key] for one in functions if one["name"] == name], words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
