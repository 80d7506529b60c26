#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py FLOWBACK KIND PROGRAM SYMBOLS: holds what `flowback spikes` says of spiky_server against what the server
wrote of itself.

KIND is `unoptimised`, `optimised`, `stripped` or `stepped`. PROGRAM is the server, built so. SYMBOLS is the same code
with symbols, by which the places in a stripped program are judged.

Instructions are exact: by them, the slow requests and the causes must be the planted ones, no more and no less. Times
are those of a machine on which other programs run, too. So the server's own clocks say which requests were slow, and a
cause must come first where the requests with it took most of the extra time."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

import truth

FLOWBACK, KIND, PROGRAM, SYMBOLS = sys.argv[1:5]
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
PLACES = truth.planted_places(SOURCES)
ADDRESSES = truth.Addresses(SYMBOLS)
MILLISECOND = 1000000
# The word that an answer must contain beside the place, where the place alone is that of normal requests, too.
ALSO_SAID = {"virtual-callee": "Costly"}
# What the first sentences say beside it.
SENTENCES_SAY = {"contended-lock": "That is the wait for a lock in "}
# They take time on the CPU: what such a request takes off it, other programs took.
TAKE_THE_CPU = {"grow-heap", "page-fault-storm"}


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=100).stdout


class Recorded:
    """A recording of the server, and what the server wrote."""

    def __init__(self, folder, cause, options=(), record=()):
        name = "-".join([cause, *options]).replace("/", "")
        self.path = os.path.join(folder, name + ".data")
        written = os.path.join(folder, name + ".json")
        run(FLOWBACK, "record", "-q", *record, "-o", self.path, "--",
            PROGRAM, "--cause", cause, "--truth", written, *options)
        self.run = truth.Run(written)

    def spikes(self, *words):
        return json.loads(run(FLOWBACK, "spikes", self.path, "handle", "--json", *words))


def functions_named(cause):
    """The functions that an answer names, by symbols or, of a stripped program, by addresses."""
    words = " ".join(str(cause[key]) for key in ("function", "caller", "inside", "words") if cause[key])
    named = set(re.findall(r"[\w~]+", words))
    for address in re.findall(r"spiky_server\+0x([0-9a-f]+)", words):
        named.add(ADDRESSES.function_at(int(address, 16)))
    return named


def names_planted(cause, planted):
    """Whether an answer is the planted cause: its function, its line, and the sentence with both."""
    places = PLACES[planted]
    if not places.functions & functions_named(cause):
        return False
    if KIND == "stripped":
        return "+0x" in cause["words"]
    name = os.path.basename(cause["file"] or "")
    return ((name, cause["line"]) in places.lines and f"{name}:{cause['line']}" in cause["words"] and
            ALSO_SAID.get(planted, "") in cause["words"])


def told(answer):
    return "\n".join(["", *answer["sentences"], *(json.dumps(cause) for cause in answer["causes"])])


class Judge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.recorded = {}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def record(self, cause, *options, record=()):
        key = (cause, options, record)
        if key not in self.recorded:
            self.recorded[key] = Recorded(self.folder.name, cause, options, record)
        return self.recorded[key]

    def assert_instances(self, answer, recorded):
        """Every request is one instance, and has as many instructions as another command counts."""
        instances = answer["instances"]
        self.assertEqual(instances, {"whole": recorded.run.count, "begun_before": 0, "cut_by_end": 0, "lost": 0,
                                     "left_out": 0, "overlapping": 0, "without_begin": 0, "without_end": 0,
                                     "without_value": 0, "compared": recorded.run.count})
        self.assertEqual(answer["slow"] + answer["normal"], recorded.run.count)

    def assert_distribution(self, answer, recorded):
        counts = sorted(truth.instructions_of_calls(FLOWBACK, recorded.path, "handle"))
        self.assertEqual(len(counts), recorded.run.count)
        found = answer["distribution"]
        self.assertEqual((found["min"], found["max"]), (counts[0], counts[-1]))
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            rank = int(share * len(counts))
            self.assertIn(found[name], counts[rank - 1:rank + 1], name)

    def assert_slow(self, answer, requests):
        """These requests are slow, and no other."""
        self.assertEqual(answer["slow"], len(requests), told(answer))
        self.assertLessEqual({outlier["instance"] for outlier in answer["outliers"]}, set(requests))

    def assert_first(self, answer, *planted):
        """The first causes are these, in any order."""
        first = answer["causes"][:len(planted)]
        for cause in planted:
            self.assertTrue(any(names_planted(one, cause) for one in first), f"{cause}: {PLACES[cause]}{told(answer)}")

    def assert_no_spikes(self, answer):
        self.assertEqual((answer["slow"], answer["causes"], answer["outliers"]), (0, [], []), told(answer))
        self.assertIn("None of ", answer["sentences"][0])


