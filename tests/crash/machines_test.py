# SPDX-License-Identifier: MIT
"""A program of another machine than 64-bit x86 that dies: its core dump is a real one, the emulator's or the kernel's,
and what `flowback crash` says of the bad pointer is held against the marks in the program's source.

  machines_test.py FLOWBACK SOURCE MACHINE=PROGRAM..."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run, test_with_core_dumps  # noqa: E402

FLOWBACK, SOURCE = sys.argv[1], sys.argv[2]
PROGRAMS = dict(word.split("=", 1) for word in sys.argv[3:])
LINES = {}
for number, line in enumerate(open(SOURCE, encoding="utf-8"), 1):
    mark = re.search(r"// (FAULT|CAUSE)$", line.rstrip())
    if mark:
        LINES[mark[1]] = number


class Machines(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def record(self, machine, *options):
        if machine not in PROGRAMS:
            self.skipTest(f"no compiler makes programs of {machine}")
        run([FLOWBACK, "record", "-q", *options, "-o", "r.data", "--", PROGRAMS[machine]], self.folder, status=None)
        ends = json.loads(run([FLOWBACK, "info", "--json", "r.data"], self.folder).stdout)["ends"]
        if not ends or not ends[0]["core"] or not os.path.exists(ends[0]["core"]):
            self.skipTest("this machine writes no core dump where it can be read")

    def assert_told(self, register):
        told = json.loads(run([FLOWBACK, "crash", "r.data", "--json"], self.folder).stdout)
        self.assertTrue(told["has_core"])
        self.assertEqual((told["kind"], told["signal"]), ("null-pointer", "SIGSEGV"))
        self.assertIn(f"(bare.c:{LINES['FAULT']})", told["sentence"])
        self.assertIn(f"_start (bare.c:{LINES['CAUSE']})", told["sentence"])
        why = told["why"]
        self.assertRegex(why["of"], register)
        self.assertEqual(why["value"], "0x0")
        # The store that wrote the null pointer into the list is the last link.
        self.assertEqual(why["chain"][-1]["place"]["line"], LINES["CAUSE"])
        self.assertIn("contains the value", why["ends_because"])
        said = run([FLOWBACK, "crash", "r.data", "--why", "nothing"], self.folder, status=2)
        self.assertRegex(said.stderr, f"--why {register}")
        # Without the memory that is no stack the pointer is known still.
        run([FLOWBACK, "pack", "-q", "r.data", "--redact", "-o", "r.bundle"], self.folder)
        redacted = json.loads(run([FLOWBACK, "crash", "r.bundle", "--json"], self.folder).stdout)
        self.assertEqual(redacted["why"]["value"], "0x0")

    def test_32_bit_x86_under_emulation(self):
        self.record("x86-32", "--engine", "emulate")
        self.assert_told("e[a-d]x|e[sd]i")

    def test_aarch64_under_emulation(self):
        self.record("aarch64", "--engine", "emulate")
        self.assert_told("x[0-9]+")

    def test_32_bit_x86_and_the_kernels_dump(self):
        try:
            status = subprocess.run([PROGRAMS["x86-32"]], cwd=self.folder, timeout=20, check=False).returncode
        except OSError:
            status = 0
        if status != -signal.SIGSEGV:
            self.skipTest("32-bit programs don't run")
        self.record("x86-32", "--engine", "step")
        self.assert_told("e[a-d]x|e[sd]i")


if __name__ == "__main__":
    test_with_core_dumps()
