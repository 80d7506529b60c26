#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documented_test.py PROGRAM PROJECT: runs the queries of docs/how-to/query.md."""

import re
import unittest

import asked
from asked import BRANCHES, PROJECT, THREADS

with open(f"{PROJECT}/docs/how-to/query.md", encoding="utf-8") as page:
    QUERIES = re.findall(r"^## ([^\n]*)\n(?:[^#`\n][^\n]*\n)*```sql\n(.*?)```", page.read(), re.M | re.S)

# The first row of a query of branches.data has these values.
TRUTH = {
    "Which functions executed most instructions themselves?": {"function": "Deep"},
    "What was each thread's time?": {"comm": "branches"},
}


class Documented(asked.Asking):
    def test_there_are_twelve(self):
        self.assertEqual(len(QUERIES), 12, [title for title, _ in QUERIES])

    def test_each_runs_and_has_rows(self):
        for title, sql in QUERIES:
            with self.subTest(title):
                rows = self.rows(BRANCHES, sql)
                others = self.rows(THREADS, sql)
                self.assertNotEqual(rows + others, [])
                for key, value in TRUTH.get(title, {}).items():
                    self.assertEqual(rows[0][key], value)


unittest.main(argv=["documented_test"])
