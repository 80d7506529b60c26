#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judged_test.py PROGRAM PROJECT: the tables' totals are those of other commands."""

import collections
import json
import unittest

import asked
from asked import BRANCHES, RECORDINGS, STEPPED, THREADS

ALL = [BRANCHES, THREADS, STEPPED, f"{RECORDINGS}/tiny.data", f"{RECORDINGS}/interruptions.data"]


class Judged(asked.Asking):
    def lines(self, recording, kind):
        done = self.flowback("decode", recording, "--as", kind, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_threads_and_functions_are_timelines(self):
        for recording in ALL:
            told = self.told("timeline", recording)
            threads = self.rows(recording, "SELECT * FROM threads")
            self.assertEqual(len(threads), len(told["threads"]))
            for row, thread in zip(threads, told["threads"]):
                for key in ("tid", "begin", "end", "instructions", "losses"):
                    self.assertEqual(row[key], thread[key], key)
                times = {key: value for key, value in thread["times"].items() if row[key] is not None}
                self.assertEqual({key: row[key] for key in times}, times)
                self.assertEqual(sum(thread["times"].values()), row["duration"])
            keys = ["calls", "partial", "self", "executing", "total", "self_instructions", "instructions", "min",
                    "median", "p99", "max"]
            functions = self.rows(recording, "SELECT * FROM functions")
            self.assertEqual([[row[key] for key in keys] for row in functions],
                             [[each[key] for key in keys] for each in told["functions"]])
            self.assertEqual([row["system_call"] for row in functions], [each["system_call"] for each in told["functions"]])

    def test_calls_are_those_of_decode(self):
        for recording in ALL:
            returns = [line for line in self.lines(recording, "calls") if line.get("type") == "return"]
            calls = self.rows(recording, "SELECT * FROM calls")
            self.assertEqual(len(calls), len(returns))
            for row, line in zip(calls, returns):
                self.assertEqual((row["tid"], row["instructions"], row["self_instructions"], row["exit"], row["depth"]),
                                 (line["tid"], line["instructions"], line["self"], line["exit"], line["depth"]))
                self.assertEqual(row["end"], line["time"])
                self.assertEqual(f"{row['ip'] & (1 << 64) - 1:x}", line["ip"])
            self.assertEqual(self.rows(recording, "SELECT sum(self_instructions) n FROM calls"),
                             self.rows(recording, "SELECT sum(instructions) n FROM threads"))

    def test_calls_add_up_to_functions(self):
        for recording in ALL:
            joined = self.rows(recording, """SELECT f.function, f.self_instructions AS of_function,
                (SELECT sum(self_instructions) FROM calls c WHERE c.function = f.function) AS of_calls
                FROM functions f WHERE f.calls > 0 AND NOT f.system_call""")
            for row in joined:
                self.assertEqual(row["of_function"], row["of_calls"], row)

    def test_system_calls_add_up_to_functions(self):
        for recording in ALL:
            rows = self.rows(recording, """SELECT coalesce(name || ' (system call)', 'system call') AS function,
                count(*) AS calls FROM syscalls GROUP BY 1 ORDER BY 1""")
            self.assertEqual(self.rows(recording, """SELECT function, calls FROM functions WHERE system_call
                ORDER BY 1"""), rows)
            self.assertEqual(self.rows(recording, """SELECT function, sum(calls) AS calls FROM call_paths
                WHERE system_call GROUP BY 1 ORDER BY 1"""), rows)
            self.assertEqual(self.rows(recording, """SELECT c.function FROM calls c JOIN functions f
                ON f.function = c.function WHERE f.system_call"""), [])

    def test_call_paths_add_up_to_threads(self):
        for recording in ALL:
            self.assertEqual(
                self.rows(recording, "SELECT tid, sum(self_instructions) n FROM call_paths GROUP BY tid ORDER BY tid"),
                self.rows(recording, "SELECT tid, instructions n FROM threads ORDER BY tid"))

    def test_events_are_those_of_decode(self):
        for recording in ALL:
            events = [line for line in self.lines(recording, "events") if line.get("type") == "event"]
            rows = self.rows(recording, "SELECT tid, event, time, offset FROM events")
            self.assertEqual(rows, [{key: line[key] for key in ("tid", "event", "time", "offset")} for line in events])

    def test_system_calls_are_those_of_decode(self):
        for recording in ALL:
            lines = [line for line in self.lines(recording, "calls")
                     if line.get("type") == "kernel" and line["cause"] == "system-call"]
            rows = self.rows(recording, "SELECT name, count(*) n FROM syscalls GROUP BY name")
            counts = collections.Counter(line["system_call"] for line in lines)
            self.assertEqual({row["name"]: row["n"] for row in rows}, dict(counts))

    def test_losses_are_those_of_info(self):
        lossy = asked.shared("traces/intel-pt")
        recordings = ALL + ([] if lossy is None else asked.perf_data_below(lossy)[:6])
        for recording in recordings:
            done = self.flowback("decode", recording, "--as", "summary", "--json")
            told = [json.loads(line) for line in done.stdout.splitlines()]
            total = told[-1]
            rows = self.rows(recording, """SELECT count(*) AS losses, coalesce(sum(bytes), 0) AS bytes_lost FROM losses
                                           WHERE offset IS NOT NULL""")
            self.assertEqual(rows, [{key: total[key] for key in ("losses", "bytes_lost")}], recording)

    def test_stacks_are_those_of_stack(self):
        for recording in (BRANCHES, THREADS):
            span = self.rows(recording, "SELECT min(begin) AS begin, max(end) AS end FROM threads")[0]
            compared = 0
            for part in range(5, 100, 15):
                time = span["begin"] + (span["end"] - span["begin"]) * part // 100
                at = f"{time // 10**9}.{time % 10**9:09}"
                done = self.flowback("stack", recording, "--at", at, "--json")
                for stack in (json.loads(line) for line in done.stdout.splitlines()):
                    if not stack.get("reached") or not stack["frames"]:
                        continue
                    names = [frame["function"] or "[unknown]" for frame in reversed(stack["frames"])]
                    row = self.rows(recording, f"SELECT stack_at({stack['tid']}, {time}) AS stack")[0]
                    self.assertEqual(row["stack"], ";".join(names), (recording, part, stack["tid"]))
                    compared += 1
            self.assertGreater(compared, 3, recording)

    def test_images_are_those_of_info(self):
        for recording in ALL:
            told = self.told("info", recording)["images"]
            rows = self.rows(recording, "SELECT path, usable FROM images")
            self.assertEqual([(row["path"], bool(row["usable"])) for row in rows],
                             [(image["path"], image["usable"]) for image in told])


unittest.main(argv=["judged_test"])