class ByInstructions(Judge):
    """Causes that execute instructions: exact, on any machine."""

    def judge(self, cause, *options, planted=None):
        recorded = self.record(cause, *options)
        answer = recorded.spikes("--by", "instructions")
        self.assert_instances(answer, recorded)
        if cause in ("rare-branch", "deep-recursion"):
            self.assert_distribution(answer, recorded)
        self.assert_slow(answer, recorded.run.planted())
        self.assert_first(answer, *(planted or [cause]))
        self.assertEqual(answer["causes"], recorded.spikes()["causes"])
        return answer, recorded

    def judge_alone(self, cause):
        """All slow requests have it, no normal one does, and it is nearly all that is extra."""
        answer, recorded = self.judge(cause)
        first = answer["causes"][0]
        self.assertEqual((first["slow_with"], first["normal_with"]), (len(recorded.run.planted()), 0), told(answer))
        self.assertGreater(first["share"], 0.85)

    def test_rare_branch(self):
        self.judge_alone("rare-branch")

    def test_virtual_callee(self):
        self.judge_alone("virtual-callee")

    def test_exception(self):
        self.judge_alone("exception")

    def test_longer_loop(self):
        self.judge("longer-loop")

    def test_deep_recursion(self):
        self.judge("deep-recursion")

    def test_spinning_lock(self):
        """The lock may be free again when a request that was interrupted comes to it."""
        recorded = self.record("spinning-lock")
        answer = recorded.spikes("--by", "instructions")
        self.assertLessEqual({outlier["instance"] for outlier in answer["outliers"]}, set(recorded.run.planted()))
        self.assertGreater(2 * answer["slow"], len(recorded.run.planted()))
        self.assert_first(answer, "spinning-lock")

    def test_first_symbol(self):
        """Many requests call the functions, and only the first has to find them."""
        recorded = self.record("first-symbol")
        answer = recorded.spikes("--by", "instructions")
        self.assert_slow(answer, recorded.run.planted()[:1])
        self.assert_first(answer, "first-symbol")

    def test_two_causes_in_different_requests(self):
        self.judge("two-apart", planted=["rare-branch", "virtual-callee"])

    def test_two_causes_in_the_same_requests(self):
        self.judge("two-together", planted=["rare-branch", "virtual-callee"])

    def test_none(self):
        for seed in ("1", "2", "3") if KIND == "optimised" else ("4",):
            recorded = self.record("none", "--seed", seed)
            answer = recorded.spikes("--by", "instructions")
            self.assert_instances(answer, recorded)
            self.assert_distribution(answer, recorded)
            self.assert_no_spikes(answer)
            # Waits of less than a millisecond in an emulator's system calls are no spikes, either.
            unasked = recorded.spikes()
            self.assertTrue(unasked["slow"] == 0 or unasked["distribution"]["max"] > MILLISECOND, told(unasked))

    def test_requests_of_several_threads(self):
        recorded = self.record("rare-branch", "--threads", "3")
        answer = recorded.spikes("--by", "instructions")
        self.assert_instances(answer, recorded)
        self.assert_distribution(answer, recorded)
        self.assertEqual(answer["slow"], len(recorded.run.planted()), told(answer))
        self.assert_first(answer, "rare-branch")

    @unittest.skipUnless(KIND == "optimised", "does not depend on how the program was built")
    def test_the_same_answer_however_it_is_found(self):
        recorded = self.record("two-apart", "--seed", "7", record=("--cyc",))
        answers = [recorded.spikes(*words) for words in (
            ("--threads", "1"), ("--threads", "4"), ("--no-cache",), ("--no-index",), ("--engine", "libipt"))]
        for answer in answers[1:-1]:
            self.assertEqual(answer, answers[0])
        # The reference engine has its own estimates of times.
        for answer in (answers[0], answers[-1]):
            for outlier in answer["outliers"]:
                for key in [key for key in outlier if key.startswith(("begin", "end", "time"))]:
                    del outlier[key]
        self.assertEqual(answers[-1], answers[0])

    @unittest.skipUnless(KIND == "optimised", "takes long otherwise")
    def test_thousands(self):
        self.judge("rare-branch", "--requests", "4000", "--every", "500")


