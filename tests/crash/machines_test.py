# SPDX-License-Identifier: MIT
"""Programs of other machines than 64-bit x86 that die: their core dumps are real ones, the emulator's or the kernel's,
and what `flowback crash` says is held against the marks in the programs' sources, and against gdb.

  machines_test.py FLOWBACK BARE DIES SMASHED MACHINE=PROGRAM..."""

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
from commands import run, test_with_core_dumps, why_no_core_dump  # noqa: E402
from marks import Marks  # noqa: E402

FLOWBACK = sys.argv[1]
PROGRAMS = dict(word.split("=", 1) for word in sys.argv[5:])
BUILDS = [f"{machine}-{level}" for machine in ("short", "aarch64") for level in ("O0", "O2")]
ROOTS = {"short": "/", "aarch64": "/usr/aarch64-linux-gnu"}
MARKS = Marks(sys.argv[2])
LINES = {kind + (f" {how}" if how else ""): places[0][1] for (kind, how), places in Marks(*sys.argv[2:5]).found.items()}


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
            is_emulated = "emulate" in options
            self.skipTest(why_no_core_dump() or (is_emulated and self.fail("the recorder noted no core dump")) or
                          "the kernel of this machine writes no core dump where it can be read")

    def assert_told(self, register):
        told = json.loads(run([FLOWBACK, "crash", "r.data", "--json"], self.folder).stdout)
        self.assertTrue(told["has_core"])
        self.assertEqual((told["kind"], told["signal"]), ("null-pointer", "SIGSEGV"))
        self.assertIn(f"(bare.c:{MARKS.line('FAULT')})", told["sentence"])
        self.assertIn(f"_start (bare.c:{MARKS.line('CAUSE')})", told["sentence"])
        why = told["why"]
        self.assertRegex(why["of"], register)
        self.assertEqual(why["value"], "0x0")
        # The store that wrote the null pointer into the list is the last link.
        self.assertEqual(why["chain"][-1]["place"]["line"], MARKS.line("CAUSE"))
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


    def test_a_segment_without_bytes(self):
        self.record("empty", "--engine", "emulate")
        told = json.loads(run([FLOWBACK, "crash", "r.data", "--json"], self.folder).stdout)
        self.assertEqual((told["kind"], told["signal"]), ("null-pointer", "SIGSEGV"))


class Deaths(unittest.TestCase):
    """Programs with a C library."""

    def crash(self, build, how):
        if build not in PROGRAMS:
            self.skipTest(f"no compiler and C library of {build}")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        run([FLOWBACK, "record", "-q", "--engine", "emulate", "-o", "r.data", "--", PROGRAMS[build], how], self.folder,
            status=None)
        told = json.loads(run([FLOWBACK, "crash", "r.data", "--json"], self.folder).stdout)
        if not told["has_core"]:
            self.skipTest("this machine writes no core dump of the program where it can be read")
        self.assertFalse(told["core_contradicts"], told["sentence"])
        return told

    def each_build(self, how, *levels):
        for build in BUILDS:
            if build.split("-")[1] in levels:
                with self.subTest(f"{build} {how}"):
                    told = self.crash(build, how)
                    stack = told["core_stack"]
                    self.assertEqual((stack["first_difference"], stack["ends_because"]), (None, "outermost"), stack)
                    self.assertEqual(stack["agrees"], told["depth"])
                    yield build, told

    def test_a_null_pointer(self):
        for build, told in self.each_build("null", "O0", "O2"):
            self.assertEqual(told["kind"], "null-pointer")
            self.assertEqual(told["fault"]["place"]["function"].split("(anonymous namespace)::")[1], "Parse(")
            self.assertEqual(told["why"]["value"], "0x0")
            self.assertEqual(told["why"]["chain"][-1]["place"]["line"], LINES["CAUSE null"])
            self.gdb_unwinds_the_same(build, told)

    def test_an_assertion(self):
        for _, told in self.each_build("assert", "O2"):
            self.assertEqual((told["kind"], told["cause"]["line"]), ("assertion", LINES["FAULT assert"]))
            self.assertIn("Assertion `n == 7' failed.", told["message"])
            last = told["threads"][0]["system_calls"][-1]
            self.assertEqual((last["name"], last["returned"]), ("tgkill", False))
            self.assertRegex(last["text"], rf"tgkill\((\?|\d+), {told['threads'][0]['tid']}, 6\)")

    def test_an_exception(self):
        for _, told in self.each_build("exception", "O2"):
            self.assertEqual((told["kind"], told["thrown"]["line"]), ("exception", LINES["FAULT exception"]))

    def test_a_deadlock(self):
        """The mutexes' addresses are the system calls' first arguments."""
        for build, told in self.each_build("deadlock", "O0", "O2"):
            self.assertEqual(len(told["deadlock"]), 2, told["sentence"])
            threads = {thread["tid"]: thread for thread in told["threads"]}
            for tid in told["deadlock"]:
                mutex = threads[tid]["waits_for"]
                self.assertIn(mutex["owner"], told["deadlock"])
                self.assertNotEqual(mutex["owner"], tid)
                self.assertRegex(mutex["name"], "(first|second)_mutex$")
                self.assertIn(mutex["address"], [held["address"] for held in threads[mutex["owner"]]["holds"]])
                last = threads[tid]["system_calls"][-1]
                self.assertEqual((last["name"], last["returned"]), ("futex", False))
                self.assertIn(f"futex({mutex['address']}, 0x80, 2)", last["text"])

    def test_a_smashed_stack(self):
        """What overwrote the guard is a function of the C library that stores vectors."""
        for build in ("smashed-now", "smashed-lazy", "smashed-aarch64"):
            with self.subTest(build):
                told = self.crash(build, "")
                self.assertEqual((told["kind"], told["cause"]["line"]), ("smashed-stack", LINES["FAULT smashed"]))
                stored = told["why"]["stored_by"]
                self.assertIsNotNone(stored, told["sentence"])
                self.assertEqual((stored["caller"]["function"], stored["caller"]["line"]), ("Fill", LINES["CAUSE smashed"]))
                self.assertEqual(stored["proven"], build == "smashed-now")

    def gdb_unwinds_the_same(self, build, told):
        gdb = shutil.which("gdb-multiarch") or (shutil.which("gdb") if build.startswith("short") else None)
        if gdb is None:
            return
        core = json.loads(run([FLOWBACK, "info", "--json", "r.data"], self.folder).stdout)["ends"][0]["core"]
        said = run([gdb, "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set backtrace past-main on", "-ex",
                    f"set sysroot {ROOTS[build.split('-')[0]]}", "-ex", f"core-file {core}", "-ex", "bt", PROGRAMS[build]],
                   self.folder).stdout
        frames = [int(line.split()[1], 16) for line in said.splitlines() if re.match(r"#\d+ +0x", line)]
        for address in told["core_stack"]["frames"][1:]:
            self.assertIn(int(address, 16), frames, said)


if __name__ == "__main__":
    test_with_core_dumps()
