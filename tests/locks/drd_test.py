#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""drd_test.py FLOWBACK PROGRAM: valgrind's DRD and `locks` name the same lock as the one that is held for long."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import truth

FLOWBACK, PROGRAM = sys.argv[1:]


class HeldForLong(unittest.TestCase):
    def test_same_lock(self):
        told = subprocess.run(["valgrind", "--tool=drd", "--exclusive-threshold=100", PROGRAM], check=True,
                              capture_output=True, text=True, timeout=60).stderr
        held = re.findall(r"Acquired at:.*?was held during", told, re.S)
        self.assertGreater(len(held), 0, told)
        self.assertTrue(all("hold_for_long" in stack and "hold_briefly" not in stack for stack in held), told)
        with tempfile.TemporaryDirectory() as folder:
            sites = truth.Run(FLOWBACK, folder, [PROGRAM]).locks()["sites"]
        mutexes = [site for site in sites if truth.plain(site["caller"]) in ("hold_for_long", "hold_briefly")]
        self.assertEqual(truth.plain(mutexes[0]["caller"]), "hold_for_long")
        for site in mutexes[1:]:
            self.assertGreater(mutexes[0]["waiting"], site["waiting"])
        # How long a thread waits to run again after the release depends on the machine.
        self.assertGreater(sum(holder["certain"] for holder in mutexes[0]["holders"]), 0)


if __name__ == "__main__":
    if shutil.which("valgrind") is None or "valgrind" in os.environ.get("FLOWBACK_TEST_HOST_LACKS", "").split(","):
        print("skipped: valgrind is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
