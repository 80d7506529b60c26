#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""written_files_test.py FLOWBACK RECORDINGS: no command overwrites a file that it reads, or writes one file twice.

The status is 2, before anything is read. The files stay as they were."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
RECORDINGS = sys.argv[2]

DIFF = "diff a.part b.part --fail-if new()>9"
# Words behind `flowback`, and the file that they would destroy.
DESTROYING = [
    ("diff a.part b.part -o a.part", "a.part"),
    ("diff a.part b.part -o b.part", "b.part"),
    ("diff a.part b.part -o b.hard", "b.part"),
    ("diff a.part b.part -o ./b.soft", "b.part"),
    ("diff a.part branches.data -o branches.data --force", "branches.data"),
    ("diff a.part b.part --new more.part -o more.part", "more.part"),
    ("diff --old a.part more.part --new b.part -o more.part", "more.part"),
    (f"{DIFF} --junit a.part", "a.part"),
    (f"{DIFF} --junit b.hard", "b.part"),
    (f"{DIFF} --new more.part --junit more.part", "more.part"),
    ("diff branches.data a.part --fail-if new()>9 --junit branches.data --force", "branches.data"),
    ("coverage a.part -o a.part", "a.part"),
    ("coverage a.part b.part -o b.hard", "b.part"),
    ("coverage branches.data a.part --baseline b.part -o b.part", "b.part"),
    ("coverage a.part --baseline b.part --save b.soft", "b.part"),
    ("coverage --baseline b.part -o b.part -- true", "b.part"),
    ("query branches.data -f ask.sql -o ask.sql", "ask.sql"),
    ("locks changes.data --baseline locks.json --json -o locks.json", "locks.json"),
    ("locks changes.data --baseline locks.json --html locks.json", "locks.json"),
    ("locks changes.data --baseline locks.json --svg locks.json", "locks.json"),
    ("report branches.data changes.data -o changes.data --force", "changes.data"),
    ("timeline branches.data --html branches.data --force", "branches.data"),
]
# Files that no command reads here and that only --force overwrites.
VALUABLE = [
    ("diff a.part b.part -o branches.data", "branches.data"),
    (f"{DIFF} --junit branches.data", "branches.data"),
    (f"{DIFF} --sarif branches.data", "branches.data"),
    ("coverage a.part -o branches.data", "branches.data"),
]
# Two options that name one file.
TWICE = [
    f"{DIFF} -o both --junit both",
    f"{DIFF} -o both --junit ./both",
    f"{DIFF} -o both --sarif both",
    f"{DIFF} --junit both --sarif ./both",
    f"{DIFF} --junit -",
    "coverage a.part -o both --save both",
    "coverage a.part --save -",
    "spikes branches.data Leaf -o both --save-instances both",
    "spikes branches.data Leaf --html both --save-instances ./both",
]
# Files that a command may write.
GRANTED = [
    f"{DIFF} -o out --junit other",
    f"{DIFF} -o /dev/null --junit /dev/null",
    "diff a.part b.part -o empty",
    "coverage a.part more.part --save more.part",
]


class WrittenFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("branches.data", "changes.data"):
            shutil.copy(f"{RECORDINGS}/{name}", cls.folder)
            shutil.copytree(f"{RECORDINGS}/{name}.images", f"{cls.folder}/{name}.images")
        for part in ("a.part", "b.part", "more.part"):
            cls.run_flowback("coverage", "branches.data", "--save", part)
        os.link(f"{cls.folder}/b.part", f"{cls.folder}/b.hard")
        os.symlink("b.part", f"{cls.folder}/b.soft")
        cls.run_flowback("locks", "changes.data", "--json", "-o", "locks.json")
        for name, text in (("ask.sql", "SELECT 1"), ("empty", "")):
            with open(f"{cls.folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)

    @classmethod
    def run_flowback(cls, *words):
        done = subprocess.run([FLOWBACK, *words], cwd=cls.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "FLOWBACK_CACHE": f"{cls.folder}/cache"})
        return done

    def content(self, name):
        with open(f"{self.folder}/{name}", "rb") as file:
            return file.read()

    def assert_refused(self, words):
        done = self.run_flowback(*words.split())
        self.assertEqual(done.returncode, 2, (words, done))
        self.assertEqual(done.stdout, "", words)
        self.assertIn("\n  try: ", done.stderr, words)
        return done.stderr

    def test_files_that_are_read_stay(self):
        for words, file in DESTROYING:
            before = self.content(file)
            self.assertNotEqual(before, b"", file)
            self.assertIn("is read here", self.assert_refused(words), words)
            self.assertEqual(self.content(file), before, words)

    def test_recordings_stay_without_force(self):
        for words, file in VALUABLE:
            before = self.content(file)
            self.assertIn("--force", self.assert_refused(words), words)
            self.assertEqual(self.content(file), before, words)

    def test_two_options_name_two_files(self):
        for words in TWICE:
            self.assert_refused(words)
            self.assertFalse(os.path.exists(f"{self.folder}/both"), words)

    def test_other_files_are_written(self):
        for words in GRANTED:
            done = self.run_flowback(*words.split())
            self.assertEqual(done.returncode, 0, (words, done))
        self.assertIn(b"testsuite", self.content("other"))
        self.assertIn(b"instructions", self.content("empty"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
