#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py FLOWBACK KIND PROGRAM SYMBOLS: holds what `flowback locks` says of `contended` against what its threads
counted themselves.

KIND is `unoptimised`, `optimised`, `stripped`, `static` or `stepped`. PROGRAM is the program, built so. SYMBOLS is the
same code with symbols, by which the places in a stripped program are judged.

Counts are exact: the waits and the failed checks of each thread at each site, whatever the machine does meanwhile. Times
lie between clocks that the threads read themselves. How often a loop went back is also known from `flowback branches`."""

import os
import re
import sys
import tempfile
import unittest

import truth

FLOWBACK, KIND, PROGRAM, SYMBOLS = sys.argv[1:5]
ADDRESSES = truth.Addresses(SYMBOLS)
# Where the libraries wait of their own accord: for the end of a thread, for an arena of the heap, until the kernel
# has written the time.
ALSO_WAITING = {"pthread_join", "__pthread_clockjoin_ex", "join", "Fight", "__lll_lock_wait_private", "__vdso_clock_gettime"}
# Functions of the C library that enter the kernel only to sleep in futex.
FUTEX_WAITS = ("__GI___lll_lock_wait", "__lll_lock_wait", "__futex_abstimed_wait_common", "__futex_lock_pi64",
               "__lll_lock_wait_private", "__pthread_mutex_lock_full")
# Wrong answers of `locks` that are known, by kind of build: functions, and "other sites".
NOT_YET = {
    # Loops whose conditions are functions of their own, as no optimised code has.
    "unoptimised": {"await_announced", "lock_cas", "lock_cas_bare", "lock_spin_futex", "lock_ttas", "lock_ttas_bare",
                    "rounds_of_cas", "rounds_of_ttas", "wait_atomic", "wait_latch", "acquire_semaphore", "other sites"},
    # The end of a function without a symbol is not known.
    "stripped": {"acquire_semaphore", "other sites"},
}.get(KIND, set())
MILLISECOND = 1000000


class Answer:
    """What `flowback locks` says, by function and thread."""

    def __init__(self, told, functions):
        self.told = told
        self.functions = functions
        self.sites = [site for site in told["sites"] if site["waits"] > 0]

    def _names(self, site):
        """The functions that the site belongs to, the innermost first."""
        names = [self._name(site[key]) for key in ("function", "inlined", "caller")]
        if KIND == "stripped" and os.path.basename(site["file"] or "").endswith("contended"):
            names.append(ADDRESSES.function_at(int(site["place"], 16)))
        return names + [self._name(name) for name in site["callers"][:4]]

    @staticmethod
    def _name(name):
        place = re.fullmatch(r"\[contended\+0x([0-9a-f]+)\]", name or "")
        return ADDRESSES.function_at(int(place[1], 16)) if place else truth.plain(name)

    def sites_of(self, functions):
        """The sites whose innermost function of the program's own is one of these."""
        found = []
        for site in self.sites:
            name = next((name for name in self._names(site) if name in self.functions), None)
            if name in functions:
                found.append(site)
        return found

    def thread(self, function, tid):
        """A thread's sums at all sites of the function."""
        sums = dict.fromkeys(("waits", "trips", "sleeps", "waiting", "waiting_lo", "waiting_hi", "spinning", "sleeping"), 0)
        sums["acquisitions"] = None
        sums["max"] = 0
        for site in self.sites_of([function]):
            for thread in site["threads"]:
                if thread["tid"] == tid:
                    longest = max(sums["max"], thread["max"])
                    for key in sums:
                        if thread[key] is not None:
                            sums[key] = (sums[key] or 0) + thread[key]
                    sums["max"] = longest
        return sums


