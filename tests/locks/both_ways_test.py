#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""both_ways_test.py FLOWBACK BOTH_WAYS FOLDER: waits are the same whether all of a recording is played or parts are
passed over, of programs that fight for locks, of loops that only look like waits, and of a program that never waits."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, BOTH_WAYS, PROGRAMS = sys.argv[1:4]
RUNS = [(("optimised/contended", family, "2", "4"), ()) for family in ("spinning", "posix", "standard")]
RUNS += [(("optimised/contended", "posix", "2", "4"), ("--locks",)), (("loops_gcc_O2/look_alikes", "all"), ())]
RUNS += [(("tails",), ())]
GZIP = "/usr/bin/gzip"


class BothWays(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def passed_over(self, words, options=()):
        """Returns how many parts were passed over of a recording of the program."""
        recording = os.path.join(self.folder.name, "recording")
        subprocess.run((FLOWBACK, "record", "-q", "--engine", "emulate", *options, "-o", recording, "--", *words),
                       check=True, stdout=subprocess.DEVNULL, timeout=100)
        compared = subprocess.run((BOTH_WAYS, recording), capture_output=True, text=True, timeout=100)
        self.assertEqual(compared.returncode, 0, compared.stderr[-4000:])
        return sum(int(count) for count in re.findall(r": (\d+) parts of", compared.stdout))

    def test_programs_with_locks(self):
        passed = 0
        for words, options in RUNS:
            with self.subTest(words=words, options=options):
                passed += self.passed_over((os.path.join(PROGRAMS, words[0]), *words[1:]), options)
        self.assertGreater(passed, 0)

    def test_a_program_that_never_waits(self):
        """What calls locks' functions at its end alone is played in a few parts."""
        if not os.path.exists(GZIP):
            self.skipTest("gzip is not installed")
        text = os.path.join(self.folder.name, "text")
        with open(FLOWBACK, "rb") as program, open(text, "wb") as file:
            file.write(program.read(1 << 20))
        self.assertGreater(self.passed_over((GZIP, "-c", text), ()), 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
