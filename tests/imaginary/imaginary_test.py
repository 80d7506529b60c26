#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""imaginary_test.py PROGRAM FLOWBACK RECORDINGS: a command that consists of new files and rows of tables does all that
a command does. It counts the same as the listing of branches."""

import json
import os
import subprocess
import sys
import unittest

PROGRAM, FLOWBACK, RECORDINGS = sys.argv[1:4]
RECORDING = os.path.join(RECORDINGS, "branches.data")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


class Imaginary(unittest.TestCase):
    def test_counts_what_the_listing_shows(self):
        listed = run(FLOWBACK, "decode", "--as", "branches", "--json", RECORDING)
        back = ahead = 0
        for line in listed.stdout.splitlines():
            branch = json.loads(line)
            # Where tracing begins or ends one of the addresses is not known.
            if "0" in (branch.get("from", "0"), branch.get("to", "0")):
                continue
            if int(branch["to"], 16) <= int(branch["from"], 16):
                back += 1
            else:
                ahead += 1
        self.assertGreater(back, 100)
        told = json.loads(run(PROGRAM, "turns", "--format", "json", RECORDING).stdout)
        self.assertEqual((told["back"], told["ahead"]), (back, ahead))
        text = run(PROGRAM, "turns", RECORDING).stdout
        self.assertIn(f"turned back {back} times and went ahead {ahead} times", text)

    def test_has_what_every_command_has(self):
        self.assertIn("turns", run(PROGRAM, "help").stdout)
        self.assertIn("--symfs", run(PROGRAM, "help", "turns").stdout)
        wrong = run(PROGRAM, "turns", "--format", "xml", RECORDING)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("no format 'xml'", wrong.stderr)
        self.assertEqual(run(PROGRAM, "turns", os.devnull).returncode, 8)

    def test_other_commands_are_as_they_were(self):
        for words in (["decode", "--as", "digest"], ["coverage", "--format", "lcov"], ["export", "--to", "bolt"]):
            ours, theirs = run(PROGRAM, *words, RECORDING), run(FLOWBACK, *words, RECORDING)
            self.assertEqual((ours.returncode, ours.stdout), (theirs.returncode, theirs.stdout), words)
            self.assertNotEqual(ours.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
