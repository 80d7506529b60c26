# SPDX-License-Identifier: MIT
"""What `flowback crash` says of a process that hung, and of a dump that a debugger made of it while it ran. The marks
in the program's source name the places; gdb's own view of the dumps, and the listing, are the judges.

  hang_test.py FLOWBACK PROGRAM SOURCE"""

import ctypes
import functools
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run, test_with_core_dumps  # noqa: E402
from marks import Marks  # noqa: E402

FLOWBACK, PROGRAM, SOURCE = sys.argv[1:4]
MARKS = Marks(SOURCE)
STUB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stub_core.py")
PATIENCE = 20  # seconds
ATTEMPTS = 3
# An emulator that lets gdb in: the recorder keeps QEMU's own variable for that from it. It has the names by which the
# recorder knows an emulator that loads plugins.
SHIM = """#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
  char *all[count + 3];
  all[0] = words[0];
  all[1] = "-g";
  all[2] = getenv("STUB");
  for (int i = 1; i <= count; ++i) all[i + 2] = words[i];
  return execv("%s", all);
}
"""


class Stuck(Exception):
    """Nothing happened in time."""


def wait_for(what):
    for _ in range(PATIENCE * 20):
        if answer := what():
            return answer
        time.sleep(0.05)
    raise Stuck


def again(test):
    """gdb and the emulator's stub now and then wait for each other for ever: then all is done again."""
    @functools.wraps(test)
    def patient(self):
        for _ in range(ATTEMPTS):
            try:
                return test(self)
            except (Stuck, subprocess.TimeoutExpired):
                self.doCleanups()
                self.setUp()
        return self.skipTest("gdb and the emulator's stub waited for each other each time")
    return patient


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def children_of(pid):
    """The numbers of the process's children."""
    children = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    children.append(int(name))
        except (OSError, ValueError):
            pass  # it is no process, or has ended
    return children


def send(pid, tid, number):
    ctypes.CDLL(None).syscall(234, pid, tid, int(number))  # tgkill


def threads_of(pid):
    return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]


class Recorded:
    """A program that is recorded, and hangs."""

    def __init__(self, test, how, *options, stub=None):
        self.test, self.folder = test, test.folder
        self.output = os.path.join(self.folder, how + ".out")
        self.path = os.path.join(self.folder, how + ".data")
        self.is_stubbed = stub is not None
        environment = dict(os.environ)
        if stub:
            environment.update(STUB=stub, PATH=self.folder + ":" + environment["PATH"])
        with open(self.output, "w", encoding="utf-8") as out:
            self.recorder = subprocess.Popen([FLOWBACK, "record", "-q", *options, "-o", self.path, "--", PROGRAM, how],
                                             cwd=self.folder, stdout=out, env=environment)
        self.pid = 0
        test.addCleanup(self.kill)
        self.pid = wait_for(lambda: self.program())

    def program(self):
        children = children_of(self.recorder.pid)
        return children[0] if children else None

    def hangs(self):
        wait_for(lambda: "hangs" in read_text(self.output))
        time.sleep(0.5)

    def end(self, how=None):
        """By a signal, or by the one that gdb waits for."""
        if how:
            os.kill(self.pid, how)
        elif self.is_stubbed:
            send(self.pid, self.pid, signal.SIGUSR2)
        self.recorder.wait(PATIENCE)

    def kill(self):
        for pid in (self.pid, self.recorder.pid):
            if self.recorder.poll() is None and pid:
                os.kill(pid, signal.SIGKILL)
        self.recorder.wait(PATIENCE)

    def crash(self, *options):
        return json.loads(run([FLOWBACK, "crash", self.path, "--json", *options], self.folder).stdout)

    def text(self, *options):
        return run([FLOWBACK, "crash", self.path, *options], self.folder).stdout

    def listed(self, tid):
        """The addresses of the first instructions that the thread executed: a loop has millions."""
        words = [FLOWBACK, "decode", self.path, "--as", "instructions", "-F", "ip", "--tid", str(tid)]
        with subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, text=True) as decoder:
            return [int(line, 16) for line in itertools.islice(decoder.stdout, 200000)]


