#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""look_alikes_test.py FLOWBACK PROGRAM...: `flowback locks` reports no wait in loops that only look like it
(programs/look_alikes*.c), although another thread of the process sleeps meanwhile."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, PROGRAMS = sys.argv[1], sys.argv[2:]
# The program waits for the end of its other thread.
WAITS = "pthread_join"


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=100).stdout


class LookAlikes(unittest.TestCase):
    def test_no_wait(self):
        for program in PROGRAMS:
            with self.subTest(program), tempfile.TemporaryDirectory() as folder:
                recording = os.path.join(folder, "recording")
                run(FLOWBACK, "record", "--engine", "emulate", "-o", recording, program, "all")
                told = json.loads(run(FLOWBACK, "locks", recording, "--json", "--no-cache"))
                found = [(site["function"], site["place"], site["waits"]) for site in told["sites"]
                         if site["waits"] and WAITS not in (site["function"] or "")]
                self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
