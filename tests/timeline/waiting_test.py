#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""waiting_test.py FLOWBACK CXX: the text about threads that wait until the end, and about one that ends."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
CXX = sys.argv[2]

PROGRAM = r"""
#include <poll.h>
#include <unistd.h>
#include <thread>
#define APART extern "C" __attribute__((noinline, noclone))
static volatile unsigned sink;
APART void trifle() { sink = sink + 1; }
APART void wait_for_ever() {
  for (int i = 0; i < 20; ++i) trifle();
  poll(nullptr, 0, -1);
}
APART void wait_again_and_again() {
  for (;;) { trifle(); poll(nullptr, 0, 2); }
}
APART void work() { for (unsigned i = 0; i < 400000; ++i) sink = sink + i; }
int main() {
  std::thread(wait_for_ever).detach();
  std::thread(wait_again_and_again).detach();
  std::thread worker(work);
  worker.join();
  usleep(400000);
  _exit(0);
}
"""


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Waiting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = lambda name: os.path.join(cls.folder.name, name)
        with open(path("work.cc"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        run(CXX, "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-static", "-o", path("work"), path("work.cc"))
        run(FLOWBACK, "record", "--engine", "emulate", "-o", path("work.data"), "--", path("work"))
        cls.text = re.sub(r"\n  +", " ", run(FLOWBACK, "timeline", path("work.data")))
        cls.timeline = json.loads(run(FLOWBACK, "timeline", path("work.data"), "--json"))
        cls.names = [function["name"] for function in cls.timeline["functions"]]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def thread_of(self, function):
        """The thread whose last call, or longest one, that is."""
        number = self.names.index(function)
        of = [thread for thread in self.timeline["threads"]
              if number in [(thread[key] or {}).get("function") for key in ("last_call", "longest_call")]]
        self.assertEqual(len(of), 1, function)
        return of[0]

    def test_one_that_waits_for_ever(self):
        tids = re.findall(r"work (\d+) was in \S*poll\S* for [\d.]+ ms, from \S+ to its end, with \d+ instructions",
                          self.text)
        self.assertEqual(len(tids), 1, self.text)
        self.assertNotIn(f"longest call of work {tids[0]} ", self.text)

    def test_one_that_waits_again_and_again(self):
        thread = self.thread_of("wait_again_and_again")
        self.assertRegex(self.text, rf"work {thread['tid']} was in wait_again_and_again for ")
        call = thread["last_call"]
        self.assertFalse(call["whole"])
        self.assertEqual(call["end"], thread["end"])
        self.assertGreater(2 * (call["end"] - call["begin"]), thread["end"] - thread["begin"])

    def test_one_that_ends(self):
        """The first call never returns, but says nothing."""
        tid = [thread["tid"] for thread in self.timeline["threads"]
               if (thread["longest_call"] or {"instructions": 0})["instructions"] > 400000 and
               thread["tid"] != thread["pid"]]
        self.assertEqual(len(tid), 1)
        self.assertIn(f"The longest call of work {tid[0]} was ", self.text)

    def test_the_first_one_leaves_in_mid_call(self):
        tid = self.timeline["threads"][0]["pid"]
        # It sleeps for 400 ms: a moment less or more where its clock is the machine's.
        self.assertRegex(self.text, rf"work {tid} was (in )?\S*sleep\S*(:| for) ([4-9]\d\d ms|\d\.\d+ s)")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
