#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""planted_test.py PROGRAM PROJECT COMPILER: differences that were planted into a program are those that `diff` shows."""

import collections
import json
import re
import shutil

import compared
from compared import by_name, run


def callgrind(program, folder):
    """The instructions that each function executed itself, and the calls of each, as valgrind counts them."""
    out = f"{folder}/callgrind.out"
    run(["valgrind", "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={out}", program], folder)
    symbols = {int(address, 16): name for address, _, name in
               (line.split() for line in run(["nm", program], folder).stdout.splitlines() if len(line.split()) == 3)}
    # Without a C library valgrind names functions by their addresses.
    name = lambda word: symbols.get(int(word, 16), word) if word.startswith("0x") else word
    own, calls = collections.Counter(), collections.Counter()
    with open(out, encoding="utf-8") as file:
        lines = file.read().splitlines()
    function, called, inclusive = None, None, False
    for line in lines:
        if line.startswith("fn="):
            function = name(line[3:])
        elif line.startswith("cfn="):
            called = name(line[4:])
        elif line.startswith("calls="):
            calls[called] += int(line[6:].split()[0])
            inclusive = True
        elif re.match(r"[0-9+*-]", line):
            if not inclusive:
                own[function] += int(line.split()[-1])
            inclusive = False
    return own, calls


class Planted(compared.Comparing):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.old_program = cls.build("planted.c", "old/planted")
        cls.new_program = cls.build("planted.c", "new/planted", "-DNEW")
        cls.old = cls.record("old.data", cls.old_program)
        cls.new = cls.record("new.data", cls.new_program)

    def test_a_recording_and_itself_do_not_differ(self):
        told = self.diff(self.old, self.old)
        self.assertEqual(set(told), {"diff", "object", "function"})
        self.assertEqual({each["fate"] for each in told["function"]}, {"both"})
        head = told["diff"][0]
        self.assertTrue(head["same_builds"])
        self.assertEqual(head["instructions"]["old"], head["instructions"]["new"])
        text = self.flowback("diff", self.old, self.old).stdout
        self.assertIn("as many instructions", text)
        self.assertIn("Both sides execute the same functions", text)

    def test_planted_changes_are_found(self):
        told = self.diff(self.old, self.new)
        functions = by_name(told)
        fates = {name: each["fate"] for name, each in functions.items()}
        self.assertEqual(fates, {"Added": "added", "Removed": "removed", "Loop": "both", "Choose": "both",
                                 "Seldom": "newly_executed", "Same": "both", "Work": "both", "_start": "both"})
        self.assertEqual(functions["Same"]["self_instructions"]["old"], functions["Same"]["self_instructions"]["new"])
        self.assertEqual((functions["Choose"]["calls"]["old"], functions["Choose"]["calls"]["new"]), (4, 10))
        self.assertIn(" Loop", told["diff"][0]["sentence"])
        # The branch of Choose: only the new run goes on to the line of 100.
        directions = [each for each in told["direction"] if each["function"] == "Choose"]
        self.assertEqual([each["fate"] for each in directions], ["newly_executed"])
        self.assertTrue(directions[0]["branch_reached"])
        self.assertEqual(directions[0]["times"]["new"], 4)  # 60, 70, 80 and 90
        with open(f"{compared.PROGRAMS}/planted.c", encoding="utf-8") as file:
            source = file.read().splitlines()
        self.assertEqual(source[directions[0]["line"] - 1].strip(), "if (value > 50)")
        lines = {source[each["line"] - 1].strip(): each for each in told["line"] if each["line"]}
        self.assertEqual(lines["sink += 100;"]["fate"], "newly_executed")
        self.assertEqual(lines["sink += 100;"]["times"]["new"], 4)
        self.assertEqual(lines["sink += i;"]["times"]["old"], 1000)
        self.assertEqual(lines["sink += i;"]["times"]["new"], 2000)
        text = self.flowback("diff", self.old, self.new).stdout
        for words in ["newly executed functions", "no longer execute", "new code", "Seldom", "not in the new code"]:
            self.assertIn(words, text)

    def test_numbers_are_those_of_callgrind(self):
        if shutil.which("valgrind") is None:
            self.skipTest("there is no valgrind")
        functions = by_name(self.diff(self.old, self.new))
        for side, program in (("old", self.old_program), ("new", self.new_program)):
            own, calls = callgrind(program, self.folder)
            for name in set(functions) - {"_start"}:  # valgrind does not count the last instructions
                self.assertEqual(functions[name]["self_instructions"][side], own[name], (side, name))
                self.assertEqual(functions[name]["calls"][side], calls[name], (side, name))

    def test_numbers_are_those_of_other_commands(self):
        functions = by_name(self.diff(self.old, self.new))
        for side, recording in (("old", self.old), ("new", self.new)):
            sql = "SELECT function, calls, self_instructions, instructions FROM functions"
            rows = json.loads(self.flowback("query", recording, sql, "--json").stdout)["rows"]
            self.assertGreaterEqual(len(rows), 6)
            for row in rows:
                if row["function"].endswith("(system call)"):
                    continue  # it has no code
                each = functions[row["function"]]
                found = [each[key][side] for key in ("calls", "self_instructions", "instructions")]
                self.assertEqual(found, [row["calls"], row["self_instructions"], row["instructions"]])
            counted = [json.loads(line) for line in
                       self.flowback("coverage", recording, "--json").stdout.splitlines()]
            for each in counted:
                if each["type"] == "function" and each["executed"] == "yes":
                    self.assertEqual(functions[each["function"]]["calls"][side], each["entries"], each)

    def test_parts_are_inputs(self):
        parts = [f"{self.folder}/{name}.part" for name in ("old", "new")]
        for recording, part in zip((self.old, self.new), parts):
            self.flowback("coverage", recording, "--save", part)
        whole, of_parts = self.diff(self.old, self.new), self.diff(*parts)
        self.assertFalse(of_parts["diff"][0]["has_calls"])
        for name, each in by_name(of_parts).items():
            for key in ("fate", "calls", "self_instructions"):
                self.assertEqual(each[key], by_name(whole)[name][key], name)
        self.assertEqual(of_parts["line"], whole["line"])
        self.assertEqual(of_parts["direction"], whole["direction"])

    def test_a_choice_of_code(self):
        told = self.diff(self.old, self.new, "--function", "Loop")
        self.assertEqual(set(by_name(told)), {"Loop"})
        self.assertEqual(told["diff"][0]["instructions"], told["function"][0]["self_instructions"])
        self.assertEqual(self.flowback("diff", self.old, self.new, "--function", "Nothing", status=2).stdout, "")


compared.main("planted_test")
