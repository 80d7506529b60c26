#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""analyses_test.py PROGRAM PROJECT: waits, instances, branches, blocks and samples are those of the commands that find
them, and system calls are those that strace counts."""

import atexit
import collections
import json
import re
import shutil
import subprocess
import tempfile
import unittest

import asked
from asked import BRANCHES, RECORDINGS, THREADS

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER)
CONTENDED = asked.emulated(FOLDER, "contended")


class Analyses(asked.Asking):
    def lines(self, *words):
        done = self.flowback(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_waits_are_those_of_locks(self):
        for recording in (CONTENDED, THREADS, BRANCHES):
            told = self.told("locks", recording)
            sums = self.rows(recording, """SELECT count(*) AS waits, coalesce(sum(duration), 0) AS waiting,
                coalesce(sum(trips), 0) AS trips, coalesce(sum(sleeping), 0) AS sleeping FROM waits""")[0]
            self.assertEqual(sums, {key: told["waits"][key] for key in sums})
            sites = self.rows(recording, """SELECT function, caller, count(*) AS waits, sum(duration) AS waiting
                FROM waits GROUP BY pid, site, ip""")
            expected = [{key: site[key] for key in ("function", "caller", "waits", "waiting")}
                        for site in told["sites"] if site["waits"] != 0]
            self.assertEqual(sorted(map(str, sites)), sorted(map(str, expected)))
        self.assertGreater(len(self.rows(CONTENDED, "SELECT * FROM waits WHERE function LIKE '%mutex_lock%'")), 0)
        for row in self.rows(CONTENDED, "SELECT tid, holder, certain FROM waits WHERE holder IS NOT NULL"):
            self.assertNotEqual(row["tid"], row["holder"])

    def test_instances_are_those_of_spikes(self):
        told = self.told("spikes", CONTENDED, "--function", "Locked")
        counts = self.rows(CONTENDED, """SELECT count(*) AS compared, sum(slow = 1) AS slow, sum(slow = 0) AS normal
            FROM instances WHERE function = 'Locked' AND state = 'whole'""")[0]
        self.assertEqual(counts["compared"], told["instances"]["compared"])
        self.assertEqual((counts["slow"], counts["normal"]), (told["slow"], told["normal"]))
        self.assertEqual(counts["compared"], 120)
        for row in self.rows(CONTENDED, "SELECT * FROM instances WHERE function = 'Work'"):
            self.assertEqual(sum(row[key] for key in ("executing", "off_cpu", "kernel", "lost", "filtered",
                                                      "undecodable")), row["duration"])
        calls = self.rows(CONTENDED, "SELECT tid, first_instruction, instructions FROM calls WHERE function = 'Work'"
                                     " ORDER BY 1, 2")
        self.assertEqual(self.rows(CONTENDED, "SELECT tid, first_instruction, instructions FROM instances"
                                              " WHERE function = 'Work' ORDER BY 1, 2"), calls)
        self.refused(CONTENDED, "SELECT * FROM instances", 2, "does not name")

    def test_branches_are_those_of_branches(self):
        for recording in (CONTENDED, BRANCHES, f"{RECORDINGS}/branches-stacks.data"):
            told = [line for line in self.lines("branches", recording) if line.get("type") == "branch"]
            rows = self.rows(recording, """SELECT ip, sum(taken) AS taken, sum(not_taken) AS not_taken,
                sum(predicted) AS right, sum(mispredicted) AS wrong FROM branches GROUP BY file, ip""")
            self.assertEqual({row["ip"]: list(row.values())[1:] for row in rows},
                             {int(line["ip"], 16): [line[key] for key in ("taken", "not_taken", "right", "wrong")]
                              for line in told})
        total = self.lines("decode", CONTENDED, "--as", "summary")[-1]
        sums = self.rows(CONTENDED, "SELECT sum(taken) AS taken, sum(not_taken) AS not_taken FROM branches"
                                    " WHERE class = 'conditional'")
        self.assertEqual(sums, [{key: total[key] for key in ("taken", "not_taken")}])

    def test_blocks_are_those_of_coverage(self):
        for recording in (CONTENDED, BRANCHES):
            told = self.lines("coverage", recording)[0]["blocks"]
            row = self.rows(recording, """SELECT count(*) AS total, sum(state = 'executed') AS executed,
                sum(state = 'unknown') AS unknown FROM blocks WHERE stub = 0""")[0]
            self.assertEqual(row, {key: told[key] for key in row})
        times = self.rows(BRANCHES, "SELECT sum(times) AS n FROM blocks WHERE function = 'Leaf'")[0]["n"]
        self.assertEqual(times, self.rows(BRANCHES, "SELECT calls AS n FROM functions WHERE function = 'Leaf'")[0]["n"])

    def test_blocks_have_all_instructions(self):
        """Stubs of linkage tables, and blocks that were left in their middle, included."""
        recording = asked.emulated(self.folder, "contended")
        told = self.rows(recording, "SELECT (SELECT sum(executed) FROM blocks) AS blocks,"
                                    " (SELECT sum(instructions) FROM threads) AS threads")[0]
        self.assertEqual(told["blocks"], told["threads"])

    def test_samples_and_accesses(self):
        folder = asked.shared("traces")
        if folder is None:
            self.skipTest("no ../shared")
        for recording in asked.perf_data_below(folder):
            if "/generated/" in recording:
                continue
            done = self.flowback("branches", "--mem", recording, "--json")
            query = self.flowback("query", recording, "SELECT count(*) AS samples, sum(load) AS loads,"
                                                      " sum(store) AS stores FROM memory", "--json")
            if done.returncode != 0:
                self.assertNotEqual(query.returncode, 0, recording)
                continue
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            code = [line for line in lines if line.get("type") == "instruction"]
            self.assertEqual(json.loads(query.stdout)["rows"],
                             [{key: sum(line[key] for line in code) for key in ("samples", "loads", "stores")}])

    def test_nothing_is_sampled(self):
        for table in ("samples", "memory"):
            self.refused(BRANCHES, f"SELECT * FROM {table}", 1, "no sampled access" if table == "memory" else
                         "holds no samples")

    def test_system_calls_are_those_of_strace(self):
        if shutil.which("strace") is None:
            self.skipTest("no strace")
        log = f"{FOLDER}/strace"
        done = subprocess.run(["strace", "-f", "-o", log, f"{FOLDER}/contended"], check=False, capture_output=True)
        if done.returncode != 0:
            self.skipTest("strace is not allowed here")
        with open(log, encoding="utf-8") as file:
            counted = collections.Counter(re.findall(r"^\d+ +(\w+)\(", file.read(), re.M))
        rows = self.rows(CONTENDED, "SELECT name, count(*) AS n FROM syscalls GROUP BY name")
        told = {row["name"]: row["n"] for row in rows}
        # The emulator answers some calls in its own way, and how often threads sleep is chance.
        for name in ("getppid", "set_robust_list", "mprotect", "mmap", "rt_sigprocmask", "arch_prctl"):
            self.assertEqual(told.get(name), counted[name], (name, told, counted))


unittest.main(argv=["analyses_test"])
