#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""command_test.py PROGRAM RECORDINGS: the words of `locks`, its exit statuses, and recordings without waits."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, RECORDINGS = sys.argv[1:]
TINY = f"{RECORDINGS}/tiny.data"
THREADS = f"{RECORDINGS}/changes.data"


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def locks(self, *words):
        return subprocess.run([FLOWBACK, "locks", "--cache-dir", f"{self.folder}/cache", *words], capture_output=True,
                              text=True, check=False)

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def assert_refused(self, words, status, says):
        done = self.locks(*words)
        self.assertEqual(done.returncode, status, done)
        self.assertIn(says, done.stderr)
        self.assertIn("\n  try: ", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_words(self):
        for share in ("much", "5 %x", "-1", "101", "%", "nan"):
            self.assert_refused([TINY, "--fail-over", share], 2, f"can't understand '{share}'")
        self.assert_refused([TINY, "--svg", "a", "--html", "b"], 2, "--svg excludes --html")
        self.assert_refused(["nothing.data"], 8, "No such file")

    def test_samples(self):
        shared = os.environ.get("FLOWBACK_SHARED") or f"{RECORDINGS}/../../../shared"
        folder = f"{shared}/traces/branch-stack/autofdo-hierdisc-haswell"
        sampled = f"{folder}/hierarchical_discriminator_test.x86_64.perf.data"
        if not os.path.exists(sampled):
            self.skipTest("no ../shared")
        self.assert_refused([sampled], 2, "these are samples")

    def test_a_program_that_waits_for_its_threads(self):
        """samples/changes.c makes a futex call of its own for each of them."""
        told = json.loads(self.locks(THREADS, "--json").stdout)
        self.assertEqual([(site["function"], site["caller"], site["waits"], site["trips"]) for site in told["sites"]],
                         [("Main", "Begin", 1, 0)])

    def test_nobody_waits_in_the_projects_own_recordings(self):
        for name in ("tiny", "tiny-stepped", "branches", "branches-stacks", "interruptions"):
            done = self.locks(f"{RECORDINGS}/{name}.data", "--json")
            self.assertEqual(done.returncode, 0, done)
            told = json.loads(done.stdout)
            self.assertEqual(told["schema"], "flowback.locks/1")
            self.assertEqual(told["waits"]["waits"], 0, name)
            self.assertTrue(told["sentences"][0].startswith("No thread waited for another one: "), told["sentences"])
        instructions = json.loads(self.locks(TINY, "--json").stdout)["threads"][0]["instructions"]
        self.assertEqual(instructions, 322)

    def test_fail_over(self):
        self.assertEqual(self.locks(THREADS, "--fail-over", "1%").returncode, 0)
        self.assertEqual(self.locks(THREADS, "--fail-over", "5").returncode, 0)

    def test_baseline(self):
        self.assert_refused([TINY, "--baseline", f"{self.folder}/nothing"], 8, "No such file")
        self.assert_refused([TINY, "--baseline", self.write("cut", '{"schema":"flowback.locks/1",')], 8, "cut or damaged")
        other = self.write("other", '{"schema":"flowback.locks/2","waits":{},"sites":[]}')
        self.assert_refused([TINY, "--baseline", other], 8, "another version")
        empty = self.write("empty", '{"schema":"flowback.locks/1","waits":[],"sites":7}')
        self.assert_refused([TINY, "--baseline", empty], 8, "no sums of waits")
        saved = self.locks(THREADS, "--json").stdout
        for baseline in (THREADS, self.write("saved", saved)):
            done = self.locks(THREADS, "--baseline", baseline, "--json")
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(json.loads(done.stdout)["changes"]["trend"], "same")
        odd = self.write("odd", '{"schema":"flowback.locks/1","has_times":true,"waits":{"life":"x","waiting":-5},'
                                '"sites":[7,{"function":3,"waits":1},{"function":"gone","waits":2}]}')
        told = self.locks(THREADS, "--baseline", odd)
        self.assertEqual(told.returncode, 0, told)
        self.assertIn("Gone: gone", told.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
