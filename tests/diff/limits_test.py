#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""limits_test.py PROGRAM PROJECT COMPILER: --fail-if, --junit and --sarif."""

import json
import os
import xml.etree.ElementTree

import compared
from compared import by_name


class Limits(compared.Comparing):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.old = cls.record("old.data", cls.build("planted.c", "old/planted"))
        cls.new = cls.record("new.data", cls.build("planted.c", "new/planted", "-DNEW"))

    def judged(self, *limits, status):
        """The command with limits."""
        words = [word for limit in limits for word in ("--fail-if", limit)]
        return self.flowback("diff", self.old, self.new, *words, status=status)

    def test_statuses(self):
        loop = by_name(self.diff(self.old, self.new))["Loop"]["instructions"]
        self.judged(f"instructions(Loop) > {loop['new']}", status=0)
        self.judged(f"instructions(Loop) >= {loop['new']}", status=1)
        self.judged(f"instructions(Loop) > +{loop['new'] - loop['old']}", status=0)
        self.judged(f"instructions(Loop) > +{loop['new'] - loop['old'] - 1}", status=1)
        ratio = loop["new"] / loop["old"]
        self.judged(f"instructions(Loop)>{ratio - 0.001:.6f}x", status=1)
        self.judged(f"instructions(Loop)>{ratio + 0.001:.6f}x", status=0)
        self.judged(f"instructions(Loop) > {100 * (ratio - 1) - 0.1:.3f}%", status=1)
        self.judged(f"instructions(Loop) > +{100 * (ratio - 1) + 0.1:.3f}%", status=0)
        self.judged("calls(Choose) > 2.4x", "self(Same) > 1x", status=1)
        self.judged("calls(Choose) > 2.5x", "self(Same) > 1x", status=0)
        self.judged("gone() > 0", status=1)
        self.judged("gone() > 1", "new() > 2", status=0)
        self.judged("new() > 1", status=1)
        self.judged("coverage(functions) < 100", "instructions() < 1x", status=0)
        self.judged("coverage(functions) > 99.9%", status=1)

    def test_what_cannot_be_held_fails(self):
        for limits in (["calls(Nothing) > 1x"], ["calls(Nothing) > 1x", "new() > 1"]):
            said = self.judged(*limits, status=2).stderr
            self.assertIn("names nothing: no function of that name executed on either side", said)
        for limit, says in [("time(Loop) > 1x", "emulat"),
                            ("instructions(/Loop|Same/) > 9x", "several functions")]:
            self.assertIn(says, self.judged(limit, status=1).stderr)

    def test_errors_name_the_place(self):
        for limit, place in [("", 1), ("speed(main) > 1", 1), ("calls main > 1", 7), ("calls(main > 1", 15),
                             ("calls(main) = 1", 13), ("calls(main) > x", 15), ("calls(main) > 1y", 16),
                             ("calls(main) > 1x 2", 18), ("coverage(colour) < 1", 10), ("gone(main) > 1", 6),
                             ("calls(main) > +1x", 17)]:
            done = self.judged(limit, status=2)
            self.assertIn(f"at character {place}", done.stderr, limit)
            self.assertIn("\n  try: ", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_junit(self):
        path = f"{self.folder}/limits.xml"
        self.flowback("diff", self.old, self.new, "--fail-if", "calls(Choose) > 1.5x", "--fail-if", "self(Same) > 1x",
                      "--junit", path, status=1)
        suite = xml.etree.ElementTree.parse(path).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))
        cases = {case.get("name"): case.find("failure") for case in suite.findall("testcase")}
        self.assertIsNone(cases["self(Same) > 1x"])
        self.assertIn("10 instead of 4", cases["calls(Choose) > 1.5x"].get("message"))
        self.flowback("diff", self.old, self.new, "--junit", f"{self.folder}/none.xml", status=2)

    def test_sarif(self):
        path = f"{self.folder}/limits.sarif"
        self.flowback("diff", self.old, self.new, "--fail-if", "self(Same) > 1x", "--fail-if", "calls(Choose) > 1.5x",
                      "--fail-if", "new() > 1", "--sarif", path, status=1)
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual((told["version"], len(told["runs"])), ("2.1.0", 1))
        run = told["runs"][0]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(rules, ["self(Same) > 1x", "calls(Choose) > 1.5x", "new() > 1"])
        choose, new = run["results"]
        for result in run["results"]:
            self.assertEqual((rules[result["ruleIndex"]], result["level"]), (result["ruleId"], "error"))
        self.assertIn("10 instead of 4", choose["message"]["text"])
        place = choose["locations"][0]["physicalLocation"]
        self.assertRegex(place["artifactLocation"]["uri"], r"^file:///.*/planted\.c$")
        with open(f"{self.folder}/new/planted.c", encoding="utf-8") as file:
            lines = file.read().splitlines()
        first = place["region"]["startLine"]  # of the function's code
        self.assertIn("Choose(", "".join(lines[first - 3:first]))
        self.assertEqual((new["ruleId"], "locations" in new), ("new() > 1", True))
        self.flowback("diff", self.old, self.new, "--sarif", f"{self.folder}/none.sarif", status=2)
        self.assertFalse(os.path.exists(f"{self.folder}/none.xml"))


compared.main("limits_test")
