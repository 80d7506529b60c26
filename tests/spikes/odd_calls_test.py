#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""odd_calls_test.py FLOWBACK PROGRAM: what `spikes` says of calls that are hard to compare. PROGRAM is odd_calls."""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "odd_calls.cc")
LINES = {}
with open(SOURCE, encoding="utf-8") as file:
    for number, line in enumerate(file, 1):
        if "// MERGED: " in line:
            LINES[line.split()[-1]] = number


class OddCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.recorded = {}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def recording(self, mode, *words):
        path = os.path.join(self.folder.name, mode + ".data")
        if mode not in self.recorded:
            subprocess.run([FLOWBACK, "record", "-q", "-o", path, "--", PROGRAM, mode, *words], check=True, timeout=60)
            self.recorded[mode] = path
        return path

    def refuses(self, mode, *words):
        done = subprocess.run([FLOWBACK, "spikes", self.recording(mode), *words, "--no-cache"], capture_output=True,
                              text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr

    def run_flowback(self, *words):
        done = subprocess.run([FLOWBACK, *words, "--no-cache"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def says(self, mode, *words):
        done = self.run_flowback("spikes", self.recording(mode), *words)
        self.assertNotIn("#", done.stdout)
        return " ".join(done.stdout.split()), done.stderr

    def json(self, mode, *words):
        return json.loads(self.run_flowback("spikes", self.recording(mode), *words, "--json").stdout)

    def instructions_of_calls(self, mode, function):
        listed = self.run_flowback("decode", self.recording(mode), "--as", "calls").stdout
        return [int(count) for count in re.findall(rf"<- {function}\(.*?\) (?:\(.*?\) )?(\d+) instructions", listed)]

    def instances(self, mode, function):
        table = os.path.join(self.folder.name, "instances.csv")
        self.run_flowback("spikes", self.recording(mode), function, "--save-instances", table)
        with open(table, encoding="utf-8") as file:
            names, *rows = (line.strip().split(",") for line in file)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def test_one_instance(self):
        said, problems = self.says("plain", "odd::once")
        self.assertRegex(said, r"There is only one whole call of odd::once \([\d,]+ instructions\): nothing to compare it with\.")
        self.assertEqual(problems, "")

    def test_scope_left_out(self):
        problems = self.refuses("plain", "once")
        self.assertIn("no such function was called (did you mean 'odd::once'?)", problems)

    def test_all_equal(self):
        said, _ = self.says("plain", "equal")
        self.assertRegex(said, r"None of 50 calls of equal stands out: all executed [\d,]+ instructions\.")

    def test_never_returns(self):
        said, _ = self.says("plain", "event_loop")
        self.assertIn("There is no whole call of event_loop to compare. It did not return before the trace ended", said)
        self.assertIn("Not compared: 1 cut by its end.", said)

    def test_inlined_everywhere(self):
        """The answer names the caller and the lines, and these work."""
        problems = self.refuses("plain", "merged")
        self.assertIn("merged: no instruction calls it: the compiler put its code into caller(unsigned int)", problems)
        self.assertIn("plain.data 'caller(unsigned int)'`", problems)
        places = re.search(r"(--start) (odd_calls.cc:(\d+)) (--stop) (odd_calls.cc:(\d+))", problems)
        self.assertEqual((int(places[3]), int(places[6])), (LINES["begins"], LINES["ends"]))
        for words in (["caller(unsigned int)"], [places[1], places[2], places[4], places[5]]):
            answer = self.json("plain", *words)
            self.assertEqual((answer["instances"]["whole"], answer["slow"]), (60, 3), words)

    def test_places_that_never_meet(self):
        problems = self.refuses("plain", "--start", "opens", "--stop", "closes")
        self.assertIn("opens to closes: the flow came to the first place, but never to the second", problems)
        problems = self.refuses("plain", "--start", "deep", "--stop", "closes")
        self.assertIn("the flow never came from the one to the other", problems)

    def test_deep_recursion(self):
        """One instance each, however deep, and in bounded memory."""
        self.recording("recursion", "10", "100000", "12", "9", "11")
        answer = self.json("recursion", "deep")
        self.assertEqual(answer["instances"]["whole"], 5)
        self.assertEqual(answer["slow"], 1)
        self.assertEqual(answer["outliers"][0]["instance"], 1)
        # The innermost call has five instructions, each other one eighteen: as the listing counts the shallow ones.
        listed = self.instructions_of_calls("recursion", "deep")
        outermost = [int(row["instructions"]) for row in self.instances("recursion", "deep")]
        self.assertLessEqual(set(outermost), set(listed))
        each = (outermost[2] - outermost[0]) // 2
        self.assertEqual(outermost[1], outermost[0] + (100000 - 10) * each)
        self.assertAlmostEqual(answer["causes"][0]["slow_count"], 100000)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 300 << 10)

    def test_other_stacks_are_not_the_calls_own(self):
        """A generator on a stack of its own works for each call: as in the listing of calls, that is not the call's."""
        listed = self.instructions_of_calls("borrowing", "borrow")
        found = [int(row["instructions"]) for row in self.instances("borrowing", "borrow")]
        self.assertEqual(len(found), 100)
        self.assertEqual(found, listed)
        answer = self.json("borrowing", "borrow")
        self.assertEqual(answer["slow"], 4)
        self.assertIn("called spend(unsigned int) (borrow(unsigned int)+", answer["causes"][0]["words"])

    def test_an_instance_is_exported_with_what_ran_on_another_stack(self):
        recording = self.recording("borrowing")
        environment = dict(os.environ, FLOWBACK_CACHE=os.path.join(self.folder.name, "cache"))
        run = [[FLOWBACK, "spikes", recording, "borrow", "-o", "/dev/null"],
               [FLOWBACK, "export", recording, "--to", "brstack", "--instance", "1"],
               [FLOWBACK, "stack", recording, "--at", "spike:1"]]
        told = [subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout for words in run]
        entry = int(re.search(r"^#0 +0x([0-9a-f]+) in borrow\(", told[2], re.M)[1], 16)
        caller = int(re.search(r"^#1 +0x([0-9a-f]+) in ", told[2], re.M)[1], 16)
        stacks = re.findall(r"^ +[0-9a-f]+ +(0x.*)$", told[1], re.M)
        newest, oldest = stacks[-1].split()[0], stacks[0].split()[-1]
        self.assertEqual(int(newest.split("/")[1], 16), caller, "the last branch returns")
        self.assertLess(int(oldest.split("/")[0], 16) - entry, 200, "the first one is in the call's beginning")

    def test_calls_that_wait_on_their_stacks(self):
        """One is open at a time; those that begin meanwhile are counted."""
        listed = self.instructions_of_calls("serving", "serve")
        found = [int(row["instructions"]) for row in self.instances("serving", "serve")]
        self.assertEqual(len(listed), 80)
        answer = self.json("serving", "serve")
        self.assertEqual(answer["instances"]["whole"] + answer["instances"]["overlapping"], 80)
        self.assertEqual(found, listed[::2])
        self.assertIn("40 begun while another one waited on its own stack", " ".join(answer["sentences"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
