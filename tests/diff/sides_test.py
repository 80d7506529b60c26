#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sides_test.py PROGRAM PROJECT COMPILER: how sides are named, and inputs that cannot be compared."""

import os

import compared


class Sides(compared.Comparing):
    def setUp(self):
        super().setUp()
        program = self.build("rounds.c", "rounds")
        self.old = self.record("old.data", program, "x")
        self.new = self.record("new.data", program, "x", "x")

    def test_a_side_must_not_be_empty(self):
        for words in [[], [self.old], ["--old", self.old], ["--new", self.new]]:
            done = self.flowback("diff", *words, status=2)
            self.assertIn("\n  try: ", done.stderr)
        self.flowback("diff", self.old, self.new, self.new, status=2)

    def test_positions_and_options_add_up(self):
        told = self.diff(self.old, self.new, "--new", self.new)
        self.assertEqual((len(told["diff"][0]["old"]), len(told["diff"][0]["new"])), (1, 2))
        by_options = self.diff("--old", self.old, "--new", self.new)
        self.assertEqual(by_options, self.diff(self.old, self.new))

    def test_inputs_that_cannot_be_read(self):
        text = f"{self.folder}/text"
        with open(text, "w", encoding="utf-8") as file:
            file.write("no recording")
        for words in [(self.old, text), (text, self.new), (self.old, f"{self.folder}/none")]:
            self.assertEqual(self.flowback("diff", *words, status=8).stdout, "")

    def test_options_that_do_not_apply(self):
        for words in [("--time", "10%,20%"), ("--raw-pt", self.old)]:
            self.assertIn("does not apply", self.flowback("diff", self.old, self.new, *words, status=2).stderr)
        self.flowback("diff", self.old, self.new, "--tid", "1", status=2)

    def test_a_damaged_side_is_named(self):
        cut = f"{self.folder}/cut.data"
        with open(self.new, "rb") as file:
            content = file.read()
        with open(cut, "wb") as file:
            file.write(content[:len(content) // 2])
        done = self.flowback("diff", self.old, cut, status=None)
        self.assertIn(done.returncode, (0, 8))
        self.assertIn("cut.data", done.stderr)

    def test_losses_of_a_side_are_said(self):
        recordings = f"{os.environ.get('FLOWBACK_SHARED') or f'{compared.PROJECT}/../shared'}/traces/generated"
        if not os.path.exists(recordings):
            self.skipTest("there are no shared recordings")
        sides = [f"{recordings}/{name}/perf.data" for name in ("vcalls", "vcalls-ovf")]
        done = self.flowback("diff", "--symfs", f"{recordings}/images", *sides)
        self.assertIn(f"Trace was lost of {sides[1]}", done.stdout.replace("\n  ", " "))
        self.assertIn("The threads lived", done.stdout)
        head = self.diff("--symfs", f"{recordings}/images", *sides)["diff"][0]
        self.assertEqual([head[key] for key in ("old_lost", "new_lost", "has_times")], [False, True, True])

    def test_functions_without_names_have_addresses(self):
        program = self.build("rounds.c", "stripped", "-s")
        sides = [self.record(f"stripped{count}.data", program, *["x"] * count) for count in (1, 2)]
        rows = [each for each in self.diff(*sides)["function"] if each["object"] == "stripped"]
        nameless = [each["address"] for each in rows if each["function"] is None]
        self.assertGreater(len(nameless), 1)
        self.assertEqual(len(set(nameless)), len(nameless))
        text = self.flowback("diff", *sides).stdout
        self.assertIn("[stripped+0x", text)
        self.assertNotIn("without a symbol", text)

    def test_a_file(self):
        self.flowback("diff", self.old, self.new, "-o", f"{self.folder}/out.txt")
        self.assertGreater(os.path.getsize(f"{self.folder}/out.txt"), 0)
        # The output is none of the inputs.
        self.flowback("diff", self.old, self.new, "-o", self.old, status=2)
        self.flowback("diff", self.old, self.new, "-o", self.new, status=2)


compared.main("sides_test")