class Judge(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def record(self, *words, record=()):
        return truth.Run(FLOWBACK, self.folder.name, [PROGRAM, *words], record)

    def judge(self, family, threads=2, rounds=6, record=()):
        """Returns the answer and the branches of a recording of that family of locks."""
        recorded = self.record(family, str(threads), str(rounds), record=record)
        branches = recorded.branches() if KIND != "stripped" else None
        functions = {}
        for line in recorded.lines:
            functions.setdefault(line["function"], []).append(line)
        answer = Answer(recorded.locks(), {*functions, *ALSO_WAITING})
        for function, lines in functions.items():
            if function in NOT_YET:
                print(f"left out: {function} of {family}")
                continue
            with self.subTest(function):
                self.judge_function(answer, branches, function, lines)
        with self.subTest("other sites"):
            if "other sites" in NOT_YET:
                print(f"left out: other sites of {family}")
                return answer, branches
            known = answer.sites_of(answer.functions)
            others = [(site["function"], site["caller"], site["waits"], site["trips"], site["sleeps"])
                      for site in answer.sites if site not in known and not self.may_wait(site)]
            self.assertEqual(others, [])
        return answer, branches

    @staticmethod
    def may_wait(site):
        """Whether the libraries take a lock there that others give up in a moment: a thread may wait or not."""
        return site["library"]

    def judge_function(self, answer, branches, function, lines):
        by_thread = {}
        for line in lines:
            sums = by_thread.setdefault(line["tid"], dict.fromkeys(
                ("acquisitions", "waits", "trips", "sleeps", "at_least_ns", "at_most_ns", "longest_ns"), 0))
            longest = max(sums["longest_ns"], line["longest_ns"])
            for key in sums:
                sums[key] += line[key]
            sums["longest_ns"] = longest
        first = lines[0]
        told_by_thread = {tid: answer.thread(function, tid) for tid in by_thread}
        peeled = self.first_check_is_peeled(first, by_thread, told_by_thread)
        for tid, own in by_thread.items():
            says = f"{function}, thread {tid}: own {own}, told {told_by_thread[tid]}"
            self.judge_counts(first, own, told_by_thread[tid], peeled, says)
            self.judge_times(first, own, told_by_thread[tid], says)
        if branches and function in truth.LOOPS:
            self.assertEqual(sum(told["trips"] for told in told_by_thread.values()), branches.backward(function))

    @staticmethod
    def first_check_is_peeled(first, own, told):
        """Whether the compiler put a check ahead of the loop, whose failure is no round of the loop, in all threads."""
        return first["knows_trips"] and all(told[tid]["trips"] == own[tid]["trips"] - own[tid]["waits"] for tid in own)

    def judge_counts(self, first, own, told, peeled, says):
        if peeled:
            self.assertEqual(told["trips"], own["trips"] - own["waits"], says)
            self.assertLessEqual(told["waits"], own["waits"], says)
        elif first["knows_waits"]:
            self.assertEqual(told["waits"], own["waits"], says)
            # Pauses longer and longer; or sets its bit in a loop of its own, where the compiler does not optimise.
            if first["function"] in ("lock_ticket_backoff", "lock_bit"):
                self.assertGreaterEqual(told["trips"], own["trips"], says)
            elif first["knows_trips"]:
                self.assertIn(told["trips"], (own["trips"], own["trips"] + own["sleeps"]), says)
        # Functions that await are called from several places, and not all of these are sites: at some, no thread waits. How
        # often the rounds came to the lock that is inlined into them is not exact yet.
        if told["acquisitions"] is not None and not first["function"].startswith(("await_", "rounds_")):
            self.assertEqual(told["acquisitions"], own["acquisitions"], says)
        if not first["sleeping"]:
            self.assertEqual((told["sleeps"], told["sleeping"]), (0, 0), says)
        elif own["sleeps"] > 0:
            self.assertEqual(told["sleeps"], own["sleeps"], says)
        else:
            self.assertGreaterEqual(told["sleeps"], own["waits"], says)

    def judge_holders(self, sites):
        """One of two threads holds the lock for which the other one waits."""
        for site in sites:
            waits = {thread["tid"]: thread["waits"] for thread in site["threads"]}
            self.assertEqual(len(waits), 2)
            for holder in site["holders"]:
                # A short wait may lie at one moment, as far as the trace shows.
                others = sum(waits.values()) - waits[holder["tid"]]
                self.assertTrue(others / 2 <= holder["waits"] <= others, (holder, waits))
                self.assertLessEqual(holder["certain"], holder["time"])
            self.assertEqual({holder["tid"] for holder in site["holders"]}, set(waits))
            self.assertLessEqual(sum(holder["time"] for holder in site["holders"]), site["waiting"])

    def judge_times(self, first, own, told, says):
        if not first["knows_waits"] or own["waits"] == 0:
            return
        self.assertLessEqual(told["waiting_lo"], own["at_most_ns"], says)
        self.assertGreaterEqual(told["waiting_hi"], own["at_least_ns"], says)
        self.assertEqual(told["spinning"] + told["sleeping"], told["waiting"], says)
        # On a busy machine a thread may be stopped between a moment and the packet with its time.
        self.assertLessEqual(told["max"], own["longest_ns"] + 50 * MILLISECOND, says)


class Emulated(Judge):
    def test_spinning(self):
        self.judge("spinning")

    def test_queues(self):
        self.judge("queues")

    def test_posix(self):
        answer, branches = self.judge("posix", record=("--cyc",))
        for function in ("lock_normal", "lock_recursive", "lock_checking", "lock_adaptive", "lock_robust",
                         "lock_inheriting", "lock_c11", "lock_standard"):
            with self.subTest(f"holders of {function}"):
                self.judge_holders(answer.sites_of([function]))
        if branches:
            self.assertEqual(sum(site["sleeps"] for site in answer.sites), branches.system_calls(*FUTEX_WAITS))

    def test_others(self):
        self.judge("others", threads=3)

    def test_standard(self):
        self.judge("standard", threads=3)


class Stepped(Judge):
    """By single steps of the processor, which take long."""

    def test_some(self):
        self.judge("ttas,normal", rounds=1, record=("--engine", "step"))


def may_step():
    if "ptrace" in os.environ.get("FLOWBACK_TEST_HOST_LACKS", "").split(","):
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            truth.run(FLOWBACK, "record", "-q", "--engine", "step", "--max-instructions", "9", "-o", folder + "/it", "--",
                      "true")
        except truth.subprocess.CalledProcessError:
            return False
    return True


if __name__ == "__main__":
    if KIND == "stepped" and not may_step():
        print("skipped: ptrace is not permitted")
        sys.exit(77)
    SUITE = unittest.defaultTestLoader.loadTestsFromTestCase(Stepped if KIND == "stepped" else Emulated)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(SUITE).wasSuccessful())
