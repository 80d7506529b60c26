#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""limits_test.py PROGRAM PROJECT: what limits of time, thread and function spare, and that they change no row."""

import atexit
import re
import shutil
import tempfile
import unittest

import asked

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER)
# Times are counts of instructions: on a busy machine a thread would stand still in some part of the time.
RECORDING = asked.emulated(FOLDER, "requests", "--clock", "instructions")


class Limits(asked.Asking):
    """All have one cache, which holds the index."""

    def setUp(self):
        super().setUp()
        self.folder = FOLDER
        threads = self.rows(RECORDING, "SELECT tid, begin, end, instructions FROM threads ORDER BY tid")
        self.tids = [thread["tid"] for thread in threads]
        self.begin, self.end = min(row["begin"] for row in threads), max(row["end"] for row in threads)
        self.all = sum(thread["instructions"] for thread in threads)

    def at(self, part):
        return self.begin + int((self.end - self.begin) * part)

    def played(self, sql):
        """The rows, and how many instructions were played for them."""
        done = self.flowback("query", RECORDING, sql, "--csv", "--verbose")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = re.search(r"query: played (\d+) of the flow's (\d+) instructions", done.stderr)
        self.assertIsNotNone(told, done.stderr)
        self.assertEqual(int(told[2]), self.all)
        return done.stdout, int(told[1])

    def same(self, select, limits, most):
        """The limits give the rows that they give where they spare nothing, for a part of the work."""
        # A plus takes the column away from the table's limits.
        free = re.sub(r"\b(begin|end|time|tid|function) ", r"+\1 ", limits)
        self.assertNotEqual(free, limits)
        expected, everything = self.played(f"{select} WHERE {free}")
        rows, some = self.played(f"{select} WHERE {limits}")
        self.assertEqual(sorted(rows.splitlines()), sorted(expected.splitlines()))
        self.assertGreater(rows.count("\n"), 1)
        self.assertLess(some, everything * most, f"{limits}: {some} of {everything}")
        return some

    CALLS = "SELECT * FROM calls"

    def test_a_scan_plays_all_once(self):
        self.assertEqual(self.played("SELECT count(*) FROM calls")[1], self.all)

    def test_calls_that_begin_in_a_time(self):
        for part in (0.25, 0.37, 0.62, 0.9):
            a, b = self.at(part), self.at(part + 0.03)
            self.same(f"{self.CALLS}", f"begin BETWEEN {a} AND {b}", 0.5)
            self.same(f"{self.CALLS}", f"begin >= {a} AND begin < {b}.5 AND function = 'Choose'", 0.5)

    def test_calls_that_end_in_a_time(self):
        a, b = self.at(0.4), self.at(0.43)
        some = "SELECT tid, begin, end, function, depth, caller, instructions, exit FROM calls"
        self.same(some, f"end BETWEEN {a} AND {b}", 0.5)
        # Its own instructions are known of a call that was followed from its begin.
        self.same(self.CALLS, f"end BETWEEN {a} AND {b}", 0.6)

    def test_calls_that_last_over_a_time(self):
        self.same("SELECT tid, begin, end, function, depth FROM calls",
                  f"begin <= {self.at(0.5)} AND end >= {self.at(0.55)}", 1.01)

    def test_one_thread(self):
        self.same(self.CALLS, f"tid = {self.tids[1]} AND depth < 4", 0.75)
        self.same("SELECT tid, begin, name, duration FROM syscalls", f"tid = {self.tids[0]} ", 0.75)

    def test_system_calls(self):
        a, b = self.at(0.5), self.at(0.6)
        self.same("SELECT tid, begin, * FROM syscalls", f"begin BETWEEN {a} AND {b}", 0.5)

    def test_events(self):
        self.same("SELECT tid, time, offset, * FROM events", f"time BETWEEN {self.at(0.5)} AND {self.at(0.52)}", 0.5)

    def test_a_limit_of_rows_ends_the_scan(self):
        self.assertLess(self.played("SELECT * FROM calls LIMIT 3")[1], self.all * 0.35)

    def test_no_row_fits(self):
        for limits in ("begin = NULL", "tid = 'x'", "begin < 0", f"begin > {self.end} AND begin < {self.begin}", "tid = 1.5",
                       f"tid = {self.tids[0]} AND tid = {self.tids[1]}", "function = 'Rare' AND function = 'Step'"):
            self.assertEqual(self.rows(RECORDING, f"SELECT * FROM calls WHERE {limits}"), [], limits)

    def test_odd_comparisons(self):
        """SQLite compares numbers with text by its own rules; limits must not go further."""
        late = self.at(0.99)
        for limits, same in ((f"begin > '{late}'", f"+begin > {late}"), (f"begin > {late}.25", f"+begin > {late}.25"),
                             ("tid > 'x'", "0"), ("tid < 'x'", "1"), ("function > 3", "1"), ("begin > -5.5", "1"),
                             (f"tid = '{self.tids[0]}'", f"+tid = {self.tids[0]}"),
                             (f"begin < 1e30 AND begin > {late}", f"+begin > {late}"),
                             (f"tid IN ({self.tids[0]}, {self.tids[1]}, 5)", "1"),
                             (f"begin IS NOT NULL AND begin = {self.begin}", f"+begin = {self.begin}")):
            count = "SELECT count(*) AS n FROM calls WHERE "
            self.assertEqual(self.rows(RECORDING, count + limits), self.rows(RECORDING, count + same), limits)

    def test_a_join_of_calls_with_calls(self):
        """Two scans at one time: the calls that Rare makes lie in it."""
        rows = self.rows(RECORDING, f"""SELECT r.tid, count(*) AS n, min(c.function) AS first, max(c.function) AS last
            FROM calls r JOIN calls c ON c.tid = r.tid AND c.begin >= r.begin AND c.begin <= r.end
            AND c.first_instruction BETWEEN r.first_instruction AND r.first_instruction + r.instructions - 1
            AND c.function IN ('Rare', 'Step') WHERE r.function = 'Rare' AND r.begin BETWEEN {self.at(0.5)} AND {self.at(0.58)} GROUP BY r.tid""")
        self.assertNotEqual(rows, [])
        for row in rows:
            self.assertEqual((row["n"] % 2, row["first"], row["last"]), (0, "Rare", "Step"))

    def test_stacks_at_a_time(self):
        rows = self.rows(RECORDING, f"""SELECT function, depth, stack_at(tid, begin) AS stack FROM calls
            WHERE function = 'Rare' AND begin BETWEEN {self.at(0.2)} AND {self.at(0.4)}""")
        self.assertNotEqual(rows, [])
        for row in rows:
            self.assertIn("Serve;Request", row["stack"])


unittest.main(argv=["limits_test"])
