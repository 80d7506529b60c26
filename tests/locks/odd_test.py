#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""odd_test.py FLOWBACK PROGRAMS RECORDINGS: waits that end in unusual ways, recordings that are cut or damaged, and
what `locks` refuses."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

import truth

FLOWBACK, PROGRAMS, RECORDINGS = sys.argv[1:]
CONTENDED = f"{PROGRAMS}/optimised/contended"


def locks(*words):
    return subprocess.run([FLOWBACK, "locks", *words], capture_output=True, text=True, check=False, timeout=100)


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def record(self, *words, record=()):
        return truth.Run(FLOWBACK, self.folder, words, record)

    def sites(self, answer, function):
        return [site for site in answer["sites"] if truth.plain(site["function"]) == function or
                (site["library"] and truth.plain(site["caller"]) == function)]

    def sums(self, answer, function, *keys):
        return tuple(sum(site[key] for site in self.sites(answer, function)) for key in keys)


class OddEnds(WithFolder):
    def test_functions_that_are_left_without_a_return(self):
        """By an exception and by longjmp, after as many failed checks as they have patience."""
        for how in ("throw", "jump"):
            with self.subTest(how):
                recorded = self.record(f"{PROGRAMS}/odd", how, "5")
                own = recorded.lines[0]
                backward = recorded.branches().backward(own["function"])
                self.assertIn(backward, (own["trips"], own["trips"] + own["waits"]))
                self.assertEqual(self.sums(recorded.locks(), own["function"], "waits", "trips"),
                                 (own["waits"], backward))

    def test_child_without_other_threads(self):
        """It inherits a lock that is taken, and has no thread that could release it: that is no wait for a thread."""
        recorded = self.record(f"{PROGRAMS}/odd", "fork")
        child = recorded.lines[0]["tid"]
        told = [thread["waits"] for site in recorded.locks()["sites"] for thread in site["threads"]
                if thread["pid"] == child]
        self.assertEqual(sum(told), 0)

    def test_hundreds_of_threads(self):
        recorded = self.record(f"{PROGRAMS}/odd", "crowd", "300")
        answer = recorded.locks()
        self.assertEqual(len(recorded.lines), 300)
        waits, trips = (sum(line[key] for line in recorded.lines) for key in ("waits", "trips"))
        told_waits, told_trips = self.sums(answer, "lock_crowd", "waits", "trips")
        # Not yet exact: a few of tens of thousands of trips are missing.
        self.assertLessEqual(told_waits, waits)
        self.assertGreater(told_waits, waits * 0.98)
        self.assertLessEqual(told_trips, trips)
        self.assertGreater(told_trips, trips * 0.999)


    def test_thousands_of_short_threads(self):
        """Each passes a mutex once. The answer takes half a minute and a gibibyte at most."""
        recorded = self.record(f"{PROGRAMS}/odd", "short", "3000")
        done = subprocess.run([FLOWBACK, "locks", recorded.path, "--json"], check=True, capture_output=True, timeout=30,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
        answer = json.loads(done.stdout)
        self.assertEqual(len(answer["threads"]), 3001)
        passed = [site for site in answer["sites"] if "Short" in (site["caller"] or "") and "mutex" in site["function"]]
        self.assertEqual([site["acquisitions"] for site in passed], [3000])


class Alone(WithFolder):
    def test_programs_with_one_thread(self):
        """They call the C library's locks, and never wait there."""
        for words in (("gzip", "-c", CONTENDED), ("sort", __file__), ("grep", "-r", "def ", os.path.dirname(__file__)),
                      ("perl", "-e", "my %h; $h{$_ % 100} .= $_ for 1 .. 5000")):
            with self.subTest(words[0]):
                path = f"{self.folder}/alone.data"
                subprocess.run([FLOWBACK, "record", "-q", "-o", path, "--", *words], check=True, capture_output=True)
                answer = json.loads(truth.run(FLOWBACK, "locks", path, "--json"))
                self.assertEqual([(site["function"], site["waits"], site["trips"], site["sleeps"])
                                  for site in answer["sites"] if site["waits"]], [])


class Deadlocks(WithFolder):
    def test_threads_that_wait_for_each_other(self):
        """Whether they sleep or spin, and whether the program exits or is killed."""
        for how in (("mutex", "exit"), ("mutex", "signal"), ("spin", "exit")):
            with self.subTest(how):
                try:
                    # The holder at the begin of a wait is certain if cycles give exact times.
                    recorded = self.record(f"{PROGRAMS}/deadlock", *how, record=("--cyc",))
                    path, tids = recorded.path, recorded.lines[0]["tids"]
                except subprocess.CalledProcessError as error:
                    path = error.cmd[error.cmd.index("-o") + 1]
                    tids = json.loads(error.stdout)["tids"]
                answer = json.loads(truth.run(FLOWBACK, "locks", path, "--json"))
                open_waits = [wait for wait in answer["open"] if wait["tid"] in tids]
                self.assertEqual(sorted(wait["tid"] for wait in open_waits), sorted(tids))
                self.assertEqual({wait["state"] for wait in open_waits}, {"cut-by-end"})
                if how[0] == "mutex":
                    self.assertEqual(len(answer["deadlocks"]), 1, answer["sentences"])
                    self.assertIn("deadlock", answer["sentences"][0].lower())
                else:
                    # A store releases the lock, which may be any store: who holds it is not proven.
                    self.assertIn("2 threads still waited when the trace ended", " ".join(answer["sentences"]))


class Cut(WithFolder):
    def setUp(self):
        super().setUp()
        self.recorded = self.record(CONTENDED, "ttas,normal", "2", "10")
        self.whole = self.recorded.locks()

    def test_shorter_files(self):
        with open(self.recorded.path, "rb") as file:
            data = file.read()
        for share in (10, 40, 70, 95):
            path = f"{self.folder}/cut{share}.data"
            with open(path, "wb") as file:
                file.write(data[:len(data) * share // 100])
            done = locks(path, "--symfs", "/", "--json")
            self.assertIn(done.returncode, (0, 8), done)
            if done.returncode == 0:
                self.assert_no_more(json.loads(done.stdout))

    def test_damage(self):
        """Bytes of the middle of each stream are overwritten: what was lost ends waits, and none is made up."""
        with open(self.recorded.path, "rb") as file:
            data = bytearray(file.read())
        for at in range(len(data) // 4, len(data) * 9 // 10, 1500):
            data[at:at + 16] = b"\xff" * 16
        path = f"{self.folder}/damaged.data"
        with open(path, "wb") as file:
            file.write(data)
        done = locks(path, "--json")
        self.assertIn(done.returncode, (0, 8), done)
        if done.returncode == 0:
            answer = json.loads(done.stdout)
            for site in answer["sites"]:
                self.assertEqual(sum(site["states"].values()), site["waits"])
            self.assertLessEqual(self.sums(answer, "lock_ttas", "trips"), self.sums(self.whole, "lock_ttas", "trips"))

    def assert_no_more(self, answer):
        for function in ("lock_ttas", "lock_normal"):
            ours, whole = (self.sums(one, function, "waits", "trips", "sleeps") for one in (answer, self.whole))
            self.assertTrue(all(a <= b for a, b in zip(ours, whole)), (function, ours, whole))

    def test_spans_of_time(self):
        """Each wait begins in one span."""
        parts = [self.recorded.locks("--time", span) for span in ("0%,50%", "50%,100%")]
        for function in ("lock_ttas", "lock_normal"):
            self.assertEqual(sum(self.sums(part, function, "waits")[0] for part in parts),
                             self.sums(self.whole, function, "waits")[0])

    def test_without_times(self):
        recorded = self.record(CONTENDED, "ttas", "2", "6", record=("--no-tsc",))
        answer = recorded.locks()
        self.assertFalse(answer["has_times"])
        self.assertEqual(self.sums(answer, "lock_ttas", "trips")[0],
                         sum(line["trips"] for line in recorded.of("lock_ttas")))


class Refused(WithFolder):
    def test_samples(self):
        shared = os.environ.get("FLOWBACK_SHARED") or f"{RECORDINGS}/../../../shared"
        sampled = (f"{shared}/traces/branch-stack/autofdo-hierdisc-haswell/"
                   "hierarchical_discriminator_test.x86_64.perf.data")
        if not os.path.exists(sampled):
            self.skipTest("no ../shared")
        done = locks(sampled)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("these are samples", done.stderr)
        self.assertIn("\n  try: ", done.stderr)

    def test_no_file(self):
        done = locks("nothing.data")
        self.assertEqual((done.returncode, done.stdout), (8, ""), done)

    def test_nobody_waits(self):
        done = locks(f"{RECORDINGS}/tiny.data", "--json")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(json.loads(done.stdout)["sites"], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
