#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bad_input_test.py PROGRAM RECORDINGS: what `spikes` says where there is nothing to compare."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, RECORDINGS = sys.argv[1:]
TINY = f"{RECORDINGS}/tiny.data"


def spikes(*words):
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run([FLOWBACK, "spikes", "--cache-dir", cache, *words], capture_output=True, text=True,
                              check=False)


class BadInput(unittest.TestCase):
    def assert_refused(self, words, status, says):
        done = spikes(*words)
        self.assertEqual(done.returncode, status, done)
        self.assertIn(says, done.stderr)
        self.assertIn("\n  try: ", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_words(self):
        self.assert_refused([TINY], 2, "which calls are to be compared?")
        self.assert_refused([TINY, "Main", "--auto"], 2, "exclude each other")
        self.assert_refused([TINY, "/(/"], 2, "no regular expression")
        self.assert_refused([TINY, "Main", "--over", "fast"], 2, "can't understand 'fast'")
        self.assert_refused([TINY, "Main", "--min-duration", "p99"], 2, "can't understand 'p99'")
        self.assert_refused([TINY, "--start", "tiny.c:0", "--stop", "Main"], 2, "can't understand 'tiny.c:0'")
        self.assert_refused([TINY, "--start", "Main"], 2, "--stop")
        self.assert_refused(["nothing.data", "Main"], 8, "No such file")

    def test_samples(self):
        shared = os.environ.get("FLOWBACK_SHARED") or f"{RECORDINGS}/../../../shared"
        folder = f"{shared}/traces/branch-stack/autofdo-hierdisc-haswell"
        sampled = f"{folder}/hierarchical_discriminator_test.x86_64.perf.data"
        if not os.path.exists(sampled):
            self.skipTest("no ../shared")
        self.assert_refused([sampled, "main"], 2, "these are samples")

    def test_branch_stacks_without_gaps_are_whole_flow(self):
        done = spikes(f"{RECORDINGS}/branches-stacks.data", "Leaf", "--json")
        self.assertEqual(done.returncode, 0, done)
        same = spikes(f"{RECORDINGS}/branches.data", "Leaf", "--json")
        ours, theirs = json.loads(done.stdout), json.loads(same.stdout)
        self.assertGreater(ours["instances"]["whole"], 16)
        for key in ("instances", "distribution", "slow", "by"):
            self.assertEqual(ours[key], theirs[key], key)

    def test_no_loop(self):
        self.assert_refused([TINY, "--auto"], 2, "no function is called again and again")

    def test_no_such_function(self):
        self.assert_refused([TINY, "main"], 2, "no such function was called (did you mean 'Main'?)")

    def test_no_such_function_where_files_are_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/program"
            shutil.copy("/bin/true", program)
            recorded = subprocess.run([FLOWBACK, "record", "-q", "--engine", "step", "-o", f"{folder}/x.data", "--", program],
                                      capture_output=True, text=True, check=False)
            if recorded.returncode != 0:
                self.skipTest(recorded.stderr)
            os.remove(program)
            shutil.rmtree(f"{folder}/x.data.images")
            self.assert_refused([f"{folder}/x.data", "Main"], 2, "no such function was called in the files that were found")

    def test_the_limit_is_told_as_it_was_asked_for(self):
        branches = f"{RECORDINGS}/branches.data"
        for limit, words in ("0.5x", "more than 0.5 x the median (5 instructions): 5"), ("2", "more than 2 instructions: 5"):
            said = spikes(branches, "Leaf", "--over", limit).stdout.replace("\n  ", " ")
            self.assertIn(f"127 of 127 calls of Leaf executed {words}", said)
        for limit in "7x", "1e300x":
            said = spikes(branches, "Leaf", "--over", limit).stdout.replace("\n  ", " ")
            self.assertIn(f"None of 127 calls of Leaf lies above {limit.replace('1e300', '1e+300')[:-1]} x the median", said)

    def test_a_function_that_never_returns(self):
        done = spikes(TINY, "Main")
        self.assertIn("There is no whole call of Main to compare. It did not return before the trace ended", done.stdout.replace("\n  ", " "))
        self.assertIn("Not compared: 1 cut by its end.", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_one_word_that_is_no_file_is_the_function(self):
        done = subprocess.run([FLOWBACK, "spikes", "Main"], capture_output=True, text=True, check=False, cwd="/")
        self.assertEqual(done.returncode, 8, done)
        self.assertIn("perf.data", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
