#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""noise_test.py PROGRAM PROJECT COMPILER: repeats of a run tell changes from noise."""

import compared
from compared import by_name


class Noise(compared.Comparing):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = cls.build("rounds.c", "rounds")
        cls.runs = {count: cls.record(f"{count}.data", program, *["x"] * count)
                    for count in (10, 11, 12, 13, 20, 21, 22)}

    def of(self, old, new, *words, status=0):
        """The first sentence and the table of `diff` for those runs."""
        sides = [self.runs[each] for each in old], [self.runs[each] for each in new]
        return self.diff("--old", *sides[0], "--new", *sides[1], *words, status=status)

    def test_ranges_that_overlap_are_noise(self):
        told = self.of([10, 11, 12], [11, 12, 13], "--fail-if", "calls(Round) > 1.01x")
        rounds = by_name(told)["Round"]
        self.assertFalse(rounds["calls"]["significant"])
        self.assertEqual([rounds["calls"][key] for key in ("old", "old_least", "old_most", "new", "new_least", "new_most")],
                         [11, 10, 12, 12, 11, 13])
        self.assertTrue(told["limit"][0]["noise"])
        self.assertFalse(told["diff"][0]["instructions"]["significant"])
        self.assertIn("within the noise", told["diff"][0]["sentence"])

    def test_ranges_apart_are_a_change(self):
        told = self.of([10, 11, 12], [20, 21, 22], "--fail-if", "calls(Round) > 1.5x", status=1)
        functions = by_name(told)
        self.assertTrue(functions["Round"]["calls"]["significant"])
        self.assertFalse(functions["Fixed"]["self_instructions"]["significant"])
        self.assertIn("Round", told["diff"][0]["sentence"])

    def test_ranges_apart_by_less_than_three_deviations_are_noise(self):
        told = self.of([10, 11, 12], [13, 20, 22])
        self.assertFalse(by_name(told)["Round"]["calls"]["significant"])

    def test_single_runs_differ_exactly(self):
        self.assertTrue(by_name(self.of([10], [11]))["Round"]["calls"]["significant"])


compared.main("noise_test")
