# SPDX-License-Identifier: MIT
"""`flowback crash` blames no innocent line: a program that dies of a value that a later, a wider or
another writer stored than the obvious one, or in a way that looks like another. The marks in the program's source name
the lines that may and may not be named.

  misled_test.py FLOWBACK PROGRAM SOURCE"""

import json
import os
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import needs_core_dump, run, test_with_core_dumps  # noqa: E402
from marks import Marks  # noqa: E402

FLOWBACK, PROGRAM, SOURCE = sys.argv[1:4]
MARKS = Marks(SOURCE)


class Misled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.told = {}

    def crash(self, how):
        if how not in self.told:
            folder = os.path.join(self.folder, how)  # the kernel may write all core dumps to one name
            os.mkdir(folder)
            run([FLOWBACK, "record", "-q", "--engine", "emulate", "-o", "misled.data", "--", PROGRAM, how], folder,
                status=None)
            self.told[how] = json.loads(run([FLOWBACK, "crash", "misled.data", "--json"], folder).stdout)
        told = self.told[how]
        self.assertIsNotNone(told["signal"], told["sentence"])
        needs_core_dump(self, told)
        return told

    def test_no_innocent_store_is_blamed(self):
        for how in ("kernel", "order", "part", "neighbour"):
            with self.subTest(how):
                told = self.crash(how)
                self.assertEqual(told["signal"], "SIGSEGV")
                # The chain of the value ends in memory; if the report names a store there, it is the right one.
                self.assertEqual(told["why"]["chain"][-1]["text"].split()[0], "mov")
                self.assertNotIn(f"(misled.c:{MARKS.line('INNOCENT', how)})", told["sentence"])
                stored = told["why"]["stored_by"]
                if how == "kernel":
                    self.assertIsNone(stored)
                elif stored:
                    self.assertEqual(stored["place"]["line"], MARKS.line("CAUSE", how))
                    self.assertEqual("as far as is known" in told["sentence"], not stored["proven"])

    def test_an_overrun_is_no_overflow(self):
        """It runs off the stack's upper end, through frames that it overwrites."""
        told = self.crash("overrun")
        self.assertEqual((told["signal"], told["kind"]), ("SIGSEGV", "wild-pointer"), told["sentence"])
        self.assertIn(f"(misled.c:{MARKS.line('CAUSE', 'overrun')})", told["sentence"])

    def test_a_block_that_was_allocated_again(self):
        """An earlier free of the block is unrelated."""
        told = self.crash("again")
        self.assertEqual((told["signal"], told["kind"]), ("SIGABRT", "heap"), told["sentence"])
        self.assertNotIn("had freed", told["sentence"])
        self.assertFalse(told["frees"]["same_block"])


if __name__ == "__main__":
    test_with_core_dumps()
