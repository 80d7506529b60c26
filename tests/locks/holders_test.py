# SPDX-License-Identifier: MIT
"""What the holder of a lock did while another thread waited, of a program in which that is known.

holders_test.py FLOWBACK PROGRAM
"""

import json
import sys
import tempfile
import unittest

import truth

FLOWBACK, PROGRAM = sys.argv[1:3]


class Holders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/holders.data"

    def held(self, how):
        """The site at which a thread waited for the first mutex, and its holder; how long it was held at least."""
        printed = truth.run(FLOWBACK, "record", "-q", "--engine", "emulate", "-o", self.path, "--", PROGRAM, how)
        self.told = json.loads(truth.run(FLOWBACK, "locks", self.path, "--json"))
        self.text = truth.run(FLOWBACK, "locks", self.path).replace("\n  ", " ")
        times = [json.loads(line)["held"] for line in printed.splitlines() if line.startswith("{")]
        site = next(site for site in self.told["sites"]
                    if "mutex_lock" in site["function"] and "WaitForFirst" in "".join(site["callers"]))
        self.assertEqual(len(times), 5)
        return site, site["holders"][0], sum(times)

    def assertToldOfHolder(self, words):
        """The text says what the holder did if the flow proves that one thread alone held the lock.

        On a busy machine another thread's release of the second mutex can overlap the begin of a wait for the first
        one; then the flow, without the locks' addresses, proves no more than that one of two threads held it.
        """
        site = next(line for line in self.text.splitlines() if "mutex_lock" in line and "WaitForFirst" in line
                    and " held by " in line)
        if " held by one of " not in site:
            self.assertIn(words, site)

    def test_that_computed(self):
        site, holder, time = self.held("computes")
        self.assertIn("Compute", " ".join(holder["callers"][:3]))
        self.assertLess(holder["waiting"], holder["time"] / 3)
        self.assertLess(holder["time"], 2 * time)
        self.assertGreater(site["waiting"], 0)

    def test_that_slept(self):
        _, holder, time = self.held("sleeps")
        self.assertIn("nanosleep", holder["callers"][0])
        self.assertIn("Doze", " ".join(holder["callers"][:4]))
        # It sleeps in one call of the five at least while the other thread waits.
        self.assertGreater(holder["time"], time / 10)
        self.assertLessEqual(holder["certain"], holder["time"])

    def test_convoy(self):
        """Three threads wait while the holder itself waits; on a busy machine not all of them come in time in each round."""
        _, holder, _ = self.held("leads")
        self.assertIn(holder["convoy"], (2, 3))
        self.assertToldOfHolder(f": a convoy, {holder['convoy']} threads waited behind it at once")

    def test_that_waited_itself(self):
        _, holder, _ = self.held("waits")
        self.assertIn("WaitForSecond", " ".join(holder["callers"]))
        self.assertGreater(holder["waiting"], holder["time"] / 2)
        second = self.told["sites"][holder["waits_at"]]
        self.assertIn("WaitForSecond", " ".join(second["callers"]))
        self.assertToldOfHolder(", which itself waited for ")
        self.assertIn("Doze", " ".join(second["holders"][0]["callers"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
