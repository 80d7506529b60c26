#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""prompt_test.py PROGRAM PROJECT: `query` at a terminal."""

import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time
import unittest

import asked
from asked import BRANCHES


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, words, folder):
        self.terminal, other = pty.openpty()
        self.text = ""
        self.program = subprocess.Popen(words, stdin=other, stdout=other, stderr=other, close_fds=True,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**os.environ, "FLOWBACK_CACHE": folder, "TERM": "vt100", "PAGER": "cat",
                                             "COLUMNS": "120", "NO_COLOR": "1"})
        os.close(other)

    def wait_for(self, pattern):
        """The text up to the pattern, which is then taken away."""
        end = time.monotonic() + 60
        while not (found := re.search(pattern, self.text)):
            if time.monotonic() > end or not select.select([self.terminal], [], [], 60)[0]:
                raise AssertionError(f"no {pattern!r} in {self.text!r}")
            try:
                read = os.read(self.terminal, 4096)
            except OSError as error:
                raise AssertionError(f"ended without {pattern!r}: {self.text!r}") from error
            self.text += read.decode(errors="replace")
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return before

    def type(self, text):
        os.write(self.terminal, text.encode())

    def end(self):
        """Its exit status."""
        while True:
            try:
                if not os.read(self.terminal, 4096):
                    break
            except OSError:
                break
        os.close(self.terminal)
        return self.program.wait(timeout=60)


class Prompt(asked.Asking):
    def start(self):
        terminal = Terminal([asked.FLOWBACK, "query", BRANCHES], f"{self.folder}/cache")
        terminal.wait_for("flowback> ")
        return terminal

    def test_statements(self):
        terminal = self.start()
        terminal.type("SELECT 20 + 1\n")
        terminal.wait_for(r"\.\.\.> ")
        terminal.type("AS answer;\n")
        self.assertRegex(terminal.wait_for("┘"), r"│ +answer +│(.|\n)*│ +21 +│")
        terminal.wait_for("flowback> ")
        terminal.type("SELECT nosuch FROM calls;\n")
        terminal.wait_for("no such column: nosuch")
        terminal.wait_for("flowback> ")
        terminal.type("SELECT count(*) AS n FROM calls WHERE function = 'Deep';\n")
        terminal.wait_for(r"│ +346 +│")
        terminal.wait_for("flowback> ")
        terminal.type(".quit\n")
        self.assertEqual(terminal.end(), 0)

    def test_an_endless_statement_can_be_stopped(self):
        terminal = self.start()
        terminal.type("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n;\n")
        terminal.wait_for(r"FROM n;\r?\n")
        time.sleep(0.3)
        terminal.type("\x03")
        terminal.wait_for("interrupted")
        terminal.type("SELECT 6 AS n;\n")
        terminal.wait_for(r"│ +6 +│")
        terminal.type(".quit\n")
        self.assertEqual(terminal.end(), 0)

    def test_completion(self):
        terminal = self.start()
        terminal.type("SELECT count(self_instru\t) AS n FROM syscal\t;\n")
        terminal.wait_for("no such column: self_instructions")
        terminal.type("selec\t 5 AS n;\n")
        terminal.wait_for(r"│ +5 +│")
        terminal.wait_for("flowback> ")
        terminal.type("\x04")
        self.assertEqual(terminal.end(), 0)


unittest.main(argv=["prompt_test"])
