#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""export_ends_test.py FLOWBACK RECORDINGS: binary formats are refused on a terminal, and an export that fails leaves
no file behind and an older one as it was."""

import os
import pty
import subprocess
import sys
import tempfile
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
RECORDING = os.path.abspath(sys.argv[2]) + "/branches.data"
BINARY = ("ctf", "perf", "perfetto", "pprof", "sqlite")
TEXT = ("csv", "chrome", "callgrind", "folded")


def on_a_terminal(*words):
    """The status, and all that a terminal shows."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(NO_COLOR="1", PAGER="cat")
        os.execv(FLOWBACK, [FLOWBACK, *words])
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the program has ended
            break
        if not piece:
            break
        shown += piece
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return status, shown


class ExportEnds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = folder.name + "/out"

    def export(self, *words):
        return subprocess.run([FLOWBACK, "export", RECORDING, *words], capture_output=True, check=False)

    def test_a_terminal_shows_no_bytes(self):
        for name in BINARY:
            for output in ([], ["-o", "-"]):
                status, shown = on_a_terminal("export", RECORDING, "--to", name, *output)
                self.assertEqual(status, 2, shown)
                self.assertIn(b"standard output is a terminal", shown)
                self.assertIn(b"-o FILE", shown)
            self.assertEqual(self.export("--to", name).returncode, 0)  # a pipe takes them
            status, shown = on_a_terminal("export", RECORDING, "--to", name, "-o", self.output)
            self.assertEqual((status, os.path.getsize(self.output) != 0), (0, True), shown)
            os.unlink(self.output)

    def test_a_terminal_shows_text(self):
        for name in TEXT:
            status, shown = on_a_terminal("export", RECORDING, "--to", name)
            self.assertEqual(status, 0, shown)
            self.assertIn(b"Leaf", shown)

    def test_a_failed_export_leaves_nothing(self):
        for name in ("perfetto", "chrome", "pprof", "csv", "sqlite"):
            words = ("--to", name, "--function", "nosuch", "-o", self.output)
            done = self.export(*words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(b"no such function was called", done.stderr)
            self.assertEqual(os.listdir(os.path.dirname(self.output)), [])
        with open(self.output, "w", encoding="utf-8") as file:
            file.write("older")
        self.assertEqual(self.export(*words).returncode, 2)
        with open(self.output, encoding="utf-8") as file:
            self.assertEqual(file.read(), "older")


unittest.main(argv=["export_ends_test"])