class Hangs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.gdb = None

    def needs(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest(f"this machine has no {program}")

    def emulated(self, how, **facts):
        """A program in the emulator, with a gdb that waits to dump it."""
        self.needs("gdb", "nm", "gcc", "qemu-x86_64")
        stub, ready = (os.path.join(self.folder, name) for name in ("stub", "ready"))
        self.make_shim()
        recorded = Recorded(self, how, "--engine", "emulate", stub=stub)
        wait_for(lambda: os.path.exists(stub))
        self.dump = os.path.join(self.folder, "dump")
        environment = dict(os.environ, STUB=stub, READY=ready, DUMP=self.dump, PID=str(recorded.pid), **facts)
        self.gdb = subprocess.Popen(["gdb", "-nx", "-batch", "-x", STUB, PROGRAM], env=environment, cwd=self.folder,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.gdb.stdout.close)
        self.addCleanup(self.gdb.kill)
        wait_for(lambda: os.path.exists(ready))
        return recorded

    def make_shim(self):
        emulator = shutil.which("qemu-x86_64")
        names = re.findall(r" [TDBRV] (qemu_plugin\w+)", run(["nm", "-D", emulator], self.folder).stdout)
        with open(os.path.join(self.folder, "shim.c"), "w", encoding="utf-8") as file:
            file.write(SHIM % emulator + "".join(f"char {name}[1];\n" for name in names))
        run(["gcc", "-rdynamic", "-o", "qemu-x86_64", "shim.c"], self.folder)

    def stop(self, recorded, tid):
        """Makes gdb dump the program, by a signal to that thread."""
        send(recorded.pid, tid, signal.SIGUSR2)
        wait_for(lambda: os.path.exists(self.dump) or self.gdb.poll() is not None)

    def waiting_thread(self, recorded):
        """The one that is in pause(), the only thread that does not wait for a futex or compute."""
        def find():
            for tid in threads_of(recorded.pid):
                with open(f"/proc/{recorded.pid}/task/{tid}/syscall", encoding="utf-8") as file:
                    if file.read().startswith(("34 ", "130 ", "271 ")):  # pause, or as QEMU makes it
                        return tid
            return None
        return wait_for(find)

    def assert_deadlock(self, told):
        first, other = [next(one for one in told["threads"] if one["tid"] == tid) for tid in told["deadlock"]]
        for thread, next_one in ((first, other), (other, first)):
            self.assertEqual(thread["waits_for"]["owner"], next_one["tid"])
            self.assertIn(f"thread {thread['tid']} waits for the mutex {thread['waits_for']['name']}", told["sentence"])
            lines = [place["line"] for place in thread["stack"]]
            self.assertIn(MARKS.line("FAULT", "deadlock"), lines)
        self.assertEqual({first["waits_for"]["name"], other["waits_for"]["name"]}, {"accounts", "journal"})
        return first, other

    def frames_by_gdb(self, tid):
        """The addresses of a thread's frames in the dump."""
        said = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "thread apply all bt",
                               PROGRAM, self.dump], capture_output=True, text=True, check=False).stdout
        blocks = re.split(r"^Thread \d+ \(", said, flags=re.M)[1:]
        block = next((one for one in blocks if re.match(rf".*LWP {tid}\)", one)), "")
        return [int(line.split()[1], 16) for line in block.splitlines() if re.match(r"#\d+ +0x", line)]

    @again
    def test_a_deadlock_that_lasts(self):
        recorded = self.emulated("deadlock", SIGNAL=str(int(signal.SIGTERM)))
        recorded.hangs()
        self.stop(recorded, self.waiting_thread(recorded))
        recorded.recorder.wait(PATIENCE)
        told = recorded.crash("--core", self.dump)
        self.assertTrue(told["hung"], told["sentence"])
        self.assertIn("hung to its end in a deadlock", told["sentence"])
        if "SIGPIPE" in told["sentence"]:  # the stub wrote to a gdb that had left
            raise Stuck
        self.assertIn("killed by SIGTERM afterwards", told["sentence"])
        for thread in self.assert_deadlock(told):
            dumped = next(one for one in told["dump"] if one["tid"] == thread["tid"])
            self.assertEqual((dumped["fit"], dumped["at_end"], dumped["system_call"]), ("proven", True, 202))
            self.assertEqual(dumped["number"], len(recorded.listed(thread["tid"])))
            self.assertIn(int(dumped["place"]["address"], 16), self.frames_by_gdb(thread["tid"])[:1])
            self.assertEqual([mutex["locked_in"] and mutex["locked_in"]["line"] for mutex in thread["holds"]],
                             [MARKS.line("CAUSE", "deadlock")])
        self.assertIn("It executed nothing afterwards.", recorded.text("--core", self.dump))

    @again
    def test_a_deadlock_while_another_thread_goes_on(self):
        recorded = self.emulated("deadlock")
        recorded.hangs()
        waits = self.waiting_thread(recorded)
        self.stop(recorded, waits)
        time.sleep(0.5)
        recorded.end()
        told = recorded.crash("--core", self.dump)
        self.assertIn("hung to its end in a deadlock", told["sentence"])
        self.assert_deadlock(told)
        woken = next(one for one in told["dump"] if one["tid"] == waits)
        self.assertEqual((woken["fit"], woken["at_end"]), ("proven", False), told["dump"])
        # That is where the flow has the address, and it goes on there.
        listed = recorded.listed(waits)
        self.assertEqual(listed[woken["number"]], int(woken["place"]["address"], 16))

    @again
    def test_an_endless_loop(self):
        recorded = self.emulated("loop")
        recorded.hangs()
        self.stop(recorded, recorded.pid)
        recorded.end()
        told = recorded.crash("--core", self.dump)
        self.assertTrue(told["hung"], told["sentence"])
        self.assertEqual(told["threads"][0]["tid"], recorded.pid)
        self.assertIn(f"Search (hangs.c:{MARKS.line('FAULT', 'loop')})", told["sentence"])
        self.assertIn("did not leave Search", told["sentence"])
        dumped = next(one for one in told["dump"] if one["tid"] == recorded.pid)
        # It was there again and again.
        self.assertEqual((dumped["fit"], dumped["number"]), ("several", None))
        self.assertEqual((told["why"], told["operands"]), (None, []))
        # The flow: its last addresses are the same few.
        last = recorded.crash("--core", self.dump, "--last", "5000")["threads"][0]["instructions"]
        self.assertGreaterEqual(len(last), 4990)  # those at which it was stopped may not have executed
        self.assertLess(len({one["place"]["address"] for one in last}), 20)
        # Without a dump the flow says as much.
        self.assertIn("did not leave Search", recorded.crash()["sentence"])

    @again
    def test_a_place_in_the_middle(self):
        """The values are those of that place, and of none behind it."""
        line = MARKS.line("FAULT", "once")
        recorded = self.emulated("once", BREAK=f"hangs.c:{line}")
        recorded.hangs()
        recorded.end()
        told = recorded.crash("--core", self.dump, "--why", "rdi")
        (dumped,) = told["dump"]
        self.assertEqual((dumped["fit"], dumped["at_end"]), ("proven", False))
        self.assertEqual(dumped["place"]["line"], line)
        self.assertEqual(recorded.listed(recorded.pid)[dumped["number"]], int(dumped["place"]["address"], 16))
        self.assertIsNone(told["why"])
        said = run([FLOWBACK, "replay", recorded.path, "--core", self.dump, "--at", f"#{dumped['number']}", "--", "-nx",
                    "-q", "-batch", "-ex", "print $rdi", "-ex", "print what", "-ex", "print asked", "-ex",
                    "reverse-stepi", "-ex", "print $rdi", "-ex", "monitor goto end", "-ex", "print $rdi"],
                   self.folder, status=None).stdout
        values = re.findall(r"^\$\d+ = (.*)$", said, re.M)
        self.assertEqual(values[0], str(0x1234), said)
        self.assertEqual(values[2], str(0x1234 * 3), said)
        self.assertEqual(values[3], str(0x1234), said)
        self.assertEqual(values[-1], "<unavailable>", said)

    @again
    def test_the_emulators_own_dump(self):
        """gcore of the emulator's process shows QEMU."""
        self.needs("gcore")
        recorded = Recorded(self, "loop", "--engine", "emulate")
        recorded.hangs()
        made = subprocess.run(["gcore", "-o", os.path.join(self.folder, "core"), str(recorded.pid)],
                              capture_output=True, text=True, check=False)
        recorded.end(signal.SIGTERM)
        if made.returncode != 0:
            self.skipTest("gcore may not attach here")
        said = run([FLOWBACK, "crash", recorded.path, "--core", os.path.join(self.folder, f"core.{recorded.pid}")],
                   self.folder, status=2)
        self.assertIn("dump of the emulator", said.stderr)
        self.assertIn("kill -QUIT", said.stderr)
        # Without it the flow says where the program was.
        self.assertIn("did not leave Search", recorded.crash()["sentence"])

    @again
    def test_gcore_of_a_stepped_program(self):
        """A real dump by gdb, made after the recording: the program went on."""
        self.needs("gcore")
        recorded = Recorded(self, "deadlock", "--engine", "step", "--duration", "8")
        recorded.hangs()
        wait_for(lambda: "TracerPid:\t0" in read_text(f"/proc/{recorded.pid}/status"))
        time.sleep(0.5)
        made = subprocess.run(["gcore", "-o", os.path.join(self.folder, "core"), str(recorded.pid)],
                              capture_output=True, text=True, check=False)
        self.dump = os.path.join(self.folder, f"core.{recorded.pid}")
        recorded.end(signal.SIGKILL)
        if made.returncode != 0 or not os.path.exists(self.dump):
            self.skipTest("gcore may not attach here")
        told = recorded.crash("--core", self.dump)
        self.assertTrue(told["hung"], told["sentence"])
        for thread in self.assert_deadlock(told):
            dumped = next(one for one in told["dump"] if one["tid"] == thread["tid"])
            # The recording does not show that the dump was made while it lasted.
            self.assertEqual((dumped["fit"], dumped["at_end"], dumped["system_call"]), ("once", True, 202))


if __name__ == "__main__":
    test_with_core_dumps()
