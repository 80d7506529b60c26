# SPDX-License-Identifier: MIT
"""Asks recordings in SQL."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, PROJECT = sys.argv[1:3]
RECORDINGS = f"{PROJECT}/tests/recordings"
BRANCHES = f"{RECORDINGS}/branches.data"  # one thread: calls, recursion, a system call
THREADS = f"{RECORDINGS}/changes.data"  # several threads that wait for each other
STEPPED = f"{RECORDINGS}/tiny-stepped.data"


def shared(path):
    """The path of a shared recording; None where it is absent."""
    found = f"{os.environ.get('FLOWBACK_SHARED') or f'{PROJECT}/../shared'}/{path}"
    return found if os.path.exists(found) else None


def perf_data_below(folder):
    """The recordings of perf's format in a folder, in the order of their names."""
    found = []
    for place, _, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in names):
            with open(path, "rb") as file:
                if file.read(8) == b"PERFILE2":
                    found.append(path)
    return sorted(found)


def emulated(folder, program, *options):
    """The path of a recording of tests/query/programs/PROGRAM.c, by the emulator. Ends the test as left out where this
    machine cannot make one."""
    emulator = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
    if shutil.which("gcc") is None or emulator is None or os.uname().machine != "x86_64":
        print("left out: needs gcc, qemu-user and an x86-64 machine")
        sys.exit(77)
    built, recording = f"{folder}/{program}", f"{folder}/{program}.data"
    subprocess.run(["gcc", "-O1", "-g", "-static", "-pthread", f"{PROJECT}/tests/query/programs/{program}.c", "-o",
                    built], check=True)
    subprocess.run([FLOWBACK, "record", "--engine", "emulate", *options, "-o", recording, "--", built], check=True,
                   capture_output=True)
    return recording


class Asking(unittest.TestCase):
    """Each test has a cache of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def flowback(self, *words, stdin=None):
        """The end of the command. Standard input is empty unless `stdin` is given."""
        given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        environment = {**os.environ, "FLOWBACK_CACHE": f"{self.folder}/cache", "COLUMNS": "200"}
        return subprocess.run([FLOWBACK, *words], capture_output=True, text=True, check=False, timeout=100,
                              env=environment, **given)

    def told(self, *words):
        """The JSON of another command."""
        done = self.flowback(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def rows(self, recording, sql, *words):
        """The rows of one statement."""
        done = self.flowback("query", *words, recording, sql, "--json")
        self.assertEqual(done.returncode, 0, f"{sql}\n{done.stderr}")
        return json.loads(done.stdout)["rows"]

    def refused(self, recording, sql, status, says):
        """Its message, of a statement that fails without output."""
        done = self.flowback("query", recording, sql)
        self.assertEqual(done.returncode, status, done)
        self.assertIn(says, done.stderr)
        self.assertIn("\n  try: ", done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr
