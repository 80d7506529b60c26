#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sides_test.py PROGRAM PROJECT COMPILER: how sides are named, and inputs that cannot be compared."""

import os
import re
import shutil
import struct

import compared
from compared import by_name


class Sides(compared.Comparing):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build("rounds.c", "rounds")
        cls.old = cls.record("old.data", cls.program, "x")
        cls.new = cls.record("new.data", cls.program, "x", "x")

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

    def test_standard_input_is_refused(self):
        for words in [("-", self.new), (self.old, "-"), (self.old, "/dev/stdin"), ("--old", "-", "--new", self.new),
                      ("--old", self.old, "--new", self.new, "-")]:
            done = self.flowback("diff", *words, status=2)
            self.assertIn("standard input", done.stderr)
            self.assertIn("\n  try: ", done.stderr)

    def test_a_side_without_the_file_of_its_code(self):
        parts = []
        for name, program in (("gone", self.build("rounds.c", "gone/rounds")), ("kept", self.program)):
            recording = self.record(f"{name}.data", program, "x")
            parts.append(f"{self.folder}/{name}.part")
            self.flowback("coverage", recording, "--save", parts[-1])
        for path in (f"{self.folder}/gone", f"{self.folder}/gone.data.images", f"{self.folder}/cache"):
            shutil.rmtree(path, ignore_errors=True)
        for sides, key, side in ((parts, "old_missing", "old"), (parts[::-1], "new_missing", "new")):
            told = self.diff(*sides)
            self.assertTrue(by_name(told)["Fixed"])
            for kind in ("function", "line"):
                self.assertEqual({each["fate"] for each in told[kind]}, {"not_known"})
            self.assertEqual([each["new"] for each in told["object"] if each[key]], ["rounds"])
            self.assertEqual(told["diff"][0]["unmatched_lines"], 0)
            text = self.flowback("diff", *sides).stdout.replace("\n  ", " ")
            self.assertIn(f"The file of rounds was not found for the {side} side", text)
            self.assertIn("No function and no branch direction is known to execute on one side only", text)
            self.assertNotIn("largest change", text)
            self.flowback("diff", *sides, "--strict", status=7)
        self.assertIn("for both sides", self.flowback("diff", parts[0], parts[0], "--strict", status=7).stdout)
        self.flowback("diff", parts[1], parts[1], "--strict")

    def test_code_that_the_old_side_did_not_execute(self):
        none = self.record("none.data", self.program)
        sentence = self.diff(none, self.new, "--function", "Round")["diff"][0]["sentence"]
        self.assertRegex(sentence, "new.data executes [0-9]+ instructions of the chosen code, and .*none.data executes none")
        self.assertNotIn("inf ", sentence)

    def test_ranges_have_only_lines_of_one_side(self):
        program = self.build("between.c", "between", "-O0")
        sides = [self.record(f"between-{count}.data", program, *["x"] * count) for count in (0, 1)]
        with open(f"{compared.PROGRAMS}/between.c", encoding="utf-8") as file:
            source = [line.strip() for line in file]
        line = {number: source.index(f"sink += {number};") + 1 for number in range(1, 7)}
        for words, title in ((sides, "newly executed lines"), (sides[::-1], "lines that no longer execute")):
            text = self.flowback("diff", *words).stdout
            table = text[text.index(title):].split("\n\n")[0]
            ranges = sorted(re.findall(r"between.c:([0-9-]+)", table))
            # The condition before `sink += 5` executes, and its line is the last one of the third range.
            expected = [f"{line[1]}", f"{line[2]}", f"{line[3]}-{line[5] - 1}", f"{line[6]}"]
            self.assertEqual(ranges, sorted(expected), table)

    def test_options_that_do_not_apply(self):
        for words in [("--time", "10%,20%"), ("--raw-pt", self.old)]:
            self.assertIn("does not apply", self.flowback("diff", self.old, self.new, *words, status=2).stderr)
        self.flowback("diff", self.old, self.new, "--tid", "1", status=2)

    def test_a_damaged_side_is_named(self):
        cut = f"{self.folder}/cut.data"
        with open(self.new, "rb") as file:
            content = file.read()
        begin, size = struct.unpack_from("<QQ", content, 40)  # the records, as the header of perf.data has them
        for kept, status in ((begin + 8, 8), (begin + size, 0)):  # without any trace; with all of it
            with open(cut, "wb") as file:
                file.write(content[:kept])
            done = self.flowback("diff", self.old, cut, status=status)
            self.assertIn("cut.data", done.stderr)
            self.assertEqual("Trace was lost of" in done.stdout, status == 0, done.stdout)

    def test_losses_of_a_side_are_said(self):
        recordings = f"{os.environ.get('FLOWBACK_SHARED') or f'{compared.PROJECT}/../shared'}/traces/generated"
        if not os.path.exists(recordings):
            self.skipTest("there are no shared recordings")
        sides = [f"{recordings}/{name}/perf.data" for name in ("vcalls", "vcalls-ovf")]
        done = self.flowback("diff", "--symfs", f"{recordings}/images", *sides)
        self.assertIn(f"Trace was lost of {sides[1]}", done.stdout.replace("\n  ", " "))
        self.assertIn("The threads lived", done.stdout)
        self.assertNotIn("Both sides execute the same", done.stdout)
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
