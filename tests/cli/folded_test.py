#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""folded_test.py FLOWBACK CXX: `export --to folded` of a trace has each call path with its own instructions, in the
form that flamegraph.pl and speedscope read: frames between semicolons, a space, a number."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
CXX = sys.argv[2]

PROGRAM = r"""
__attribute__((noinline)) int leaf(int a) { __asm__ volatile(""); return a + 1; }
__attribute__((noinline)) int left(int a) { return leaf(a) * 2; }
__attribute__((noinline)) int right(int a) { return leaf(a) + leaf(a + 1) * 3; }
int main(int argc, char**) { int sum = 0; for (int i = 0; i < 5; ++i) sum += left(argc) + right(i); return sum == 1; }
"""


class Folded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(os.path.join(cls.folder, "tree.cc"), "w", encoding="ascii") as file:
            file.write(PROGRAM)
        cls.run_it(CXX, "-O1", "-o", "tree", "tree.cc")
        cls.run_it(FLOWBACK, "record", "-q", "--engine", "emulate", "-o", "tree.data", "--", "./tree")
        lines = cls.run_it(FLOWBACK, "export", "--to", "folded", "tree.data").splitlines()
        cls.lines = [re.fullmatch(r"(\S.*) ([1-9]\d*)", line).groups() for line in lines]

    @classmethod
    def run_it(cls, *words):
        return subprocess.run(words, cwd=cls.folder, capture_output=True, text=True, check=True).stdout

    def test_every_instruction_is_in_one_path(self):
        told = json.loads(self.run_it(FLOWBACK, "decode", "--as", "summary", "--json", "tree.data").splitlines()[1])
        self.assertEqual(sum(int(number) for _, number in self.lines), told["instructions"])
        self.assertEqual(len({path for path, _ in self.lines}), len(self.lines))
        self.assertEqual({path.split(";")[0] for path, _ in self.lines}, {"tree"})

    def test_paths_have_what_is_their_own(self):
        own = {path[path.index(";main"):]: int(number) for path, number in self.lines if ";main" in path}
        self.assertEqual(set(own), {";main", ";main;left(int)", ";main;right(int)", ";main;left(int);leaf(int)",
                                    ";main;right(int);leaf(int)"})
        self.assertEqual(own[";main;right(int);leaf(int)"], 2 * own[";main;left(int);leaf(int)"])
        self.assertEqual(own[";main;left(int);leaf(int)"] % 5, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
