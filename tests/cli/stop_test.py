#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stop_test.py FLOWBACK CC: a recording of a program that maps and unmaps large reservations ends soon after SIGTERM
and SIGINT, and what was recorded is read. On an idle machine that takes 0.2 s; a busy one is given ten."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
CC = sys.argv[2]
MOST_SECONDS = 10

PROGRAM = r"""
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  const size_t size = (size_t)40 << 30;
  for (long i = 0;; ++i) {
    char* at = mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) munmap(at, size);
    if (i == 0) {
      puts("mapped");
      fflush(stdout);
    }
  }
}
"""


class Stop(unittest.TestCase):
    def test_while_reservations_are_mapped(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run([CC, "-O1", "-x", "c", "-", "-o", "maps"], cwd=folder, input=PROGRAM, text=True, check=True)
        for number in (signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen([FLOWBACK, "record", "--engine", "emulate", "-o", "maps.data", "--", "./maps"],
                                  cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
                self.assertEqual(recorder.stdout.readline(), b"mapped\n")
                time.sleep(0.3)
                begin = time.monotonic()
                recorder.send_signal(number)
                # The recorder ends the program by SIGTERM, whichever of the two it got.
                self.assertEqual(recorder.wait(6 * MOST_SECONDS), 128 + signal.SIGTERM)
                self.assertLess(time.monotonic() - begin, MOST_SECONDS)
            subprocess.run([FLOWBACK, "decode", "--as", "summary", "maps.data"], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
