#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""counted_test.py FLOWBACK PROGRAM...: what the threads of `contended` count themselves is true: their loops went round
as often as `flowback branches` counts, and every lock makes its threads wait."""

import sys
import tempfile
import unittest

import truth

FLOWBACK, *PROGRAMS = sys.argv[1:]


class Counted(unittest.TestCase):
    def judge(self, family, threads):
        for program in PROGRAMS:
            with tempfile.TemporaryDirectory() as folder:
                recorded = truth.Run(FLOWBACK, folder, [program, family, str(threads), "6"])
                branches = recorded.branches()
            for (lock, function), lines in recorded.functions().items():
                if not function.startswith(("await_a", "await_taken", "unlock_")) and lines[0]["knows_waits"]:
                    self.assertGreater(sum(line["waits"] for line in lines), 0, (program, lock))
            for function in truth.LOOPS:
                lines = recorded.of(function)
                trips, waits = (sum(line[key] for line in lines) for key in ("trips", "waits"))
                # Where the compiler put the first check ahead of the loop, its failure is no round.
                self.assertIn(branches.backward(function), (trips, trips - waits), (program, function))

    def test_spinning(self):
        self.judge("spinning", 2)

    def test_queues(self):
        self.judge("queues", 2)

    def test_sleeping(self):
        for family in ("posix", "others", "standard"):
            self.judge(family, 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
