#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shared_test.py FLOWBACK SHARED: what `locks` says of the shared recordings: no wait where there is one thread, and in
those of several threads as many acquisitions, waits and trips as their sources and another command say."""

import glob
import json
import os
import sys
import unittest

import truth

FLOWBACK = sys.argv[1]
GENERATED = os.path.join(os.environ.get("FLOWBACK_SHARED") or sys.argv[2], "traces", "generated")
SYMBOLS = ("--symfs", os.path.join(GENERATED, "images"))
SEVERAL_THREADS = ("pool-perthread", "spin-cyc", "spin-switchwide-power")
# The program's own arguments: rounds of each of its threads.
ROUNDS = 200


def locks(name, *words):
    return json.loads(truth.run(FLOWBACK, "locks", os.path.join(GENERATED, name, "perf.data"), *SYMBOLS, "--json", *words))


def steps(answer):
    sites = sorted((site["function"], site["waits"], site["trips"], site["sleeps"], site["acquisitions"]) for site in answer["sites"])
    return sites, sorted((loop["function"], loop["trips"], loop["kind"], loop["reason"]) for loop in answer["loops"])


def branches(name):
    return truth.Branches(FLOWBACK, os.path.join(GENERATED, name, "perf.data"), *SYMBOLS)


class Shared(unittest.TestCase):
    def test_no_wait_of_a_single_thread(self):
        """Among them are hundreds of millions of instructions of gzip and sqlite3."""
        names = [os.path.basename(os.path.dirname(path)) for path in glob.glob(f"{GENERATED}/*/perf.data")]
        self.assertGreater(len(names), 20)
        for name in sorted(set(names) - set(SEVERAL_THREADS)):
            with self.subTest(name):
                answer = locks(name)
                found = [(site["function"], site["waits"], site["trips"], site["sleeps"]) for site in answer["sites"] if site["waits"] or site["trips"]]
                self.assertEqual(found, [])

    def test_spinning_lock(self):
        for name in SEVERAL_THREADS[1:]:
            with self.subTest(name):
                answer, counted = locks(name), branches(name)
                sites = [site for site in answer["sites"] if truth.plain(site["function"]) == "spin_lock"]
                self.assertEqual(sum(site["trips"] for site in sites), counted.backward("spin_lock"))
                self.assertEqual(counted.calls("spin_lock"), 4 * ROUNDS)
                for site in sites:
                    for thread in site["threads"]:
                        self.assertEqual(thread["acquisitions"], ROUNDS)
                        self.assertLessEqual(thread["waits"], thread["trips"])
                        self.assertEqual(thread["sleeps"], 0)
                    self.assertEqual(sum(thread["waits"] > 0 for thread in site["threads"]), 3)

    def test_cycles_of_spinning(self):
        """The generator's cores have 3 GHz."""
        sites = [site for site in locks("spin-cyc")["sites"] if truth.plain(site["function"]) == "spin_lock"]
        for sums in sites + sites[0]["threads"]:
            self.assertAlmostEqual(sums["cycles"], 3 * sums["spinning"], delta=max(50, sums["spinning"] / 3))
        self.assertGreater(sites[0]["cycles"], 3000)

    def test_same_trips_block_by_block(self):
        """The other engine gives each block by itself, so the search steps through all of them. It gives no times."""
        for name in SEVERAL_THREADS:
            with self.subTest(name):
                self.assertEqual(steps(locks(name, "--engine", "libipt")), steps(locks(name)))

    def test_sleeping_pool(self):
        """Workers wait for tasks, and the first thread waits for their end."""
        answer = locks("pool-perthread")
        waits = {}
        for site in answer["sites"]:
            name = truth.plain(site["function"]).lstrip("_")
            waits[name] = waits.get(name, 0) + site["waits"]
            self.assertEqual(sum(thread["waits"] for thread in site["threads"]), site["waits"])
        self.assertTrue([name for name in waits if name.endswith("wait")], waits)
        for thread in answer["threads"]:
            self.assertLessEqual(thread["spinning"] + thread["sleeping"], thread["end"] - thread["begin"])


if __name__ == "__main__":
    if not os.path.isdir(GENERATED):
        print(f"skipped: no {GENERATED}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
