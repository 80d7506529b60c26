# SPDX-License-Identifier: MIT
"""What `flowback crash` says of the children of a program that each die in another way: what caused it, by the marks in
the program's source, is on the report's first screen. Their core dumps' stacks are held against gdb's.

  falls_test.py FLOWBACK UNOPTIMISED OPTIMISED STRIPPED SOURCE LIBRARY_SOURCE"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run  # noqa: E402

FLOWBACK = sys.argv[1]
PROGRAMS = dict(zip(("unoptimised", "optimised", "stripped"), sys.argv[2:5]))
SCREEN = 24

# How: the kinds that JSON may have, the signal.
FALLS = {
    "smash": ("smashed-stack", "SIGABRT"), "return": ("wild-jump", "SIGSEGV"), "pointer": ("wild-jump", "SIGSEGV"),
    "vtable": ("wild-pointer access", "SIGSEGV"), "stale": ("null-pointer", "SIGSEGV"), "freed": ("heap", "SIGABRT"),
    "member": ("null-pointer", "SIGSEGV"), "mutual": ("stack-overflow", "SIGSEGV"),
    "rethrow": ("exception", "SIGABRT"), "handler": ("null-pointer", "SIGSEGV"), "leap": ("null-pointer", "SIGSEGV"),
    "made": ("null-pointer", "SIGSEGV"), "shrunk": ("wild-pointer", "SIGBUS"), "quotient": ("division", "SIGFPE"),
    "library": ("null-pointer", "SIGSEGV"), "outside": ("ended", None),
}
# Deaths that leave the stack in memory overwritten, or no table where they happen.
OVERWRITTEN, WITHOUT_TABLE = ("smash", "return"), ("made",)
MARKS = {}
for source in sys.argv[5:7]:
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        for mark in re.findall(r"// (?:CAUSE|AND) (\w+)", line):
            MARKS.setdefault(mark, []).append(f"{os.path.basename(source)}:{number}")


class Falls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.recorded, cls.told = {}, {}

    def record(self, build):
        """One recording of all deaths; returns it and the processes by the way they died."""
        if build not in self.recorded:
            path = os.path.join(self.folder, build + ".data")
            said = run([FLOWBACK, "record", "-q", "--engine", "emulate", "-o", path, "--", PROGRAMS[build], *FALLS],
                       self.folder)
            self.recorded[build] = path, dict(line.split() for line in said.stdout.splitlines() if " " in line)
        return self.recorded[build]

    def crash(self, build, how):
        if (build, how) not in self.told:
            path, processes = self.record(build)
            said = run([FLOWBACK, "crash", path, "--pid", processes[how], "--json"], self.folder)
            self.told[build, how] = json.loads(said.stdout)
        return self.told[build, how]

    def text(self, build, how):
        path, processes = self.record(build)
        return run([FLOWBACK, "crash", path, "--pid", processes[how]], self.folder).stdout

    def test_the_cores_stacks(self):
        for build in ("unoptimised", "optimised"):
            for how in FALLS:
                told = self.crash(build, how)
                stack = told["core_stack"]
                if not told["has_core"]:
                    self.assertIsNone(stack)
                    continue
                with self.subTest(f"{build} {how}"):
                    overwritten = how in OVERWRITTEN
                    self.assertEqual(stack["first_difference"] is not None, overwritten, stack)
                    if not overwritten and how not in WITHOUT_TABLE:
                        self.assertEqual(stack["ends_because"], "outermost")
                        self.assertEqual(stack["agrees"], told["depth"])

    def test_gdb_unwinds_the_same(self):
        if shutil.which("gdb") is None:
            self.skipTest("this machine has no gdb")
        for how in ("smash", "mutual", "handler"):
            told = self.crash("unoptimised", how)
            if not told["has_core"]:
                self.skipTest("this machine writes no core dump of the program where it can be read")
            path, processes = self.record("unoptimised")
            ends = json.loads(run([FLOWBACK, "info", "--json", path], self.folder).stdout)["ends"]
            core = next(end["core"] for end in ends if str(end["pid"]) == processes[how])
            said = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set backtrace past-main on",
                                   "-ex", "bt 5000",
                                   PROGRAMS["unoptimised"], core], capture_output=True, text=True, check=False).stdout
            frames = [int(line.split()[1], 16) for line in said.splitlines() if re.match(r"#\d+ +0x", line)]
            ours = [int(address, 16) for address in told["core_stack"]["frames"]]
            # gdb adds frames of tail calls, and where a stack is overwritten it may stop earlier. It shows no
            # address of what a signal interrupted at the beginning of a line.
            most = told["core_stack"]["agrees"] + 1
            missing = [hex(one) for one in ours[1:most] if one not in frames]
            self.assertLessEqual(len(missing), how == "handler", said[-2000:])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)[1:] * 2)
    os.environ["FLOWBACK_CACHE"] = tempfile.mkdtemp()
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result.wasSuccessful() or sys.exit(1)
    finally:
        shutil.rmtree(os.environ["FLOWBACK_CACHE"])
