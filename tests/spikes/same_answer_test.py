#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""same_answer_test.py FLOWBACK SHARED: `spikes` answers the same however its answer is found: by one thread or many,
whole or in small pieces, from caches and indexes that are new, kept or absent, after another command, and by either
engine. The recording is the shared latency-cyc, Intel PT with CYC packets, and the planted slow path is named."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
GENERATED = os.path.join(os.environ.get("FLOWBACK_SHARED") or sys.argv[2], "traces", "generated")
RECORDING = os.path.join(GENERATED, "latency-cyc", "perf.data")
SYMBOLS = ("--symfs", os.path.join(GENERATED, "images"))


class SameAnswer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_flowback(self, *words, cache="new"):
        environment = dict(os.environ, FLOWBACK_CACHE=os.path.join(self.folder, cache))
        return subprocess.run([FLOWBACK, words[0], RECORDING, *words[1:], *SYMBOLS], check=True, env=environment,
                              capture_output=True, text=True).stdout

    def answers(self, *words, **how):
        """Everything that the command prints or writes."""
        table = os.path.join(self.folder, "instances.csv")
        text = self.run_flowback("spikes", "handle", "--save-instances", table, *words, **how)
        with open(table, encoding="utf-8") as file:
            return text, self.json(*words, **how), file.read()

    def json(self, *words, **how):
        return self.run_flowback("spikes", "handle", "--json", *words, **how)

    def test_serial_and_in_pieces(self):
        first = self.answers("--threads", "1", "--no-cache")
        for words in (["--threads", "2"], ["--threads", "4", "--window", "1"], ["--threads", "3", "--window", "2"],
                      ["--threads", "1", "--no-index"]):
            self.assertEqual(self.answers(*words, "--no-cache"), first, words)

    def test_caches(self):
        first = self.answers("--no-cache")
        for before in ((), ("timeline",), ("decode", "--as", "summary"), ("spikes", "handle", "--by", "kernel")):
            cache = "-".join(before) or "none"
            if before:
                self.run_flowback(*before, cache=cache)
            for time in ("new", "kept"):
                self.assertEqual(self.answers(cache=cache), first, f"{time} after {before}")

    def test_planted_path(self):
        answer = json.loads(self.json("--no-cache"))
        self.assertEqual(answer["by"], "time")
        self.assertIn("called slow_path(unsigned int)", answer["causes"][0]["words"])
        self.assertIn("latency.cpp:12", answer["causes"][0]["words"])
        self.assertEqual((answer["causes"][0]["slow_with"], answer["causes"][0]["normal_with"]), (3, 0))

    def test_engines(self):
        """Each engine estimates the times between two packets in its own way."""
        ours, theirs = (json.loads(self.json("--no-cache", "--engine", engine)) for engine in ("native", "libipt"))
        for key in ("instances", "slow", "normal"):
            self.assertEqual(ours[key], theirs[key])
        self.assertEqual(sorted(outlier["instance"] for outlier in ours["outliers"]),
                         sorted(outlier["instance"] for outlier in theirs["outliers"]))
        for first, second in zip(ours["causes"], theirs["causes"], strict=True):
            self.assertAlmostEqual(first.pop("share"), second.pop("share"), delta=0.02)
            self.assertAlmostEqual(first.pop("extra"), second.pop("extra"), delta=0.02 * ours["extra"])
            self.assertEqual(first, second)

    def test_engines_by_instructions(self):
        answers = [json.loads(self.json("--by", "instructions", "--no-cache", "--engine", engine))
                   for engine in ("native", "libipt")]
        for answer in answers:
            for outlier in answer["outliers"]:
                for key in [key for key in outlier if key.startswith(("begin", "end", "time", "cycles"))]:
                    del outlier[key]
        self.assertEqual(*answers)


if __name__ == "__main__":
    if not os.path.exists(RECORDING):
        print(f"skipped: {RECORDING} is not there")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
