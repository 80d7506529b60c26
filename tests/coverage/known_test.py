#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""known_test.py FLOWBACK CC STRIP PROGRAM: of a program that has marks on what never executes, exactly that is
named: functions, lines and branches that go one way; with debug information of every kind, and stripped."""

import json
import os
import re
import shutil
import sys
import tempfile
import unittest

from commands import run

FLOWBACK = os.path.abspath(sys.argv[1])
CC, STRIP = sys.argv[2:4]
PROGRAM = os.path.abspath(sys.argv[4])
ENTRIES = ("main", "both_ways", "one_way", "never_small", "never_large")


def marked(mark):
    with open(PROGRAM, encoding="ascii") as file:
        return {number for number, text in enumerate(file, 1)
                if f"/* {mark} */" in text or text.rstrip().endswith(f"/* {mark} */")}


class Report:
    """The output of `coverage --json` about the program."""

    def __init__(self, done):
        self.problems = done.stderr
        told = [json.loads(line) for line in done.stdout.splitlines()]
        self.kinds = {}
        for each in told:
            self.kinds.setdefault(each["type"], []).append(each)

    def of(self, kind):
        return self.kinds.get(kind, [])

    def never(self):
        return {each["address"] for each in self.of("function") if each["executed"] == "no"}

    def one_way(self):
        return {each["address"] for each in self.of("branch") if (each["taken"] == 0) != (each["not_taken"] == 0)}


class Known(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, *options):
        run([CC, "-x", "c", "-c", PROGRAM, "-o", "known.o", "-O0", *options], cwd=self.folder)
        run([CC, "known.o", "-o", "known", *[each for each in options if each.startswith("-gz")]], cwd=self.folder)

    def cover(self, *more):
        run([FLOWBACK, "record", "--engine", "emulate", "-o", "a.data", "--", "./known"], cwd=self.folder)
        return Report(run([FLOWBACK, "coverage", "a.data", "--object", "known", "--json", *more], cwd=self.folder))

    def expect_named(self, report):
        functions = {each["function"]: each for each in report.of("function")}
        for name in ENTRIES:
            self.assertEqual(functions[name]["executed"], "no" if name.startswith("never_") else "yes", name)
        lines = [each for each in report.of("line") if each["file"] == PROGRAM]
        self.assertGreater(len(lines), 20)
        self.assertEqual({each["line"] for each in lines if each["executed"] == "no"}, marked("NEVER"))
        self.assertEqual({each["line"] for each in lines if each["executed"] == "unknown"}, set())
        branches = [each for each in report.of("branch") if each.get("file") == PROGRAM]
        one_way = {each["line"] for each in branches if (each["taken"] == 0) != (each["not_taken"] == 0)}
        self.assertEqual(one_way, marked("ONEWAY"))
        never = {each["line"] for each in branches if each["taken"] == 0 and each["not_taken"] == 0}
        self.assertEqual(never - marked("NEVER"), set())

    def test_every_kind_of_debug_information(self):
        for options in (["-gdwarf-5"], ["-gdwarf-4"], ["-g", "-gz"], ["-gdwarf-5", "-gsplit-dwarf"],
                        ["-gdwarf-4", "-gsplit-dwarf"]):
            with self.subTest(options=options):
                self.build(*options)
                report = self.cover()
                self.expect_named(report)
                self.assertNotIn("split", report.problems)

    def test_split_file_that_is_missing_is_told_and_lines_stay(self):
        self.build("-g", "-gsplit-dwarf")
        os.remove(os.path.join(self.folder, "known.dwo"))
        report = self.cover()
        self.expect_named(report)
        self.assertIn("split debug file", report.problems)

    def test_stripped(self):
        self.build("-g")
        with_symbols = self.cover()
        run([STRIP, "known"], cwd=self.folder)
        stripped = self.cover()
        self.assertEqual(stripped.of("line"), [])
        names = {each["address"]: each["function"] for each in with_symbols.of("function")}
        own = {address for address, name in names.items() if name in ENTRIES}
        self.assertEqual(len(own), len(ENTRIES))
        seen = {each["address"] for each in stripped.of("function")}
        self.assertLessEqual(own, seen)
        self.assertEqual(stripped.never() & own, with_symbols.never() & own)
        # By address, of all of the code: that of the C library's start, too, as far as it is known.
        ranges = [(int(each["address"], 16), int(each["address"], 16) + each["bytes"])
                  for each in with_symbols.of("function") if each["function"] in ENTRIES]
        inside = lambda addresses: {each for each in addresses
                                    if any(begin <= int(each, 16) < end for begin, end in ranges)}
        self.assertEqual(inside(stripped.one_way()), inside(with_symbols.one_way()))
        self.assertGreater(len(inside(stripped.one_way())), 3)

    def test_damaged_unwind_table(self):
        self.build("-g")
        run([STRIP, "known"], cwd=self.folder)
        run([FLOWBACK, "record", "--engine", "emulate", "--no-images", "-o", "a.data", "--", "./known"],
            cwd=self.folder)
        path = os.path.join(self.folder, "known")
        with open(path, "rb") as file:
            whole = bytearray(file.read())
        sections = run(["readelf", "-SW", "known"], cwd=self.folder).stdout
        offset, size = (int(each, 16) for each in
                        re.search(r"\.eh_frame +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", sections).groups())
        for damage in (b"\xff" * size, bytes(size), bytes(range(1, 200))[:size // 2]):
            with open(path, "r+b") as file:
                file.write(whole)
                file.seek(offset)
                file.write(damage)
            done = run([FLOWBACK, "coverage", "a.data", "--object", "known", "--json"], cwd=self.folder)
            head = json.loads(done.stdout.splitlines()[0])
            self.assertGreater(head["instructions"]["executed"], 50)
            self.assertEqual(head["instructions"]["unknown"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
