#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""strace_test.py FLOWBACK PROGRAM: strace and `locks` have the same sleeps of a program whose threads sleep in an order
of its own: as many, in the same order, for the same reasons, and as long."""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import truth

FLOWBACK, PROGRAM = sys.argv[1:]
PLANS = ("mcspfmcspf", "fmscpp", "ppmmccssff", "s")
# By letter of a plan: where the thread sleeps, and by which operation of futex.
REASONS = {
    "m": ("pthread_mutex_lock", "FUTEX_WAIT_PRIVATE"),
    "p": ("pthread_mutex_lock", "FUTEX_LOCK_PI_PRIVATE"),
    "s": ("sem_wait", "FUTEX_WAIT_BITSET_PRIVATE"),
    "c": ("wait",  # of std::condition_variable
          "FUTEX_WAIT_BITSET_PRIVATE"),
    "f": ("sleep_for_word", "FUTEX_WAIT_PRIVATE"),
}
# The program lets each of them sleep for two milliseconds.
LEAST_NS = 1500000


def strace(output):
    """What the program writes, run by strace, with its calls of futex."""
    return truth.run("strace", "-f", "-T", "-e", "trace=futex", "-o", output, PROGRAM, *PLANS, limit=60)


class Sleeps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def straced(self):
        """By plan: operation and nanoseconds of each call in which its thread slept, in order."""
        written = strace(f"{self.folder}/strace")
        tids = [int(tid) for tid in re.findall(r'"tid": (\d+)', written)]
        begun, slept = {}, collections.defaultdict(list)
        with open(f"{self.folder}/strace", encoding="utf-8") as lines:
            for line in lines:
                tid = int(line.split()[0])
                if called := re.search(r"futex\(0x\w+, (FUTEX_\w+)", line):
                    begun[tid] = called[1]
                if (ended := re.search(r"= 0 <([\d.]+)>", line)) and re.match("FUTEX_(WAIT|LOCK)", begun.get(tid, "")):
                    slept[tid].append((begun[tid], float(ended[1]) * 1e9))
        return [slept[tid] for tid in tids]

    def told(self):
        """By plan: function and nanoseconds of each wait of its thread, in order."""
        recorded = truth.Run(FLOWBACK, self.folder, [PROGRAM, *PLANS])
        answer = recorded.locks()
        waits = collections.defaultdict(list)
        for wait in sorted(answer["worst"], key=lambda wait: wait["first_instruction"]):
            site = answer["sites"][wait["site"]]
            if wait["sleeps"] > 0:
                waits[wait["tid"]].append((truth.plain(site["function"]).strip("_").replace("new_sem", "sem"), wait["sleeps"],
                                           wait["sleeping"]))
        return [waits[line["tid"]] for line in recorded.lines]

    def test_number_and_order(self):
        for plan, own, told in zip(PLANS, self.straced(), self.told()):
            self.assertEqual([operation for operation, _ in own], [REASONS[letter][1] for letter in plan])
            self.assertEqual([function for function, _, _ in told], [REASONS[letter][0] for letter in plan])
            self.assertEqual([sleeps for _, sleeps, _ in told], [1] * len(plan))
            for time in [time for _, time in own] + [time for _, _, time in told]:
                self.assertGreater(time, LEAST_NS)


def may_trace():
    lacks = os.environ.get("FLOWBACK_TEST_HOST_LACKS", "").split(",")
    if "strace" in lacks or "ptrace" in lacks or shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode == 0


if __name__ == "__main__":
    if not may_trace():
        print("skipped: strace is not installed, or may not trace")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
