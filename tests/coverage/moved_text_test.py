#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""moved_text_test.py FLOWBACK CC PROGRAM: the text of a program that it moved into memory without a file, at the same
addresses, is the program's: coverage, symbols and profiles. If its bytes differ it is not, and nobody knows which
code of the file ran there."""

import json
import os
import re
import shutil
import sys
import tempfile
import unittest

from commands import output_of

FLOWBACK = os.path.abspath(sys.argv[1])
CC = sys.argv[2]
PROGRAM = os.path.abspath(sys.argv[3])
SAME = ("mremap", "copy", "at once", "memfd", "part")


class MovedText(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, *options):
        output_of([CC, "-x", "c", PROGRAM, "-o", "moved", "-O1", "-g", *options], cwd=self.folder)

    def record(self, way, engine="emulate"):
        output_of([FLOWBACK, "record", "--engine", engine, "-o", "a.data", "--", "./moved", way], cwd=self.folder)

    def functions(self):
        text = output_of([FLOWBACK, "coverage", "a.data", "--object", "moved", "--json"], cwd=self.folder)
        told = [json.loads(line) for line in text.splitlines()]
        return {each["function"]: each for each in told if each["type"] == "function"}

    def expect_the_files(self):
        functions = self.functions()
        self.assertEqual([functions[name]["entries"] for name in ("both", "after")], [2, 1])
        self.assertEqual(functions["both"]["instructions"]["unknown"], 0)
        for name in ("never", "never_after"):
            self.assertEqual(functions[name]["executed"], "no", name)

    def expect_named(self):
        calls = output_of([FLOWBACK, "decode", "a.data", "--as", "calls"], cwd=self.folder)
        self.assertEqual([calls.count(f"-> {name} ") for name in ("both", "after")], [2, 1])
        text = output_of([FLOWBACK, "timeline", "a.data", "--function", "after", "--json"], cwd=self.folder)
        self.assertIn('"after"', text)

    # A profile has the code of `after`, and no export names the memory that it was moved to.
    def expect_exported(self):
        profile = output_of([FLOWBACK, "export", "a.data", "--to", "autofdo", "--object", "moved", "-o", "-"],
                      cwd=self.folder)
        self.assertRegex(profile, rf"(?m)^{self.offset('after'):x}-[0-9a-f]+:1$")
        self.assertNotIn(".code", output_of([FLOWBACK, "export", "a.data", "--to", "brstack", "-o", "-"], cwd=self.folder))

    def offset(self, name):
        with open(os.path.join(self.folder, "moved"), "rb") as file:
            fixed = file.read(18)[16] == 2
        address = int(re.search(rf"(?m)^([0-9a-f]+) . {name}$", output_of(["nm", "moved"], cwd=self.folder)).group(1), 16)
        return address - 0x400000 if fixed else address

    def test_the_same_bytes_are_the_files(self):
        for options in ((), ("-no-pie",)):
            self.build(*options)
            # At fixed addresses two ways stand for all, but with FLOWBACK_FULL=1.
            for way in SAME if not options or os.environ.get("FLOWBACK_FULL") == "1" else ("mremap", "part"):
                with self.subTest(options=options, way=way):
                    self.record(way)
                    self.expect_the_files()
                    self.expect_named()
                    self.expect_exported()

    def test_by_single_steps(self):
        self.build()
        for way in ("mremap", "copy"):
            with self.subTest(way=way):
                self.record(way, "step")
                self.expect_the_files()

    def test_other_bytes_are_code_of_their_own(self):
        self.build()
        self.record("other")
        functions = self.functions()
        self.assertEqual(functions["both"]["entries"], 2)
        self.assertEqual(functions["never"]["executed"], "no")
        for name in ("after", "never_after"):
            self.assertEqual(functions[name]["executed"], "unknown", name)
        self.assertEqual(functions["after"]["entries"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
