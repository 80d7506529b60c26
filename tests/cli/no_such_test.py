#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""no_such_test.py FLOWBACK CC: an option that names what the recording does not have is wrong usage, in every command.

Status 2 (of `record -- CMD` 125), nothing on standard output but what a listing prints in front, a message that names
the option's word, and a remedy. One of several names that fits nothing is a warning."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
CC = sys.argv[2]

PROGRAM = r"""
__attribute__((noinline)) int work(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * a; return s; }
int main(int argc, char** argv) { (void)argv; int t = 0; for (int i = 0; i < 9; i++) t += work(i + argc); return t == 1; }
"""

# The words behind `flowback COMMAND p.data`; what the message has of them.
NOTHING_FITS = [
    ("decode --as calls --function nosuch", "nosuch"),
    ("decode --as instructions --function nosuch*", "nosuch"),
    ("decode --as lines --function /nosuch/", "nosuch"),
    ("decode --as blocks --function nosuch", "nosuch"),
    ("decode --as branches --function nosuch --json", "nosuch"),
    ("decode --as summary --tid 999999", "--tid"),
    ("decode --as summary --comm nosuch", "--comm"),
    ("decode --as summary --cpu-list 77", "--cpu-list"),
    ("decode --as summary --time 1000000000,1000000001", "--time 1000000000"),
    ("decode --as packets --time 1000000000,1000000001", "--time 1000000000"),
    ("timeline --function nosuch", "nosuch"),
    ("timeline --function nosuch --json", "nosuch"),
    ("timeline --thread 999999", "--tid"),
    ("timeline --time 1000000000,1000000001", "--time 1000000000"),
    ("timeline --at 1000000000", "--at 1000000000"),
    ("timeline --at #1000000000", "--at #1000000000"),
    ("timeline --at spike:7", "no spikes"),
    ("timeline --at crash", "--at crash"),
    ("spikes --function nosuch", "nosuch"),
    ("spikes --region nosuch", "nosuch"),
    ("spikes --start nosuch --stop main", "nosuch"),
    ("spikes --start main --stop nosuch", "nosuch"),
    ("spikes --start main --stop p.c:9999", "p.c:9999"),
    ("spikes --function work --comm nosuch", "--comm"),
    ("spikes --function work --time 1000000000,1000000001", "--time 1000000000"),
    ("coverage --function nosuch", "nosuch"),
    ("coverage --object nosuch", "nosuch"),
    ("coverage --object nosuch --json", "nosuch"),
    ("coverage --object nosuch --by-thread", "nosuch"),
    ("coverage --object nosuch --fail-under 10", "nosuch"),
    ("coverage --include nosuch.c", "nosuch.c"),
    ("coverage --object p --include nosuch.c", "nosuch.c"),
    ("coverage --thread 999999", "--tid"),
    ("coverage --time 1000000000,1000000001", "--time 1000000000"),
    ("branches --annotate nosuch", "nosuch"),
    ("branches --tid 999999", "--tid"),
    ("stack --at end --thread 999999", "--tid"),
    ("stack --at end --thread nosuch", "--tid"),
    ("stack --at 1000000000", "--at 1000000000"),
    ("stack --at #1000000000", "--at #1000000000"),
    ("locks --comm nosuch", "--comm"),
    ("locks --time 1000000000,1000000001", "--time 1000000000"),
    ("export --to autofdo -o exported --object nosuch", "nosuch"),
    ("export --to brstack --comm nosuch", "--comm"),
    ("crash --pid 999999", "process"),
    ("crash --why nosuch", "nosuch"),
    ("replay --gdb-server nowhere --pid 999999", "process"),
    ("info --tid 999999", "--tid"),
    ("info --symfs nosuch", "nosuch"),
    ("info --debug-dir nosuch", "nosuch"),
]

NOTHING_TO_RECORD = [
    ("--from nosuch -- ./p", 125, "nosuch"),
    ("--until nosuch -- ./p", 125, "nosuch"),
    ("--engine step --until nosuch -- ./p", 125, "nosuch"),
    ("--foreign-root nosuch -- ./p", 125, "nosuch"),
    ("-p 2147483632", 2, "2147483632"),
    ("-t 2147483632", 2, "2147483632"),
]

SOME_FIT = [
    ("coverage --include p.c --include nosuch.c", "nosuch.c"),
    ("coverage --object p --object nosuch", "nosuch"),
    ("decode --as summary --comm p,nosuch", "nosuch"),
]


class NoSuch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(os.path.join(cls.folder, "p.c"), "w", encoding="ascii") as file:
            file.write(PROGRAM)
        subprocess.run([CC, "-O1", "-g", "-o", "p", "p.c"], cwd=cls.folder, check=True)
        cls.run_it("record", "--engine", "emulate", "-o", "p.data", "--", "./p")

    @classmethod
    def run_it(cls, *words):
        environment = dict(os.environ, FLOWBACK_CACHE=os.path.join(cls.folder, "cache"))
        return subprocess.run([FLOWBACK, *words], cwd=cls.folder, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env=environment)

    def read(self, words):
        command, *options = words.split()
        return self.run_it(command, "p.data", *options)

    def test_nothing_fits(self):
        for words, named in NOTHING_FITS:
            with self.subTest(words):
                done = self.read(words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(named, done.stderr)
                self.assertIn("\n  try: ", done.stderr)
                shown = [line for line in done.stdout.splitlines() if not line.startswith(("#", '{"schema"'))]
                self.assertEqual(shown, [])

    def test_nothing_to_record(self):
        for words, status, named in NOTHING_TO_RECORD:
            with self.subTest(words):
                done = self.run_it("record", "-o", "q.data", *words.split())
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(named, done.stderr)

    def test_one_of_several_names_that_does_not_fit_is_a_warning(self):
        for words, named in SOME_FIT:
            with self.subTest(words):
                done = self.read(words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(named, done.stderr)
                self.assertNotEqual(done.stdout, "")

    def test_a_function_that_ran_in_another_part_is_a_warning(self):
        for command in ("timeline --function work", "decode --as calls --function work", "decode --function work"):
            done = self.read(f"{command} --time 0%,0.1%")
            self.assertEqual(done.returncode, 0, (command, done.stderr))
            self.assertIn("in the part that is shown", done.stderr, command)

    def test_a_time_of_the_recording_in_which_nothing_ran_is_a_warning(self):
        begin = float(self.read("decode --as instructions -F time").stdout.splitlines()[-1].split()[-1].rstrip(":"))
        done = self.read(f"decode --as instructions --time {begin - 1e-9:.9f},{begin - 1e-9:.9f}")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
