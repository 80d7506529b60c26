#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lines_test.py FLOWBACK: the instructions of each source line, as valgrind's callgrind counts them; their sum, as
`decode --as summary` counts it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import callgrind

FLOWBACK = os.path.abspath(sys.argv[1])

PROGRAM = r"""
#include <stdio.h>
static inline __attribute__((always_inline)) unsigned inlined(unsigned a) {
  return a * 3 + 1;
}
__attribute__((noinline)) unsigned work(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    sum += inlined(i);
    if (sum % 7 == 0)
      sum ^= i;
  }
  return sum;
}
__attribute__((noinline)) unsigned rare(unsigned n) {
  return inlined(n) / 2;
}
int main(int argc, char** argv) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 20; ++i)
    sum += work(100 * i);
  sum += rare(sum);
  return sum == 7;
}
"""


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def costs(path, source):
    """{line: own instructions} of one source file, as callgrind wrote them."""
    lines, file_name, skips = {}, None, False
    with open(path, encoding="utf-8") as file:
        for text in file:
            text = text.strip()
            if match := re.match(r"f[lie]=(.*)", text):
                file_name = match[1]
            elif text.startswith("calls="):
                skips = True  # the next line has what the call took
            elif match := re.match(r"(\d+) (\d+)$", text):
                if not skips and file_name == source:
                    lines[int(match[1])] = lines.get(int(match[1]), 0) + int(match[2])
                skips = False
    return lines


class Lines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = lambda name: os.path.join(cls.folder.name, name)
        cls.source, cls.recording = path("work.c"), path("work.data")
        with open(cls.source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        cls.program = path("work")
        run("gcc", "-g", "-O1", "-o", cls.program, cls.source)
        run(FLOWBACK, "record", "-o", cls.recording, "--", cls.program)
        cls.json = json.loads(run(FLOWBACK, "timeline", "--by", "line", cls.recording, "--json"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_as_callgrind(self):
        callgrind.need_valgrind("lines of source", self)
        out = os.path.join(self.folder.name, "callgrind.out")
        run("valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
            f"--callgrind-out-file={out}", self.program)
        expected = costs(out, self.source)
        self.assertGreater(len(expected), 8)
        told = {each["line"]: each["instructions"] for each in self.json["lines"] if each["file"] == self.source}
        self.assertEqual(told, expected)

    def test_the_sum_is_that_of_all_instructions(self):
        summary = [json.loads(line) for line in
                   run(FLOWBACK, "decode", "--as", "summary", "--json", self.recording).splitlines()]
        whole = sum(each["instructions"] for each in summary if "tid" in each)
        self.assertEqual(self.json["instructions"], whole)
        self.assertEqual(sum(each["instructions"] for each in self.json["lines"]), whole)
        without = sum(each["instructions"] for each in self.json["lines"] if each["line"] is None)
        self.assertEqual(self.json["without_line"], without)

    def test_one_function(self):
        """The lines of a function are its own and those of what was inlined into it."""
        told = json.loads(run(FLOWBACK, "timeline", "--lines", "--function", "rare", self.recording, "--json"))
        functions = json.loads(run(FLOWBACK, "timeline", self.recording, "--json"))["functions"]
        own = next(each for each in functions if each["name"] == "rare")
        self.assertEqual(told["instructions"], own["self_instructions"])
        self.assertIn(4, [each["line"] for each in told["lines"]])
        inlined = json.loads(run(FLOWBACK, "timeline", "--lines", "--function", "inlined", self.recording, "--json"))
        self.assertEqual({each["line"] for each in inlined["lines"]}, {4})

    def test_part_of_the_time(self):
        parts = 0
        for span in ("0%,40%", "40%,100%"):
            parts += json.loads(run(FLOWBACK, "timeline", "--lines", "--time", span, self.recording, "--json"))["instructions"]
        self.assertAlmostEqual(parts, self.json["instructions"], delta=self.json["instructions"] / 20)

    def test_text_begins_with_the_hottest_line(self):
        text = run(FLOWBACK, "timeline", "--by", "line", self.recording)
        hottest = next(each for each in self.json["lines"] if each["line"])
        self.assertIn(f"The hottest line is {os.path.basename(hottest['file'])}:{hottest['line']} ", text.splitlines()[0])
        self.assertIn(f"{self.json['instructions']:,} instructions", text.splitlines()[0])
        self.assertIn(hottest["text"], text)

    def test_what_does_not_apply_is_refused(self):
        for words in (["--sort", "time"], ["--waits"], ["--overview"], ["--html", "x.html"], ["--at", "50%"]):
            done = subprocess.run([FLOWBACK, "timeline", "--by", "line", *words, self.recording], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(words[0], done.stderr)
        done = subprocess.run([FLOWBACK, "timeline", "--lines", "--function", "wurk", self.recording], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'work'", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
