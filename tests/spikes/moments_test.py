#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""moments_test.py FLOWBACK SERVER: commands that go to an instance of the last `spikes` of a recording."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK, SERVER = sys.argv[1:3]


class Moments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.environment = dict(os.environ, FLOWBACK_CACHE=os.path.join(cls.folder.name, "cache"))
        cls.recording = os.path.join(cls.folder.name, "r.data")
        cls.record(cls.recording, "5")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def record(cls, recording, seed):
        cls.run_command("record", "-q", "-o", recording, "--", SERVER, "--cause", "rare-branch", "--requests", "300",
                        "--every", "20", "--threads", "3", "--seed", seed, "--truth", os.path.join(cls.folder.name, "t"))

    @classmethod
    def run_command(cls, *words):
        return subprocess.run([FLOWBACK, *words], check=True, capture_output=True, text=True, env=cls.environment).stdout

    def spikes(self, *words):
        return json.loads(self.run_command("spikes", self.recording, "--json", *words))

    def timeline(self, *words):
        lines = self.run_command("timeline", self.recording, "--json", *words).splitlines()
        return [json.loads(line) for line in lines]

    def stack(self, *words):
        return [json.loads(line) for line in self.run_command("stack", self.recording, "--json", *words).splitlines()]

    def refused(self, *words):
        done = subprocess.run([FLOWBACK, *words], capture_output=True, text=True, env=self.environment, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        return done.stderr

    def test_the_slowest_ones(self):
        outliers = self.spikes("handle")["outliers"]
        self.assertGreater(len({outlier["thread"] for outlier in outliers}), 1)
        for number, outlier in enumerate(outliers, 1):
            head, *lines = self.timeline("--at", f"spike:{number}", "--around", "3")
            self.assertEqual((head["spike"], head["spikes"], head["region"]), (number, 15, "handle"))
            self.assertEqual(head["instructions"], outlier["instructions"])
            (here,) = (line for line in lines if line["here"])
            self.assertEqual((here["tid"], here["number"]), (outlier["thread"], outlier["first_instruction"]))
            self.assertEqual((here["sym"].split("(")[0], here["symoff"]), ("handle", 0))
            self.assertEqual([line["number"] - here["number"] for line in lines], list(range(-3, 3)))
            _, stack = self.stack("--at", f"spike:{number}")
            self.assertEqual((stack["tid"], stack["instructions"]), (outlier["thread"], outlier["first_instruction"]))
            frame = stack["frames"][0]
            self.assertEqual((frame["function"].split("(")[0], frame["offset"]), ("handle", 0))

    def test_threads(self):
        outlier = self.spikes("handle")["outliers"][0]
        threads = [line["tid"] for line in self.stack("--all", "--at", "end")[1:]]
        own = str(outlier["thread"])
        self.assertEqual(len(self.stack("--at", "spike:1", "--thread", own)), 2)
        everyone = self.stack("--at", "spike:1", "--all")[1:]
        self.assertEqual([line["tid"] for line in everyone], threads)
        other = str(next(tid for tid in threads if tid != outlier["thread"]))
        for command in ("stack", "timeline"):
            told = self.refused(command, self.recording, "--at", "spike:1", "--thread", other)
            self.assertIn(f"the instance is thread {own}'s", told)

    def test_a_short_one_is_shown_whole(self):
        number, short = 2, self.spikes("spiky::nest*", "--over", "p50")["outliers"][1]
        self.assertLess(short["instructions"], 1000)
        lines = self.timeline("--at", f"spike:{number}", "--around", "2")[1:]
        first = short["first_instruction"]
        self.assertEqual([line["number"] for line in lines],
                         list(range(first - 2, first + short["instructions"] + 2)))

    def test_the_text_says_so(self):
        told = self.run_command("spikes", self.recording, "handle")
        self.assertTrue(told.endswith(f"`flowback stack {self.recording} --at spike:1` its callers.\n"), told[-300:])
        head = self.run_command("timeline", self.recording, "--at", "spike:3", "--around", "1")
        self.assertIn("# spike 3 of 15, an instance of handle: ", head)

    def test_however_the_recording_is_spelled(self):
        self.spikes("handle")
        folder = self.folder.name
        for spelled in ("r.data", "./r.data", os.path.join("..", os.path.basename(folder), "r.data")):
            done = subprocess.run([FLOWBACK, "stack", spelled, "--at", "spike:1"], capture_output=True, text=True,
                                  env=self.environment, cwd=folder, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_numbers_that_are_none(self):
        self.spikes("handle")
        for command in ("timeline", "stack"):
            for word in ("spike:0", "spike:x", "spike:", "spike:-1", "spike:99999999999999999999"):
                told = self.refused(command, self.recording, "--at", word)
                self.assertIn(f"--at: can't understand '{word}'", told)
            told = self.refused(command, self.recording, "--at", "spike:16")
            self.assertIn("found 15 slow instances of handle", told)
            self.assertIn("a number from 1 to 15", told)

    def test_no_slow_one(self):
        self.spikes("handle", "--over", "100s", "--by", "time")
        self.assertIn("found no slow instance of handle", self.refused("stack", self.recording, "--at", "spike:1"))

    def test_without_the_cache(self):
        self.spikes("handle")
        for words in (["--no-cache"], ["--no-index"], ["--engine", "libipt"]):
            told = self.refused("timeline", self.recording, "--at", "spike:1", *words)
            self.assertIn(f"{' '.join(words)} leaves it out", told)

    def test_nobody_has_asked(self):
        copy = os.path.join(self.folder.name, "copy.data")
        shutil.copy(self.recording, copy)
        for command in ("timeline", "stack"):
            told = self.refused(command, copy, "--at", "spike:1")
            self.assertIn("flowback spikes RECORDING FUNC", told)

    def test_the_recording_has_changed(self):
        changing = os.path.join(self.folder.name, "changing.data")
        self.record(changing, "5")
        self.run_command("spikes", changing, "handle")
        self.run_command("stack", changing, "--at", "spike:1")
        self.record(changing, "6")
        self.assertIn("have changed since", self.refused("stack", changing, "--at", "spike:1"))

    def test_a_damaged_list(self):
        self.spikes("handle")
        cache = self.environment["FLOWBACK_CACHE"]
        paths = [os.path.join(cache, name) for name in os.listdir(cache) if name.startswith("last-spikes-")]
        for path in paths:
            with open(path, "r+b") as file:
                file.seek(70)
                file.write(b"?!")
        self.assertIn("the cache has no spikes of it", self.refused("stack", self.recording, "--at", "spike:1"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