class ByTime(Judge):
    """Causes that take time without instructions, under whatever else the machine does."""

    def judge(self, cause, words=("--by", "time")):
        recorded = self.record(cause, "--every", "20", record=("--cyc",))
        answer = recorded.spikes(*words)
        self.assert_instances(answer, recorded)
        if words:
            self.assert_own_clocks_agree(answer, recorded)
        if self.is_most(recorded, cause):
            self.assert_first(answer, cause)
            self.assertIn(SENTENCES_SAY.get(cause, ""), told(answer))
        else:
            print("left out: which cause of slowness comes first: other programs took most of the extra time")

    def assert_own_clocks_agree(self, answer, recorded):
        """As many are slow as took clearly longer than the threshold by the server's clock, which sees a bit more."""
        threshold = answer["threshold"]
        self.assertIsNotNone(threshold, told(answer))
        surely = sum(wall > 1.5 * threshold for wall in recorded.run.wall())
        perhaps = sum(wall > threshold for wall in recorded.run.wall())
        self.assertLessEqual(answer["slow"], perhaps)
        self.assertGreaterEqual(answer["slow"], surely - 2)

    def is_most(self, recorded, cause):
        """Whether the cause took two thirds at least of what all requests took beyond twice the median."""
        extra = self.beyond_twice_the_median(recorded.run.wall())
        by_cause = extra
        if cause in TAKE_THE_CPU:
            by_cause = map(min, extra, self.beyond_twice_the_median(recorded.run.cpu()))
        by_cause = list(by_cause)
        return 3 * sum(by_cause[number] for number in recorded.run.planted()) > 2 * sum(extra)

    def beyond_twice_the_median(self, durations):
        usual = 2 * statistics.median(durations)
        return [max(0, duration - usual) for duration in durations]

    def test_sleep(self):
        self.judge("sleep")

    def test_contended_lock(self):
        self.judge("contended-lock")

    def test_slow_system_call(self):
        self.judge("slow-syscall")

    def test_growing_heap(self):
        self.judge("grow-heap")

    def test_page_faults(self):
        self.judge("page-fault-storm")

    def test_without_being_asked_for_time(self):
        """No request executes unusually many instructions, so the time in the kernel is taken."""
        for cause in ("sleep", "contended-lock", "slow-syscall"):
            self.judge(cause, words=())

    @unittest.skipUnless(KIND == "optimised" or os.environ.get("FLOWBACK_FULL") == "1",
                         "hardly depends on how the program was built; FLOWBACK_FULL=1 runs it")
    def test_preemption(self):
        recorded = self.record("preemption", "--wait-us", "1000", "--requests", "3000", record=("--cyc",))
        preempted = [number for number, off in enumerate(recorded.run.off_cpu()) if 2 * off > MILLISECOND]
        if not recorded.run.shares_cpu or len(preempted) < 3:
            print("left out: spikes by preemption: no thread could be made to share the CPU of another one")
            return
        answer = recorded.spikes("--by", "time")
        self.assert_own_clocks_agree(answer, recorded)
        # The kernel lets the other thread run when an interrupt comes, or at the end of a system call: that may be
        # anywhere, and on a busy machine somewhere else in each of a few slow requests.
        if not answer["sentences"][1].startswith("No single cause stands out"):
            # What a machine that is busy with other programs does, may come before it.
            kinds = [cause["kind"] for cause in answer["causes"][:3]]
            self.assertTrue({"interrupted", "slower", "system-time"} & set(kinds), told(answer))


class Stepped(Judge):
    """By single steps of the processor, which take long: of requests alone, and of few."""

    def test_two_causes(self):
        recorded = self.record("two-together", "--requests", "24", "--every", "8",
                               record=("--engine", "step", "--from", "spiky::UsualPricing"))
        answer = recorded.spikes("--by", "instructions")
        self.assert_instances(answer, recorded)
        self.assert_distribution(answer, recorded)
        self.assert_slow(answer, recorded.run.planted())
        self.assert_first(answer, "rare-branch", "virtual-callee")


def may_step():
    if "ptrace" in os.environ.get("FLOWBACK_TEST_HOST_LACKS", "").split(","):
        return False
    with tempfile.TemporaryDirectory() as folder:
        words = [FLOWBACK, "record", "-q", "--engine", "step", "--max-instructions", "9", "-o", folder + "/it", "--", "true"]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    if KIND == "stepped" and not may_step():
        print("skipped: ptrace is not permitted")
        sys.exit(77)
    CLASSES = [Stepped] if KIND == "stepped" else [ByInstructions, ByTime]
    SUITE = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(one) for one in CLASSES)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(SUITE).wasSuccessful())
