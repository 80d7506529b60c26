#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""runtimes_test.py FLOWBACK PROGRAMS: waits in libgomp, in Rust's standard library, and by descriptors."""

import os
import sys
import tempfile
import unittest

import truth

FLOWBACK, PROGRAMS = sys.argv[1:]


class Runtimes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def record(self, name, *words):
        return truth.Run(FLOWBACK, self.folder, (f"{PROGRAMS}/{name}", *words))

    @staticmethod
    def sums(answer, function, tid, *keys):
        """A thread's sums at sites that the function has or calls."""
        found = dict.fromkeys(keys, 0)
        for site in answer["sites"]:
            if function in [truth.plain(name) for name in (site["function"], site["caller"], *site["callers"])]:
                for thread in site["threads"]:
                    if thread["tid"] == tid:
                        for key in keys:
                            found[key] += thread[key]
        return tuple(found.values())

    def test_libgomp(self):
        """Each thread but the last at a barrier waits there, spinning or sleeping."""
        recorded = self.record("openmp", "6")
        answer = recorded.locks()
        for line in recorded.lines:
            waits, trips, sleeps = self.sums(answer, "GOMP_barrier", line["tid"], "waits", "trips", "sleeps")
            if line["waits"] == 0:
                # Not yet told apart: libgomp reads from a variable whether it calls futex to sleep or to wake.
                self.assertEqual((waits - sleeps, trips), (0, 0), line)
                continue
            self.assertEqual(waits, line["waits"], (line, answer["sites"]))
            self.assertGreater(trips + sleeps, 0)

    def test_rust(self):
        if not os.path.exists(f"{PROGRAMS}/rust_locks"):
            self.skipTest("no rustc (Debian: rustc)")
        recorded = self.record("rust_locks", "6")
        answer = recorded.locks()
        for line in recorded.of("lock_rust_spin"):
            waits, trips, sleeps = self.sums(answer, line["function"], line["tid"], "waits", "trips", "sleeps")
            self.assertEqual((waits, sleeps), (line["waits"], 0), line)
            # The compiler may have put the first check ahead of the loop.
            self.assertIn(trips, (line["trips"], line["trips"] - line["waits"]))
        waited = slept = 0
        for function in ("lock_rust_mutex", "wait_rust_condition"):
            for line in recorded.of(function):
                waits, sleeps = self.sums(answer, function, line["tid"], "waits", "sleeps")
                # The other thread gives it two milliseconds to fall asleep, which may not suffice on a busy machine.
                self.assertLessEqual(waits, 2 * line["waits"], line)
                waited += waits
                slept += sleeps
        self.assertGreater(waited, 0)
        # One that spins first may get the mutex before it sleeps.
        self.assertGreater(slept, 0)

    def test_descriptors(self):
        """Reading from another thread is a wait where --blocking asks for it, and only there."""
        for how in ("eventfd", "pipe", "poll", "epoll"):
            with self.subTest(how):
                recorded = self.record("blocking", how, "5")
                own = recorded.lines[0]
                self.assertEqual(self.sums(recorded.locks(), own["function"], own["tid"], "waits"), (0,))
                answer = recorded.locks("--blocking")
                waits, time = self.sums(answer, own["function"], own["tid"], "waits", "sleeping")
                # A reader that a busy machine delays finds what it reads. A read that finds what poll has waited for may
                # count as a wait of its own.
                self.assertGreater(waits, 0)
                self.assertLessEqual(waits, own["waits"] * (2 if how in ("poll", "epoll") else 1))
                self.assertLessEqual(time, own["at_most_ns"])
                self.assertGreater(time, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
