# SPDX-License-Identifier: MIT
"""Records small programs by emulation and compares the recordings."""

import json
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import run  # noqa: E402

FLOWBACK, PROJECT, COMPILER = sys.argv[1:4]
PROGRAMS = f"{PROJECT}/tests/diff/programs"


class Comparing(unittest.TestCase):
    """The tests of a class share a folder, a cache, and the recordings that the class makes in setUpClass."""

    @classmethod
    def setUpClass(cls):
        cls.take_folder(cls.addClassCleanup)

    @classmethod
    def take_folder(cls, add_cleanup):
        """Gives the tests a new, empty folder, until the cleanup."""
        folder = tempfile.TemporaryDirectory()
        add_cleanup(folder.cleanup)
        cls.folder = folder.name
        cls.environment = {**os.environ, "FLOWBACK_CACHE": f"{cls.folder}/cache", "COLUMNS": "200"}

    @classmethod
    def flowback(cls, *words, status=0):
        """The finished command."""
        return run([FLOWBACK, *words], cls.folder, status, env=cls.environment)

    @classmethod
    def build(cls, source, name, *options):
        """The program `name`, built without a C library from a file of programs/."""
        program = f"{cls.folder}/{name}"
        os.makedirs(os.path.dirname(program), exist_ok=True)
        copy = f"{os.path.dirname(program)}/{source}"
        if not os.path.exists(copy):
            shutil.copy(f"{PROGRAMS}/{source}", copy)
        run([COMPILER, "-g", "-O1", "-nostdlib", "-static", "-fno-stack-protector", "-fno-pie", "-no-pie",
             "-Wl,--build-id", *options, "-o", program, copy], cls.folder)
        return program

    @classmethod
    def record(cls, output, *command):
        """The recording of a command."""
        path = f"{cls.folder}/{output}"
        cls.flowback("record", "--engine", "emulate", "-o", path, "--", *command)
        return path

    @classmethod
    def diff(cls, *words, status=0):
        """The objects that `diff --json` prints, by type."""
        done = cls.flowback("diff", *words, "--json", status=status)
        told = {}
        for line in done.stdout.splitlines():
            each = json.loads(line)
            told.setdefault(each["type"], []).append(each)
        assert told["diff"][0]["schema"] == "flowback.diff/1", told["diff"]
        return told


def by_name(told):
    """The functions by name."""
    return {each["function"]: each for each in told["function"]}


def main(name):
    """Runs the tests; leaves them out where this machine cannot record by emulation."""
    if shutil.which("qemu-x86_64") is None and not os.environ.get("FLOWBACK_QEMU"):
        print("skipped: there is no qemu-x86_64")
        sys.exit(77)
    if run(["uname", "-m"], "/").stdout.strip() != "x86_64":
        print("skipped: the programs are of x86-64")
        sys.exit(77)
    unittest.main(argv=[name])
