#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""system_calls_test.py FLOWBACK CC: system calls are leaves of the timeline and of exported calls, as many by name as
strace counts and as the table syscalls has, and their times take nothing from the whole."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import callgrind

FLOWBACK = os.path.abspath(sys.argv[1])
CC = sys.argv[2]
# Without a library every system call is one of these.
PROGRAM = r"""
#define KEEP __attribute__((noinline, noclone))
static inline long Call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
static volatile long hidden = 39;
KEEP void Ask(void) { Call(110, 0, 0, 0); }
KEEP void Hide(void) { Call(hidden, 0, 0, 0); }
KEEP void Sleep(void) {
  long time[2] = {0, 3000000};
  Call(35, (long)time, 0, 0);
}
KEEP void Write(void) { Call(1, -1, 0, 0); }
KEEP void Spin(void) {
  for (int i = 0; i < 100000; ++i) __asm__ volatile("");
}
KEEP void Work(void) {
  Spin();
  for (int i = 0; i < 70; ++i) Ask();
  for (int i = 0; i < 5; ++i) Sleep();
  for (int i = 0; i < 9; ++i) Write();
  for (int i = 0; i < 3; ++i) Hide();
}
void _start(void) {
  Work();
  Call(231, 0, 0, 0);
  __builtin_unreachable();
}
"""
MADE = {"getppid": 70, "nanosleep": 5, "write": 9, "exit_group": 1}
ENDING = " (system call)"


class SystemCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = cls.holder.name
        cls.program = cls.folder + "/calls"
        with open(cls.program + ".c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        callgrind.run(CC, "-g", "-O1", "-static", "-nostdlib", "-fno-stack-protector", "-o", cls.program,
                      cls.program + ".c")
        cls.data = cls.folder + "/calls.data"
        callgrind.run(FLOWBACK, "record", "--engine", "emulate", "-o", cls.data, "--", cls.program)
        cls.told = json.loads(callgrind.run(FLOWBACK, "timeline", cls.data, "--json"))

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def leaves(self):
        """Of the sums by function: the name without its ending, and the sums."""
        return {one["name"].removesuffix(ENDING): one for one in self.told["functions"] if one["system_call"]}

    def test_counts(self):
        counts = {name: one["calls"] for name, one in self.leaves().items()}
        self.assertEqual(counts, MADE | {"system call": 3})
        rows = json.loads(callgrind.run(FLOWBACK, "query", self.data, "--json",
                                        "SELECT name, count(*) FROM syscalls GROUP BY name"))["rows"]
        self.assertEqual({row["name"] or "system call": row["count(*)"] for row in rows}, counts)

    def test_strace_counts_the_same(self):
        if shutil.which("strace") is None:
            self.skipTest("no strace")
        log = self.folder + "/strace"
        done = subprocess.run(["strace", "-f", "-o", log, self.program], check=False, capture_output=True)
        if done.returncode != 0:
            self.skipTest("strace is not allowed here")
        with open(log, encoding="utf-8") as file:
            counted = collections.Counter(re.findall(r"^\d+ +(\w+)\(", file.read(), re.M))
        # It was running when the trace began; and the code does not say which call `hidden` makes.
        self.assertEqual(counted.pop("execve"), 1)
        self.assertEqual(counted.pop("getpid"), 3)
        self.assertEqual({name: one["calls"] for name, one in self.leaves().items() if name != "system call"},
                         dict(counted))

    def test_they_lie_beneath_the_functions_that_made_them(self):
        functions, paths = self.told["functions"], self.told["paths"]
        callers = {}
        for path in paths:
            if path["function"] is None or not functions[path["function"]]["system_call"]:
                continue
            self.assertEqual(path["instructions"], 0)
            above = functions[paths[path["parent"]]["function"]]["name"]
            callers[functions[path["function"]]["name"].removesuffix(ENDING)] = above
        self.assertEqual(callers, {"getppid": "Ask", "nanosleep": "Sleep", "write": "Write", "system call": "Hide",
                                   "exit_group": "_start"})

    def test_times_are_conserved(self):
        sums = collections.Counter()
        for one in [*self.told["functions"], self.told["paths"][0]]:
            sums.update(one["own_times"])
        self.assertEqual(dict(sums), self.told["times"])
        # Each sleeps for 3 ms and all kernel time is a system call's.
        sleep = self.leaves()["nanosleep"]
        self.assertGreaterEqual(sleep["total"], 15_000_000)
        self.assertGreaterEqual(sleep["min"], 3_000_000)
        kernel = sum(one["own_times"]["kernel"] + one["own_times"]["off_cpu"] for one in self.told["functions"]
                     if not one["system_call"])
        self.assertLess(kernel, sleep["total"] / 100)

    def test_text(self):
        lines = callgrind.run(FLOWBACK, "timeline", self.data).splitlines()
        at = lines.index("by system call")
        table = lines[at + 2:lines.index("", at)]
        self.assertEqual(len(table), 5)
        self.assertIn("nanosleep" + ENDING, table[0])
        self.assertEqual([line for line in lines[:at] if ENDING in line], [])
        # The functions around system calls execute little, and the calls nothing: all are shown.
        paths = [line.split() for line in lines[lines.index("by call path") + 2:] if line]
        shares = {name: words[0] for words in paths for name in [*MADE, "Spin", "Ask"] if name in words}
        self.assertEqual({name: shares.get(name) for name in MADE}, dict.fromkeys(MADE, "-"))
        self.assertGreater(float(shares["Spin"]), 90)
        self.assertLess(float(shares["Ask"]), 0.5)

    def test_a_call_that_ends_the_process_is_known(self):
        # _start does not return; exit_group is not one of the unknown ends.
        text = " ".join(callgrind.run(FLOWBACK, "timeline", self.data).split())
        self.assertIn("Not known: begin or end of 1 call;", text)

    def test_exports(self):
        events = json.loads(callgrind.run(FLOWBACK, "export", self.data, "--to", "chrome"))["traceEvents"]
        counts = collections.Counter()
        open_calls = []
        last = 0
        for event in events:
            if event["ph"] not in "BE":
                continue
            self.assertGreaterEqual(event["ts"], last)
            last = event["ts"]
            if event["ph"] == "B":
                open_calls.append(event)
                continue
            begin = open_calls.pop()
            if begin["name"] == "nanosleep" + ENDING:
                self.assertGreaterEqual(round(1000 * (event["ts"] - begin["ts"])), 3_000_000)
                self.assertEqual(open_calls[-1]["name"], "Sleep")
            counts[begin["name"].removesuffix(ENDING)] += ENDING in begin["name"]
        self.assertEqual({name: count for name, count in counts.items() if count}, MADE)
        for words in (["--to", "speedscope"], ["--to", "csv"], ["--to", "callgrind"]):
            self.assertIn("nanosleep" + ENDING, callgrind.run(FLOWBACK, "export", self.data, *words), words)

    def test_one_core_tells_the_same(self):
        alone = callgrind.run(FLOWBACK, "timeline", self.data, "--json", "--threads", "1", "--no-cache")
        self.assertEqual(json.loads(alone), self.told)


if __name__ == "__main__":
    unittest.main(argv=["system_calls_test"])
