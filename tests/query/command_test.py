#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""command_test.py PROGRAM PROJECT: the words of `query`, its formats, and what it refuses."""

import csv
import io
import json
import os
import unittest

import asked
from asked import BRANCHES, THREADS


class Command(asked.Asking):
    def test_formats(self):
        sql = "SELECT function, calls, NULL AS none FROM functions WHERE function IN ('Deep', 'Leaf') ORDER BY 1"
        told = json.loads(self.flowback("query", BRANCHES, sql, "--json").stdout)
        self.assertEqual(told["schema"], "flowback.query/1")
        self.assertEqual(told["columns"], ["function", "calls", "none"])
        self.assertEqual([row["function"] for row in told["rows"]], ["Deep", "Leaf"])
        self.assertIsNone(told["rows"][0]["none"])
        numbers = [str(row["calls"]) for row in told["rows"]]
        lines = list(csv.reader(io.StringIO(self.flowback("query", BRANCHES, sql).stdout)))
        self.assertEqual(lines, [["function", "calls", "none"], ["Deep", numbers[0], ""], ["Leaf", numbers[1], ""]])
        box = self.flowback("query", BRANCHES, sql, "--box").stdout.splitlines()
        self.assertEqual(len({len(line) for line in box}), 1, box)
        self.assertEqual([word.strip() for word in box[3].split("│")[1:4]], ["Deep", numbers[0], ""])

    def test_text_that_formats_must_quote(self):
        text = "a,\"b\" '\n\x1b[31m"
        sql = "SELECT 'a,\"b\" ''' || char(10, 27) || '[31m' AS \"x,y\", 2 AS n, 3 AS n"
        told = json.loads(self.flowback("query", BRANCHES, sql, "--json").stdout)
        self.assertEqual(told["rows"], [{"x,y": text, "n": 2, "n:1": 3}])
        done = self.flowback("query", BRANCHES, sql, "--csv").stdout
        self.assertNotIn("\x1b", done)
        self.assertEqual(next(csv.reader(io.StringIO(done))), ["x,y", "n", "n"])
        self.assertNotIn("\x1b", self.flowback("query", BRANCHES, sql, "--box").stdout)

    def test_statements_from_files_and_standard_input(self):
        script = "CREATE VIEW deep AS SELECT * FROM calls WHERE function = 'Deep';\n-- a comment\nSELECT count(*) n FROM deep;"
        path = f"{self.folder}/script.sql"
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        expected = self.flowback("query", BRANCHES, "SELECT count(*) n FROM calls WHERE function = 'Deep'").stdout
        self.assertEqual(self.flowback("query", BRANCHES, "-f", path).stdout, expected)
        self.assertEqual(self.flowback("query", BRANCHES, "-", stdin=script).stdout, expected)
        self.assertEqual(self.flowback("query", BRANCHES, "-f", "-", stdin=script).stdout, expected)
        self.assertEqual(self.flowback("query", BRANCHES).returncode, 2)
        self.assertEqual(self.flowback("query", BRANCHES, "-f", f"{self.folder}/none.sql").returncode, 2)
        self.assertEqual(self.flowback("query", BRANCHES, script, "-f", path).returncode, 2)

    def test_schema(self):
        text = self.flowback("query", "--schema").stdout
        told = json.loads(self.flowback("query", "--schema", "--json").stdout)
        self.assertEqual(told["schema"], "flowback.query.schema/1")
        for table in told["tables"]:
            self.assertIn(f"\n{table['name']}: ", f"\n{text}")
            if table["name"] == "instances":
                continue  # of one function
            done = self.flowback("query", BRANCHES, f"SELECT * FROM {table['name']} LIMIT 1", "--csv")
            if done.returncode != 0:
                self.assertIn("\n  try: ", done.stderr)
                continue
            names = next(csv.reader(io.StringIO(done.stdout)))
            self.assertEqual(names, [column["name"] for column in table["columns"]])

    def test_help(self):
        self.assertIn("SELECT function, calls", self.flowback("help", "sql").stdout)
        self.assertIn("flowback help sql", self.flowback("help", "query").stdout)

    def test_one_word_is_sql(self):
        os.symlink(BRANCHES, f"{self.folder}/perf.data")
        os.symlink(f"{BRANCHES}.images", f"{self.folder}/perf.data.images")
        done = asked.subprocess.run([asked.FLOWBACK, "query", "SELECT count(*) AS n FROM images", "--no-cache"],
                                    cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "n\n1\n"), done.stderr)

    def test_errors_have_a_place(self):
        message = self.refused(BRANCHES, "SELECT function,\n  nosuch FROM calls", 2, "no such column: nosuch")
        self.assertIn("at line 2, column 3", message)
        place = message.splitlines()[:2]
        self.assertEqual(place[0][place[1].index("^"):][:6], "nosuch")
        done = self.flowback("query", BRANCHES, "SELECT 1;\n SELEC 2")
        self.assertIn("syntax error, at line 2, column 2", done.stderr)
        self.refused(BRANCHES, "SELECT * FROM nosuch", 2, "no such table: nosuch")
        self.refused(BRANCHES, "SELECT percentile(duration, 101) FROM calls", 2, "from 0 to 100")

    def test_an_error_keeps_what_came_before(self):
        done = self.flowback("query", BRANCHES, "SELECT 1 AS one; SELECT nosuch")
        self.assertEqual((done.returncode, done.stdout), (2, "one\n1\n"))

    def test_texts_are_compared_as_sql_says(self):
        for table, known in (("calls", "Leaf"), ("functions", "Leaf"), ("blocks", "Leaf")):
            for word in (f"'{known.upper()}' COLLATE NOCASE", f"'{known}   ' COLLATE RTRIM", f"'{known}'"):
                limited, whole = (self.rows(BRANCHES, f"SELECT count(*) AS n FROM {table} WHERE {column} = {word}")
                                  for column in ("function", "+function"))
                self.assertEqual(limited, whole, (table, word))
                self.assertGreater(limited[0]["n"], 0, (table, word))

    def test_odd_scripts(self):
        path = f"{self.folder}/nul.sql"
        with open(path, "wb") as file:
            file.write(b"SELECT 1;\0")
        done = self.flowback("query", BRANCHES, "-f", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("a NUL byte, at line 1, column 10", done.stderr)
        done = self.flowback("query", BRANCHES, "-f", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Is a directory", done.stderr)
        self.refused(BRANCHES, "SELECT zeroblob(1000000000)", 2, "16 MiB")

    def test_names_of_the_recording_stay(self):
        for sql in ("CREATE TABLE calls(a)", "CREATE TEMP TABLE Calls(a)", "CREATE VIEW threads AS SELECT 1",
                    "SELECT fts3_tokenizer('simple')"):
            self.refused(BRANCHES, sql, 2, "author")
        self.assertEqual(self.rows(BRANCHES, "CREATE TABLE own AS SELECT 7 AS a; SELECT a FROM own"), [{"a": 7}])

    def test_numbers_keep_their_digits(self):
        row = self.rows(BRANCHES, "SELECT 1640272057689123.25 AS a, 1e0 AS b, 2 AS b, 3 AS \"b:1\"")[0]
        self.assertEqual(row, {"a": 1640272057689123.25, "b": 1.0, "b:1": 2, "b:1:1": 3})
        text = self.flowback("query", "--csv", BRANCHES, "SELECT 1640272057689123.25 AS a, 1e0 AS b").stdout
        self.assertEqual(text.split()[1], "1640272057689123.2,1.0")

    def test_files_are_out_of_reach(self):
        other = f"{self.folder}/other.db"
        for sql in (f"ATTACH '{other}' AS other", f"VACUUM INTO '{other}'", "SELECT load_extension('x')",
                    "PRAGMA journal_mode = wal", f"PRAGMA temp_store_directory = '{self.folder}'",
                    "PRAGMA writable_schema = 1", "DETACH main"):
            self.refused(BRANCHES, sql, 2, "author")
        for sql in ("INSERT INTO calls(tid) VALUES(1)", "DELETE FROM threads", "UPDATE images SET path = 'x'",
                    "CREATE VIRTUAL TABLE own USING calls"):
            self.assertEqual(self.flowback("query", BRANCHES, sql).returncode, 2, sql)
        self.assertFalse(os.path.exists(other))
        self.assertEqual(self.flowback("query", BRANCHES, "PRAGMA table_info(calls)").returncode, 0)

    def test_what_a_recording_cannot_tell(self):
        self.refused(BRANCHES, "SELECT * FROM switches", 1, "context switches were not recorded")
        sampled = asked.shared("traces/branch-stack/autofdo-hierdisc-haswell/"
                               "hierarchical_discriminator_test.x86_64.perf.data")
        if sampled is None:
            self.skipTest("no ../shared")
        for table in ("calls", "syscalls", "functions", "call_paths", "threads"):
            self.refused(sampled, f"SELECT * FROM {table}", 1, "samples")
        self.refused(sampled, "SELECT stack_at(1, 1)", 1, "samples")

    def test_options_that_do_not_apply(self):
        for option, word in (("--time", "1,2"), ("--cpu-list", "0")):
            done = self.flowback("query", BRANCHES, "SELECT 1", option, word)
            self.assertEqual(done.returncode, 2)
            self.assertIn("WHERE begin BETWEEN", done.stderr)

    def test_chosen_threads(self):
        tids = [row["tid"] for row in self.rows(THREADS, "SELECT tid FROM threads")]
        self.assertGreater(len(tids), 1)
        for table in ("threads", "calls", "call_paths"):
            one = self.rows(THREADS, f"SELECT DISTINCT tid FROM {table}", "--tid", str(tids[1]))
            self.assertEqual(one, [{"tid": tids[1]}])
            same = self.rows(THREADS, f"SELECT DISTINCT tid FROM {table} WHERE tid = {tids[1]}")
            self.assertEqual(same, one)

    def test_chosen_threads_of_switches(self):
        recording = asked.shared("traces/generated/spin-switchwide-power/perf.data")
        if recording is None:
            self.skipTest("no ../shared")
        tids = [row["tid"] for row in self.rows(recording, "SELECT DISTINCT tid FROM switches ORDER BY tid")]
        self.assertGreater(len(tids), 1)
        one = self.rows(recording, "SELECT DISTINCT tid FROM switches", "--tid", str(tids[-1]))
        self.assertEqual(one, [{"tid": tids[-1]}])

    def test_functions(self):
        row = self.rows(BRANCHES, "SELECT duration(1500000) a, duration(-1) b, duration('x') c, source(1) d,"
                                  " stack_at(1, 2) e, percentile(NULL, 50) f")[0]
        self.assertEqual([row[key] for key in "cdef"], [None] * 4)
        self.assertEqual((row["a"], row["b"]), ("1.50 ms", "-1 ns"))
        values = "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) SELECT x FROM n)"
        ranks = self.rows(BRANCHES, f"SELECT percentile(x, 0) a, percentile(x, 50) b, percentile(x, 99.5) c,"
                                    f" percentile(x, 100) d, percentile(x + 9007199254740993, 100) e FROM {values}")[0]
        self.assertEqual(list(ranks.values()), [1, 100, 199, 200, 9007199254740993 + 200])

    def test_a_closed_pipe_ends_the_work(self):
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
        line = f"'{asked.FLOWBACK}' query '{BRANCHES}' '{endless}' | head -n 3"
        self.assertEqual(asked.subprocess.run(line, shell=True, capture_output=True, timeout=60, check=False).stdout,
                         b"x\n1\n2\n")


unittest.main(argv=["command_test"])
