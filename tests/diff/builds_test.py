#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""builds_test.py PROGRAM PROJECT COMPILER: code is found again in another build."""

import os

import compared
from compared import by_name


class Builds(compared.Comparing):
    def setUp(self):
        self.take_folder(self.addCleanup)  # tests change the sources

    def test_levels_of_optimisation(self):
        slow = self.record("slow.data", self.build("levels.c", "slow", "-O0"))
        fast = self.record("fast.data", self.build("levels.c", "fast", "-O2"))
        told = self.diff(slow, fast)
        functions = by_name(told)
        self.assertEqual(functions["Sum"]["fate"], "both")
        self.assertEqual(functions["Sum"]["calls"]["old"], 50)
        self.assertEqual(functions["Sum"]["calls"]["new"], 50)
        self.assertEqual(functions["Small"]["fate"], "inlined")
        self.assertLess(told["diff"][0]["instructions"]["new"], told["diff"][0]["instructions"]["old"])
        # The two programs have other names and are compared all the same.
        self.assertEqual([(each["old"], each["new"]) for each in told["object"] if each["executed"]], [("slow", "fast")])
        self.assertIn("fast is compared with slow", self.flowback("diff", slow, fast).stdout)
        # Both decide the same, whichever way the compiler lays the branches.
        gone = [each for each in told.get("direction", []) if each["function"] == "Sum"]
        self.assertEqual(gone, [])

    def moved(self, in_place):
        """The lines that changed where a comment and a function were put before everything."""
        old = self.record("old.data", self.build("levels.c", "a/levels"))
        folder = "a" if in_place else "b"
        os.makedirs(f"{self.folder}/{folder}", exist_ok=True)
        source = f"{self.folder}/{folder}/levels.c"
        with open(f"{compared.PROGRAMS}/levels.c", encoding="utf-8") as file:
            text = file.read().replace("i < 50", "i < 60")
        with open(source, "w", encoding="utf-8") as file:
            file.write("// One line more.\n\n\nint unused;\n" + text)
        new = self.record("new.data", self.build("levels.c", f"{folder}/levels"))
        told = self.diff(old, new)
        self.assertEqual({each["fate"] for each in told["function"]}, {"both"})
        changed = [each for each in told["line"] if each["line"] and each["old_line"]]
        self.assertGreaterEqual(len(changed), 5)
        for each in changed:
            self.assertEqual(each["line"], each["old_line"] + 4, each)
        return told

    def test_moved_lines_are_found_by_their_text(self):
        told = self.moved(False)
        # The line that was edited is another one.
        edited = [each for each in told["line"] if each["line"] is None or each["old_line"] is None]
        self.assertEqual({each["fate"] for each in edited}, {"added", "removed"})

    def test_an_edit_in_place_moves_lines_with_their_function(self):
        told = self.moved(True)
        self.assertEqual([each for each in told["line"] if each["fate"] != "both"], [])


compared.main("builds_test")
