# SPDX-License-Identifier: MIT
"""What `flowback crash` says of the children of a program that each die in another way: what caused it, by the marks in
the program's source, is on the report's first screen. Their core dumps' stacks are held against gdb's.

  falls_test.py FLOWBACK UNOPTIMISED OPTIMISED STRIPPED FORBIDDEN SOURCES..."""

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

FLOWBACK = sys.argv[1]
PROGRAMS = dict(zip(("unoptimised", "optimised", "stripped"), sys.argv[2:5]))
FORBIDDEN, SCREEN = sys.argv[5], 24

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
# Functions whose store is not proven: they are named among those that returned last.
NAMED = {"smash": "Fill(char*, long)", "vtable": "Clear(void*)", "stale": "Reuse()"}
MARKS, FUNCTIONS = {}, {}
for source in sys.argv[6:]:
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        for kind, mark in re.findall(r"// (CAUSE|AND) (\w+)", line):
            MARKS.setdefault(mark, []).append(f"{os.path.basename(source)}:{number}")
            if kind == "CAUSE" and mark in NAMED:
                FUNCTIONS[str(number)] = NAMED[mark]


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

    def line_of(self, place, is_return):
        """The source lines of a stripped copy's place, by the unstripped program: of inlined functions, too."""
        if place["object_offset"] is None or not os.path.exists(place["object"]):
            return []
        whole = place["object"].replace("/stripped/", "/optimised/")
        address = int(place["object_offset"], 16) - is_return
        said = subprocess.run(["addr2line", "-i", "-e", whole, hex(address)], capture_output=True, text=True, check=False)
        return [os.path.basename(line.split(" ")[0]) for line in said.stdout.splitlines()]

    def screen_of(self, build, how):
        return "\n".join(self.text(build, how).splitlines()[:SCREEN])

    def test_the_cause_is_on_the_first_screen(self):
        for build in ("unoptimised", "optimised"):
            for how, (kind, killed_by) in FALLS.items():
                with self.subTest(f"{build} {how}"):
                    told = self.crash(build, how)
                    self.assertEqual(told["signal"], killed_by, told["sentence"])
                    is_known = told["has_core"] or told["kind"] != "access"
                    self.assertIn(told["kind"], kind if is_known else "access", told["sentence"])
                    if not told["has_core"] and how not in ("rethrow", "quotient", "shrunk", "library", "outside"):
                        continue
                    screen = self.screen_of(build, how)
                    for mark in MARKS[how]:
                        # The stores' addresses behind the leap are relative to a frame pointer that is not known.
                        if (build, how) == ("unoptimised", "leap") and not told["why"]["stored_by"]:
                            continue
                        function = FUNCTIONS.get(mark.split(":")[1])
                        is_there = f"({mark})" in screen or function and function in screen
                        self.assertTrue(is_there, f"{mark} {function}: {screen}")

    def test_the_cause_in_a_stripped_copy(self):
        """The same cause, by address."""
        for how, (_, killed_by) in FALLS.items():
            with self.subTest(how):
                screen = self.screen_of("stripped", how)
                if killed_by is not None:
                    self.assertIn(f"by {killed_by}", screen)
                if not self.crash("optimised", how)["has_core"]:
                    continue
                lines = set()
                for offset in re.findall(r"\[(falls|libfalls.so)\+(0x[0-9a-f]+)\]", screen):
                    path = os.path.join(os.path.dirname(PROGRAMS["stripped"]), offset[0])
                    for is_return in (False, True):
                        lines.update(self.line_of({"object": path, "object_offset": offset[1]}, is_return))
                self.assertTrue(lines & set(MARKS[how]), (screen, lines))

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

    def test_a_forbidden_system_call(self):
        """The emulator has no seccomp: the program is stepped."""
        path = os.path.join(self.folder, "forbidden.data")
        said = run([FLOWBACK, "record", "-q", "--engine", "step", "-o", path, "--", FORBIDDEN], self.folder, status=None)
        if said.returncode != 128 + signal.SIGSYS:
            self.skipTest("this machine steps no program that seccomp kills: " + said.stderr)
        sentence = self.crash_of(path)
        self.assertIn(f"({MARKS['forbidden'][0]})", sentence)
        self.assertIn("is forbidden", sentence)
        core = os.path.join(self.folder, "core")
        if os.path.exists(core):
            self.assertIn("the system call getpriority is forbidden", self.crash_of(path, "--core", core))

    def crash_of(self, path, *options):
        return json.loads(run([FLOWBACK, "crash", path, "--json", *options], self.folder).stdout)["sentence"]

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
    test_with_core_dumps()
