# SPDX-License-Identifier: MIT
"""What `flowback crash` says of the children of a program that each die in another way: what caused it, by the marks in
the program's source, is on the report's first screen. Their core dumps' stacks are held against gdb's.

  falls_test.py FLOWBACK FORBIDDEN SOURCES... BUILD=PROGRAM...

A build is `unoptimised`, `optimised` or `stripped`, or of another machine: `short-O0`, `aarch64-O2` ..."""

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
from commands import needs_core_dump, run, test_with_core_dumps, why_no_core_dump  # noqa: E402
from marks import Marks  # noqa: E402

FLOWBACK = sys.argv[1]
FORBIDDEN, SCREEN = sys.argv[2], 24
PROGRAMS = dict(word.split("=", 1) for word in sys.argv[3:] if "=" in word)
# With names in the program's file; the stripped one has none.
NAMED = [build for build in PROGRAMS if build != "stripped"]

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
# Deaths whose store is not proven: the function that made it is the first of those that returned last.
SUSPECTS = {("smash", None): "Fill", ("stale", None): "Reuse", ("vtable", "unoptimised"): "Clear", ("leap", None): "Leap"}
# Deaths of which no dump is made: the program forbids it, or SIGKILL ends it. Others need none for their cause.
WITHOUT_DUMP, NEED_NO_DUMP = ("shrunk", "outside"), ("rethrow", "quotient", "shrunk", "library", "outside")
MARKS = Marks(*(word for word in sys.argv[3:] if "=" not in word))


def falls_of(build):
    """The ways in which a program of that build can die: AArch64 divides by zero. Of another machine the unoptimised
    program dies in half of the ways, the optimised one in the others, and of the next machine the other way round; with
    FLOWBACK_FULL=1 each program dies in all."""
    machine, _, level = build.partition("-")
    ways = [how for how in FALLS if how != "quotient" or machine != "aarch64"]
    if not level or os.environ.get("FLOWBACK_FULL") == "1":
        return ways
    half = (machine == "aarch64") == (level == "O0")
    # Each build makes code when it runs, which has its own test.
    return [how for how in ways if how == "made" or list(FALLS).index(how) % 2 == half]


class Falls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.recorded, cls.told, cls.asked = {}, {}, {}

    def record(self, build):
        """One recording of all deaths; returns it and the processes by the way they died."""
        if build not in self.recorded:
            path = os.path.join(self.folder, build + ".data")
            said = run([FLOWBACK, "record", "-q", "--engine", "emulate", "-o", path, "--", PROGRAMS[build], *falls_of(build)],
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

    def places_of(self, place, *options):
        """The source lines, or functions, of a stripped copy's place, by the unstripped program: of inlined ones, too."""
        if place["object_offset"] is None or not os.path.exists(place["object"]):
            return []
        whole = place["object"].replace("/stripped/", "/optimised/")
        addresses = [hex(int(place["object_offset"], 16) - back) for back in (0, 1)]
        # The deaths have most frames in common.
        words = ("addr2line", "-i", *options, "-e", whole, *addresses)
        if words not in self.asked:
            self.asked[words] = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
        return self.asked[words]

    def lines_of(self, place):
        return {os.path.basename(line.split(" ")[0]) for line in self.places_of(place)}

    def screen_of(self, build, how):
        return "\n".join(self.text(build, how).splitlines()[:SCREEN])

    def has_dump(self, told, how):
        """Fails where a dump was made and not found."""
        if how not in WITHOUT_DUMP and not why_no_core_dump():
            self.assertTrue(told["has_core"], told["sentence"])
        return told["has_core"]

    def assert_cause(self, build, how, told, lines, functions_of):
        """The lines of the screen have all marks. Where the store is not proven, it is the last one of a function that
        returned last, the first suspect."""
        self.assertLessEqual(set(MARKS.places(how, "AND")), lines)
        self.assertLessEqual(set(MARKS.places(how, "CAUSE")), lines)
        suspect = SUSPECTS.get((how, None)) or SUSPECTS.get((how, build))
        if suspect and told["returned_last"]:
            self.assertIn(suspect, functions_of(told["returned_last"][0]))

    def test_the_cause_is_on_the_first_screen(self):
        for build in NAMED:
            for how in falls_of(build):
                kind, killed_by = FALLS[how]
                with self.subTest(f"{build} {how}"):
                    told = self.crash(build, how)
                    self.assertEqual(told["signal"], killed_by, told["sentence"])
                    is_known = told["has_core"] or told["kind"] != "access"
                    self.assertIn(told["kind"], kind if is_known else "access", told["sentence"])
                    if not self.has_dump(told, how) and how not in NEED_NO_DUMP:
                        self.skipTest(why_no_core_dump())
                    lines = set(re.findall(r"\((\w+\.cc:\d+)\)", self.screen_of(build, how)))
                    self.assert_cause(build, how, told, lines, lambda place: place["function"])

    def test_the_cause_in_a_stripped_copy(self):
        """The same cause, by address."""
        if "stripped" not in PROGRAMS:
            self.skipTest("no stripped copy is given")
        for how, (_, killed_by) in FALLS.items():
            with self.subTest(how):
                screen = self.screen_of("stripped", how)
                if killed_by is not None:
                    self.assertIn(f"by {killed_by}", screen)
                told = self.crash("stripped", how)
                if not self.has_dump(told, how) and how not in NEED_NO_DUMP:
                    self.skipTest(why_no_core_dump())
                lines = set()
                for name, offset in re.findall(r"\[(falls|libfalls.so)\+(0x[0-9a-f]+)\]", screen):
                    path = os.path.join(os.path.dirname(PROGRAMS["stripped"]), name)
                    lines.update(self.lines_of({"object": path, "object_offset": offset}))
                for frame in told["threads"][0]["stack"][:40]:
                    if f"{int(frame['address'], 16):016x}" in screen:
                        lines.update(self.lines_of(frame))
                self.assert_cause("stripped", how, told, lines, lambda place: " ".join(self.places_of(place, "-f")))

    def test_code_that_was_made_has_the_programs_mode(self):
        """The file that keeps it beside the recording is made for all of them."""
        for build in NAMED:
            path, processes = self.record(build)
            said = run([FLOWBACK, "crash", path, "--pid", processes["made"]], self.folder)
            self.assertNotIn("bit image", said.stderr)

    def test_the_cores_stacks(self):
        for build in NAMED:
            for how in falls_of(build):
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
        if FORBIDDEN == "none":
            self.skipTest("no such program is given")
        path = os.path.join(self.folder, "forbidden.data")
        said = run([FLOWBACK, "record", "-q", "--engine", "step", "-o", path, "--", FORBIDDEN], self.folder, status=None)
        if said.returncode != 128 + signal.SIGSYS:
            self.skipTest("this machine steps no program that seccomp kills: " + said.stderr)
        sentence = self.crash_of(path)
        self.assertIn(f"({MARKS.places('forbidden', 'CAUSE')[0]})", sentence)
        self.assertIn("is forbidden", sentence)
        core = os.path.join(self.folder, "core")
        if os.path.exists(core):
            self.assertIn("the system call getpriority is forbidden", self.crash_of(path, "--core", core))

    def crash_of(self, path, *options):
        return json.loads(run([FLOWBACK, "crash", path, "--json", *options], self.folder).stdout)["sentence"]

    def test_gdb_unwinds_the_same(self):
        if shutil.which("gdb") is None or "unoptimised" not in PROGRAMS:
            self.skipTest("this machine has no gdb, or none of its programs is given")
        for how in ("smash", "mutual", "handler"):
            told = self.crash("unoptimised", how)
            needs_core_dump(self, told)
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
