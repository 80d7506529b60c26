#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""waits_test.py PROGRAM PROJECT COMPILER: --waits compares the waits that `locks` finds in each recording."""

import collections
import json

import compared


class Waits(compared.Comparing):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = cls.build("naps.c", "naps")
        cls.runs = {naps: cls.record(f"{naps}.data", program, *["x"] * naps) for naps in (1, 3, 4)}

    def by_names(self, told):
        return {(each["function"], each["caller"]): each for each in told.get("wait", [])}

    def test_planted_waits_are_found(self):
        told = self.diff(self.runs[1], self.runs[3], "--waits")
        waits = self.by_names(told)
        self.assertEqual({names: (each["fate"], each["waits"]["old"], each["waits"]["new"]) for names, each in waits.items()},
                         {("Nap", "Main"): ("both", 1, 3), ("LastNap", "Main"): ("newly_executed", 0, 1)})
        self.assertEqual((told["diff"][0]["waits"]["old"], told["diff"][0]["waits"]["new"]), (1, 4))
        text = self.flowback("diff", self.runs[3], self.runs[1], "--waits").stdout
        self.assertIn("Threads waited for each other once instead of 4.", text)
        table = text[text.index("waits of threads for each other"):].split("\n\n")[0]
        self.assertRegex(table, r"3 -> 1  Nap called in Main\n")
        self.assertRegex(table, r"1 -> 0  LastNap called in Main  \[gone\]")

    def test_they_are_those_of_locks(self):
        told = self.by_names(self.diff(self.runs[3], self.runs[4], "--waits"))
        for side, naps in (("old", 3), ("new", 4)):
            sums = collections.Counter()
            for site in json.loads(self.flowback("locks", self.runs[naps], "--json").stdout)["sites"]:
                sums[site["function"], site["caller"]] += site["waits"]
            self.assertEqual({names: each["waits"][side] for names, each in told.items()}, sums)

    def test_limits_on_waits(self):
        def judged(limit, status, old=1, new=3, waits=("--waits",)):
            return self.flowback("diff", self.runs[old], self.runs[new], *waits, "--fail-if", limit, status=status).stderr

        self.assertIn("waits(Nap) > 2.9x': 3 instead of 1 (3.0000x)", judged("waits(Nap) > 2.9x", 1))
        judged("waits(Nap) > 3x", 0)
        judged("waits(LastNap) > 0", 1)
        judged("waits(LastNap) > 1", 0)
        # A caller's waits include the waits of each function that it called.
        self.assertIn("4 instead of 1", judged("waits(Main) > 3", 1))
        self.assertIn("4 instead of 1", judged("waits() > +2", 1))
        judged("waits() > +3", 0)
        judged("waits() > 1x", 0, old=3, new=1)
        self.assertIn("names nothing", judged("waits(Sleep) > 1x", 2))
        self.assertIn("the emulator's", judged("waiting(Nap) > 1ms", 1))
        self.assertIn("needs --waits", judged("waits(Nap) > 1x", 2, waits=()))
        part = f"{self.folder}/limit.part"
        self.flowback("coverage", self.runs[1], "--save", part)
        said = self.flowback("diff", part, self.runs[3], "--waits", "--fail-if", "waits() > 1x", status=1).stderr
        self.assertIn("not of samples and part files", said)

    def test_a_function_that_never_waits(self):
        quiet = self.record("never.data", self.build("levels.c", "never"))
        name = next(each["function"] for each in self.diff(quiet, quiet)["function"] if each["function"])
        self.flowback("diff", quiet, quiet, "--waits", "--fail-if", f"waits({name}) > 0", status=0)

    def test_repeats_show_the_noise(self):
        runs = [self.runs[naps] for naps in (1, 3, 4)]
        told = self.by_names(self.diff("--old", *runs[:2], "--new", *runs[1:], "--waits"))
        self.assertEqual((told["Nap", "Main"]["fate"], told["Nap", "Main"]["waits"]["significant"]), ("both", False))
        self.assertEqual((told["LastNap", "Main"]["fate"], told["LastNap", "Main"]["in_all_runs"]), ("both", False))

    def test_without_waits(self):
        self.assertNotIn("wait", self.diff(self.runs[1], self.runs[3]))
        self.assertNotIn("waited", self.flowback("diff", self.runs[1], self.runs[3]).stdout)
        quiet = self.record("quiet.data", self.build("levels.c", "levels"))
        self.assertIn("No wait of a thread for another one was found on either side.",
                      self.flowback("diff", quiet, quiet, "--waits").stdout)
        part = f"{self.folder}/one.part"
        self.flowback("coverage", self.runs[1], "--save", part)
        self.assertIn("Waits are not compared", self.flowback("diff", part, self.runs[3], "--waits").stdout)
        self.assertFalse(self.diff(part, self.runs[3], "--waits")["diff"][0]["has_waits"])


compared.main("waits_test")
