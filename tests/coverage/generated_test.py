#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""generated_test.py FLOWBACK CC: larger programs, made of seeds: lines and branch directions as gcov counts them, and
each instruction as callgrind does."""

import json
import os
import re
import shutil
import sys
import tempfile
import unittest

from commands import output_of
from generated_program import generate

FLOWBACK = os.path.abspath(sys.argv[1])
CC = sys.argv[2]
# The first alone is compared with gcov, all with FLOWBACK_FULL=1.
SEEDS = range(4)
FUNCTIONS = 150


class Generated(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, seed):
        with open(os.path.join(self.folder, "a.c"), "w", encoding="ascii") as file:
            file.write(generate(seed, FUNCTIONS))

    def build(self, name, *options):
        output_of([CC, "-x", "c", "a.c", "-o", name, *options], cwd=self.folder)

    def record(self, name):
        output_of([FLOWBACK, "record", "--engine", "emulate", "-o", name + ".data", "--", "./" + name], cwd=self.folder)

    @unittest.skipUnless(shutil.which("gcov"), "gcov is not installed")
    def test_as_gcov(self):
        for seed in SEEDS if os.environ.get("FLOWBACK_FULL") == "1" else SEEDS[:1]:
            with self.subTest(seed=seed):
                self.write(seed)
                self.build("counted", "-O0", "-g", "--coverage")
                self.build("own", "-O0", "-g")
                output_of(["./counted"], cwd=self.folder)
                self.record("own")
                gcov = json.loads(output_of(["gcov", "--json-format", "--stdout", "-b", "counted-a.gcda"], cwd=self.folder))
                told = [json.loads(line) for line in
                        output_of([FLOWBACK, "coverage", "own.data", "--object", "own", "--include", "a.c", "--json"],
                            cwd=self.folder).splitlines()]
                self.compare(gcov["files"][0], told)

    def compare(self, gcov, told):
        ours = {each["line"]: each["times"] for each in told if each["type"] == "line"}
        theirs = {each["line_number"]: each["count"] for each in gcov["lines"]}
        # An assignment that changes nothing has no code.
        self.assertLessEqual(len(theirs.keys() - ours.keys()), 0.01 * len(theirs))
        different = {line for line in theirs.keys() & ours.keys() if ours[line] != theirs[line]}
        print(f"{len(theirs)} lines, {len(different)} different, {sum(count == 0 for count in theirs.values())} never")
        self.assertGreater(len(theirs), 1000)
        self.assertLessEqual(len(different), 0.02 * len(theirs))
        self.assertEqual({line for line in different if (ours[line] == 0) != (theirs[line] == 0)}, set())
        branches = {}
        for each in told:
            if each["type"] == "branch":
                branches.setdefault(each["line"], []).extend((each["taken"], each["not_taken"]))
        lines = [each for each in gcov["lines"] if each["branches"]]
        wrong = [each["line_number"] for each in lines
                 if sorted(branches.get(each["line_number"], [])) != sorted(b["count"] for b in each["branches"])]
        print(f"{len(lines)} lines with branches, {len(wrong)} different: {wrong[:10]}")
        self.assertGreater(len(lines), 300)
        self.assertLessEqual(len(wrong), 0.02 * len(lines))

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_as_callgrind(self):
        for seed, option in zip(SEEDS, ("-O0", "-O1", "-O2", "-O3")):
            with self.subTest(seed=seed):
                self.write(seed)
                self.build("bare", option, "-DBARE", "-nostdlib", "-static", "-no-pie", "-fno-stack-protector",
                           "-Wl,--build-id")
                self.record("bare")
                text = output_of([FLOWBACK, "coverage", "bare.data", "--object", "bare", "--format", "annotate"],
                           cwd=self.folder)
                ours = {int(address, 16): int(count) for count, address in
                        re.findall(r"^ *([0-9]+)   ([0-9a-f]+)   ", text, re.MULTILINE)}
                output_of(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no",
                     "--callgrind-out-file=a.out", "./bare"], cwd=self.folder)
                theirs = self.callgrind()
                self.assertGreater(len(theirs), 2000)
                # It adds a block up when it has been left; the last one, with the system call, never is.
                last = {address: count for address, count in ours.items() if address not in theirs}
                self.assertLessEqual(len(last), 8)
                self.assertEqual(set(last.values()) - {1}, set())
                self.assertEqual({address: ours.get(address) for address in theirs}, theirs)
                print(f"{option}: {len(theirs)} instructions, {sum(theirs.values())} executions, all equal")

    def callgrind(self):
        counts = {}
        inclusive = False
        with open(os.path.join(self.folder, "a.out"), encoding="ascii") as file:
            for line in file:
                if line.startswith("0x") and not inclusive:
                    words = line.split()
                    counts[int(words[0], 16)] = counts.get(int(words[0], 16), 0) + int(words[2])
                inclusive = line.startswith("calls=")
        return counts


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
