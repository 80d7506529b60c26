# SPDX-License-Identifier: MIT
"""What `flowback crash` says of a program that dies in many ways, held against the marks in the program's source and
against other commands.

  crash_test.py FLOWBACK UNOPTIMISED OPTIMISED SOURCE"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import needs_core_dump, run, test_with_core_dumps, why_no_core_dump  # noqa: E402
from marks import Marks  # noqa: E402

FLOWBACK, SOURCE = sys.argv[1], sys.argv[4]
PROGRAMS = {"unoptimised": sys.argv[2], "optimised": sys.argv[3]}

# How: the kind that JSON has, the signal.
DEATHS = {
    "null": ("null-pointer", "SIGSEGV"), "wild": ("wild-pointer", "SIGSEGV"), "overflow": ("stack-overflow", "SIGSEGV"),
    "jump": ("wild-jump", "SIGSEGV"), "assert": ("assertion", "SIGABRT"), "exception": ("exception", "SIGABRT"),
    "twice": ("heap", "SIGABRT"), "division": ("division", "SIGFPE"), "illegal": ("instruction", "SIGILL"),
    "race": ("null-pointer", "SIGSEGV"),
    "bus": ("wild-pointer", "SIGBUS"), "thread": ("abort", "SIGABRT"), "handler": ("null-pointer", "SIGSEGV"),
}
MARKS = Marks(SOURCE)


class Crashes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.told = {}

    def record(self, build, how):
        # Each in a folder of its own: the kernel may write all core dumps to one name in the program's folder.
        folder = os.path.join(self.folder, f"{build}-{how}")
        path = os.path.join(folder, f"{how}.data")
        if not os.path.exists(path):
            os.mkdir(folder)
            run([FLOWBACK, "record", "-q", "--engine", "emulate", "-o", path, "--", PROGRAMS[build], how],
                folder, status=None)
        return path

    def crash(self, path, *options):
        said = run([FLOWBACK, "crash", path, "--json", *options], self.folder)
        return json.loads(said.stdout)

    def crash_of(self, build, how):
        """What is said of that death: each test asks for the same."""
        path = self.record(build, how)
        if path not in self.told:
            self.told[path] = self.crash(path)
        return self.told[path]

    def text(self, path, *options):
        return run([FLOWBACK, "crash", path, *options], self.folder).stdout

    def assert_death(self, build, how):
        path = self.record(build, how)
        told = self.crash_of(build, how)
        kind, signal = DEATHS[how]
        self.assertEqual(told["signal"], signal)
        # Without a core dump the address may not be known.
        is_known = told["has_core"] or told["kind"] != "access"
        self.assertEqual(told["kind"], kind if is_known else "access", told["sentence"])
        # Which instruction of a function comes to the end of the stack depends on the compiler.
        place = "Deeper(int) (dies.cc:" if how == "overflow" else f"(dies.cc:{MARKS.line('FAULT', how)})"
        self.assertIn(place, told["sentence"])
        # Of each death the text of one build's report, of all with FLOWBACK_FULL=1.
        if os.environ.get("FLOWBACK_FULL") == "1" or list(DEATHS).index(how) % 2 == (build == "optimised"):
            self.assert_text(path, told, place)

    def assert_text(self, path, told, place):
        text = self.text(path)
        self.assertEqual(text.splitlines()[0], told["sentence"])
        self.assertIn(place, text)
        # The stack is what another command shows, below a handler of which only the core dump knows.
        tid = str(told["threads"][0]["tid"])
        stack = run([FLOWBACK, "stack", path, "--at", "end", "--tid", tid], self.folder).stdout
        for line in [line for line in stack.splitlines() if line.startswith("#")][:30]:
            self.assertIn(re.sub(r"^#\d+ +", "", line), text)

    def test_deaths(self):
        for build in PROGRAMS:
            for how in DEATHS:
                with self.subTest(f"{build} {how}"):
                    self.assert_death(build, how)

    def test_the_instructions_are_those_of_the_listing(self):
        path = self.record("optimised", "null")
        first = self.crash_of("optimised", "null")["threads"][0]
        listed = run([FLOWBACK, "decode", path, "--as", "instructions", "-F", "ip,insn"], self.folder).stdout
        self.assertEqual([(one["place"]["address"], one["text"]) for one in first["instructions"]],
                         [("0x" + line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in listed.splitlines()[-20:]])
        more = self.crash(path, "--last", "100")["threads"][0]
        self.assertEqual(more["instructions"][-20:], first["instructions"])
        self.assertEqual(len(more["instructions"]), 100)

    def test_the_calls_are_those_of_the_listing(self):
        path = self.record("unoptimised", "null")
        calls = self.crash_of("unoptimised", "null")["threads"][0]["calls"]
        named = [(call["entry"]["function"] or "").replace("(anonymous namespace)::", "").split("(")[0] for call in calls]
        self.assertEqual(named[-3:], ["Parse", "Drop", "Parse"])
        self.assertEqual([call["returned"] for call in calls[-3:]], [True, True, False])
        listed = run([FLOWBACK, "decode", path, "--as", "calls"], self.folder).stdout
        for name, call in zip(named[-3:-1], calls[-3:-1]):
            counts = re.findall(rf"<- .*\b{name}\(.* (\d+) instructions", listed)
            self.assertIn(str(call["instructions"]), counts, name)

    def test_a_core_dump_tells_why(self):
        path = self.record("unoptimised", "null")
        core = self.core_of(path)
        if core is None:
            self.skipTest(why_no_core_dump() or self.fail("the recorder noted no core dump"))
        told = self.crash(path, "--core", core)
        self.assertTrue(told["has_core"])
        self.assertEqual(told["why"]["value"], "0x0")
        cause = f"(dies.cc:{MARKS.line('CAUSE', 'null')})"
        self.assertIn(cause, told["sentence"])
        self.assertIn("Drop", told["sentence"])
        self.assertIn("rax = 0x0", self.text(path, "--core", core))
        other = self.crash(path, "--core", core, "--why", "rsp")
        self.assertEqual(other["why"]["of"], "rsp")
        said = run([FLOWBACK, "crash", path, "--why", "nothing"], self.folder, status=2)
        self.assertIn("  try: ", said.stderr)

    def test_a_core_dump_tells_what_the_library_said(self):
        for how, words in (("assert", "Assertion `n == 7' failed"), ("twice", "double free detected"),
                           ("exception", None)):
            told = self.crash_of("optimised", how)
            needs_core_dump(self, told)
            if words:
                self.assertIn(words, told["message"])
                self.assertIn(words, told["sentence"])
            else:
                self.assertEqual(told["thrown_type"], "std::runtime_error")
                self.assertIn("of type std::runtime_error", told["sentence"])

    def test_another_thread_stored_the_value(self):
        for build in PROGRAMS:
            path = self.record(build, "race")
            told = self.crash_of(build, "race")
            needs_core_dump(self, told)
            other = told["threads"][1]
            stored = told["why"]["stored_by"]
            # The thread waits in a function of the C library, whose stores behind this one may not be proven.
            if stored is None:
                self.assertNotIn("had stored", told["sentence"])
                continue
            self.assertEqual((stored["tid"], stored["place"]["line"]), (other["tid"], MARKS.line("CAUSE", "race")))
            self.assertIn("shared", told["why"]["memory"])
            self.assertIn(f"where thread {other['tid']} had stored it in", told["sentence"])
            # The program waited a millisecond at least before it looked, but for the clock's grain.
            self.assertGreater(told["why"]["before_ns"], 0)
            listed = run([FLOWBACK, "decode", path, "--as", "instructions", "-F", "ip,insn", "--tid", str(other["tid"])],
                         self.folder).stdout.splitlines()
            self.assertTrue(listed[stored["number"]].startswith(stored["place"]["address"][2:] + " mov"))

    def test_a_deadlock(self):
        """Two threads that wait for each other's mutex; their calls show the addresses."""
        for build in PROGRAMS:
            told = self.crash_of(build, "deadlock")
            self.assertEqual(told["signal"], "SIGQUIT")
            needs_core_dump(self, told)
            first, other = [next(thread for thread in told["threads"] if thread["tid"] == tid) for tid in told["deadlock"]]
            for thread, next_one in ((first, other), (other, first)):
                self.assertEqual(thread["waits_for"]["owner"], next_one["tid"])
                self.assertEqual([mutex["address"] for mutex in next_one["holds"]], [thread["waits_for"]["address"]])
                # Where it locked it, if the address is proven there.
                if next_one["holds"][0]["locked_in"]:
                    self.assertEqual(next_one["holds"][0]["locked_in"]["line"], MARKS.line("CAUSE", "deadlock"))
                self.assertIn(f"thread {thread['tid']} waits for the mutex", told["sentence"])
            names = {thread["waits_for"]["name"].split("::")[-1] for thread in (first, other)}
            self.assertEqual(names, {"first_mutex", "second_mutex"})
            # The other command finds it without the core dump, in the flow.
            said = run([FLOWBACK, "locks", self.record(build, "deadlock"), "--json"], self.folder).stdout
            for thread in (first, other):
                self.assertRegex(json.loads(said)["sentences"][0], f"Deadlock: .* dies {thread['tid']} waits for dies")

    def test_a_signal_that_was_sent(self):
        """Nothing failed: the report may blame no instruction and no access. The emulator's dumps do not have the
        sender."""
        for build in PROGRAMS:
            for how, name in (("sent", "SIGSEGV"), ("sent_store", "SIGSEGV"), ("sent_division", "SIGFPE")):
                # Without optimisation, all of them are one loop that loads.
                if build == "unoptimised" and how != "sent":
                    continue
                with self.subTest(f"{build} {how}"):
                    told = self.crash_of(build, how)
                    self.assertEqual(told["signal"], name)
                    needs_core_dump(self, told)
                    self.assertEqual((told["kind"], told["fault"], told["fault_address"]), ("signal", None, None),
                                     told["sentence"])
                    self.assertIn("Spin", told["sentence"])
                    self.assertTrue(told["unexplained"] or told["from_outside"], told["sentence"])
                    if told["unexplained"]:
                        self.assertIn("It is not known whether", told["sentence"])

    def test_system_calls(self):
        told = self.crash_of("optimised", "race")
        needs_core_dump(self, told)
        waits = told["threads"][1]["system_calls"][-1]
        self.assertEqual((waits["name"], waits["returned"], waits["text"]), ("pause", False, "pause() (did not return)"))
        for thread in told["threads"]:
            listed = run([FLOWBACK, "decode", self.record("optimised", "race"), "--as", "instructions", "-F", "ip,insn",
                          "--tid", str(thread["tid"])], self.folder).stdout.splitlines()
            count = len(thread["system_calls"])
            calls = [i for i, line in enumerate(listed) if line.endswith(" syscall")]
            self.assertEqual([call["number"] for call in thread["system_calls"]], calls[-count:])

    def test_a_core_dump_that_systemd_keeps(self):
        """A coredumpctl of our own gives a dump back where the recorder noted none that is still there."""
        path = self.record("unoptimised", "null")
        core = self.core_of(path)
        if core is None:
            self.skipTest(why_no_core_dump() or self.fail("the recorder noted no core dump"))
        stored = os.path.join(self.folder, "stored")
        os.mkdir(stored)
        program = os.path.join(stored, "coredumpctl")
        with open(program, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "$*" >"$STORED/asked"\n'
                       'for word; do case $word in --output=*) cp "$STORED/dump" "${word#--output=}" ;; esac; done\n')
        os.chmod(program, 0o755)
        kept = {name: os.environ.get(name) for name in ("PATH", "STORED", "TMPDIR")}
        temporary = os.path.join(stored, "temporary")
        os.mkdir(temporary)
        os.environ.update(PATH=stored + ":" + kept["PATH"], STORED=stored, TMPDIR=temporary)
        os.rename(core, core + ".kept")
        shutil.copy(core + ".kept", os.path.join(stored, "dump"))
        try:
            told = self.crash(path)
            self.assertTrue(told["has_core"])
            self.assertEqual(told["why"]["value"], "0x0")
            with open(os.path.join(stored, "asked"), encoding="utf-8") as file:
                self.assertTrue(file.read().endswith(f" dump {told['threads'][0]['tid']}\n"))
            # Another process' dump is not taken, nor is none at all.
            self.assertFalse(self.crash(self.record("unoptimised", "exit"))["has_core"])
            with open(os.path.join(stored, "dump"), "wb") as file:
                file.write(b"no dump")
            self.assertFalse(self.crash(path)["has_core"])
            self.assertEqual(os.listdir(temporary), [])
        finally:
            os.rename(core + ".kept", core)
            for name, value in kept.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})

    def core_of(self, path):
        ends = json.loads(run([FLOWBACK, "info", "--json", path], self.folder).stdout)["ends"]
        core = ends[0]["core"]
        return core if core and os.path.exists(core) else None

    def test_what_did_not_crash(self):
        told = self.crash(self.record("optimised", "exit"))
        self.assertEqual((told["kind"], told["exit_status"]), ("exited", 3))
        self.assertIn("exited with 3", told["sentence"])
        told = self.crash(self.record("optimised", "killed"))
        self.assertEqual((told["kind"], told["signal"]), ("signal", "SIGKILL"))
        said = run([FLOWBACK, "crash", self.record("optimised", "exit"), "--time", "0,1"], self.folder, status=2)
        self.assertIn("  try: ", said.stderr)

    def test_the_recursion_is_named(self):
        told = self.crash_of("unoptimised", "overflow")
        self.assertEqual([re.sub(r"\(int\)|\(anonymous namespace\)::", "", name) for name in told["recursion"]],
                         ["Deeper"])
        self.assertIn("again and again", told["sentence"])
        self.assertEqual(told["depth"], len(told["threads"][0]["stack"]))

    def test_real_hardware(self):
        """Recordings of Intel PT by perf, which notes no ends: the core dump shows it."""
        shared = os.environ.get("FLOWBACK_SHARED") or os.path.join(os.path.dirname(SOURCE), "../../../../shared")
        folder = os.path.join(shared, "traces", "intel-pt", "hase-2018-04-04")
        if not os.path.isdir(folder):
            self.skipTest("the shared recordings are not here")
        for name, day, last in (("control_flow", "20180404T163033", "__syscall4"), ("loopy", "20180404T162955", "exit")):
            path = os.path.join(folder, name + "-" + day)
            words = ["--image", os.path.join(folder, name), "--core", path + ".coredump"]
            told = self.crash(path + ".perf", *words, "--why", "rdi")
            self.assertEqual((told["kind"], told["signal"], told["core_contradicts"]), ("abort", "SIGABRT", False))
            self.assertTrue(told["has_core"])
            executed = told["threads"][0]["instructions"]
            self.assertEqual((executed[-1]["text"], executed[-1]["place"]["function"]), ("syscall", last))
            # What the kernel was asked to send is in the dump's registers, and the flow leads back from there.
            self.assertNotEqual(told["why"]["chain"], [])
            self.assertIsNotNone(told["why"]["value"])
            if shutil.which("gdb") is None:
                continue
            # The same death in gdb, forward and at once.
            commands = ["-ex", "info program", "-ex", "print $_siginfo.si_signo"]
            for at in ("crash", "end"):
                said = run([FLOWBACK, "replay", path + ".perf", *words, "--at", at, "--", "-nx", "-batch", *commands],
                           folder, status=None)
                self.assertIn("SIGABRT", said.stdout, said.stderr)
                self.assertIn("$1 = 6", said.stdout, said.stderr)

    def test_missing_code_is_no_jump_to_nowhere(self):
        """The recording alone, without the program: none is there, another build, or a file without code."""
        folder = os.path.join(self.folder, "alone")
        os.mkdir(folder)
        program, path = os.path.join(folder, "dies"), os.path.join(folder, "alone.data")
        shutil.copy(PROGRAMS["optimised"], program)
        # A core dump could hold the code.
        run(["sh", "-c", 'ulimit -S -c 0; exec "$@"', "sh", FLOWBACK, "record", "-q", "--engine", "emulate", "-o", path,
             "--", program, "null"], folder, status=None)
        whole = self.crash(path)
        offset = int(whole["fault"]["place"]["object_offset"], 16)
        # Where the recorder notes no address, somebody may have sent the signal.
        kind = "null-pointer" if whole["fault_address"] else "signal"
        shutil.rmtree(path + ".images")
        os.unlink(program)
        words = ["--build-id-cache", folder]
        text = self.text(path, *words)
        self.assertIn("--symfs FOLDER", text.splitlines()[1])
        self.assertNotIn("where no code is", text)
        covered = run([FLOWBACK, "coverage", path, *words], folder).stdout
        self.assertIn(program + "  (its file is missing: what ran in it is not known)", covered)
        self.assertIn("as far as is known, with", run([FLOWBACK, "locks", path, *words], folder).stdout)
        for why, make in (("the file was not found", ["true"]),
                          ("another build", ["cp", PROGRAMS["unoptimised"], program]),
                          ("because the file", ["objcopy", "--only-keep-debug", PROGRAMS["optimised"], program])):
            with self.subTest(why):
                subprocess.run(make, check=True)
                told = self.crash(path, *words)
                self.assertEqual((told["kind"], told["fault"], told["why"]), (kind, None, None))
                self.assertEqual(told["missing_code"]["file"], program)
                self.assertIn(f"was killed by SIGSEGV at {offset:#x} of {program}", told["sentence"])
                self.assertIn("The cause is not known: the code there is missing", told["sentence"])
                self.assertIn(why, told["sentence"])

    def test_threads(self):
        told = self.crash_of("unoptimised", "thread")
        self.assertEqual(len(told["threads"]), 2)
        functions = [[frame["function"] or "" for frame in thread["stack"]] for thread in told["threads"]]
        self.assertTrue(any("Fail" in name for name in functions[0]), functions)
        self.assertTrue(any("AbortInThread" in name for name in functions[1]), functions)


if __name__ == "__main__":
    test_with_core_dumps()
