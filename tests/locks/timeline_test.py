#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""timeline_test.py FLOWBACK CONTENDED RECORDINGS: `timeline --waits` and `export --waits` have the same times as `locks`, and
they are parts of the threads' time. CONTENDED is a program whose threads wait for each other, spinning and sleeping."""

import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "writers"))
import perfetto  # noqa: E402

FLOWBACK, CONTENDED, RECORDINGS = sys.argv[1:]
CLASSES = ("executing", "off_cpu", "kernel", "lost", "filtered", "undecodable")


def run(*words):
    return subprocess.run([FLOWBACK, *words], check=True, capture_output=True, text=True).stdout


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.cache = ("--cache-dir", f"{cls.folder.name}/cache")
        cls.recording = f"{cls.folder.name}/contended.data"
        run("record", "-q", "-o", cls.recording, "--", CONTENDED, "posix", "2", "5")
        cls.told = cls.timeline("--waits")
        cls.locks = json.loads(run("locks", *cls.cache, cls.recording, "--json"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def timeline(cls, *words, recording=None):
        return json.loads(run("timeline", *cls.cache, recording or cls.recording, "--json", *words))

    def assert_time_is_conserved(self, told):
        sums = dict.fromkeys(("spinning", "sleeping"), 0)
        for thread in told["threads"]:
            waits = thread["waits"]
            self.assertEqual(sum(thread["times"].values()), thread["end"] - thread["begin"])
            for part in sums:
                self.assertEqual(waits[part], sum(waits[f"{part}_times"][each] for each in CLASSES))
                sums[part] += waits[part]
                if thread["strip"]:
                    self.assertEqual(waits[part], sum(column[part] for column in thread["strip"]))
            for each in CLASSES:
                self.assertLessEqual(waits["spinning_times"][each] + waits["sleeping_times"][each],
                                     thread["times"][each])
            for column in thread["strip"]:
                self.assertLessEqual(column["spinning"] + column["sleeping"], sum(column["times"]))
        for part, time in sums.items():
            self.assertEqual(told["waits"][part], time)

    def test_tells_what_locks_tells(self):
        self.assert_time_is_conserved(self.told)
        self.assertEqual([(each["tid"], each["spinning"], each["sleeping"]) for each in self.locks["threads"]],
                         [(each["tid"], each["waits"]["spinning"], each["waits"]["sleeping"])
                          for each in self.told["threads"]])
        self.assertGreater(self.told["waits"]["spinning"], 0)
        self.assertGreater(self.told["waits"]["sleeping"], 0)
        for thread in self.told["threads"]:
            waited = thread["waits"]["spinning"] + thread["waits"]["sleeping"] != 0
            self.assertEqual(waited, thread["waits"]["mostly"] is not None)
        # The first thread waits for the end of the others.
        self.assertIn("join() called at main.cc:", self.told["threads"][0]["waits"]["mostly"])

    def test_all_else_is_as_without_it(self):
        told = json.loads(json.dumps(self.told))
        del told["waits"]
        for thread in told["threads"]:
            del thread["waits"]
            for column in thread["strip"]:
                del column["spinning"], column["sleeping"]
        self.assertEqual(told, self.timeline())

    def test_a_part_of_the_time(self):
        part = self.timeline("--waits", "--time", "20%,60%")
        self.assert_time_is_conserved(part)
        self.assertGreater(part["waits"]["sleeping"], 0)
        self.assertLess(part["waits"]["sleeping"], self.told["waits"]["sleeping"])

    def test_text(self):
        text = run("timeline", *self.cache, self.recording, "--waits")
        self.assertRegex(text, r"Waiting for other threads is [\d.]+ % of that: [\d.]+ % spinning, [\d.]+ % sleeping")
        self.assertIn("\nwaits of threads\n", text)
        self.assertRegex(text, r"% +contended \d+: \S*join\(\) called at main.cc:\d+\n")
        self.assertIn("= sleeping", text)
        self.assertNotIn("spinning", run("timeline", *self.cache, self.recording))

    def test_recordings_without_waits_and_without_times(self):
        tiny = f"{RECORDINGS}/tiny.data"
        self.assertIn("No thread waited for another one.", run("timeline", *self.cache, tiny, "--waits"))
        told = self.timeline("--waits", recording=tiny)
        self.assertEqual((told["waits"]["spinning"], told["waits"]["sleeping"]), (0, 0))

    def test_folded_paths(self):
        sums = {"spinning": 0, "sleeping": 0}
        lines = run("export", *self.cache, "--to", "folded", "--waits", self.recording).splitlines()
        for line in lines:
            path, time = line.rsplit(" ", 1)
            frames = path.split(";")
            sums[frames[-1].strip("[]")] += int(time)
            self.assertGreater(int(time), 0)
        self.assertEqual(sums, {part: self.locks["waits"][part] for part in sums})
        for words in ("__clone;start_thread;", ";std::thread::join();[sleeping] "):
            self.assertTrue(any(words in line for line in lines), lines)
        self.assertEqual(run("export", *self.cache, "--to", "folded", "--waits", f"{RECORDINGS}/tiny.data"), "")

    def test_perfetto_shows_the_waits_that_locks_finds(self):
        """Each as a slice, with a flow to the thread that held the lock, and one back."""
        trace = f"{self.folder.name}/out"
        run("export", *self.cache, "--to", "perfetto", "--waits", "-o", trace, self.recording)
        with open(trace, "rb") as file:
            threads = perfetto.read(file.read())
        waits = collections.Counter()
        for tid, thread in threads.items():
            begins = [time for enters, _, time in thread.waits if enters]
            ends = [time for enters, _, time in thread.waits if not enters]
            waits.update((tid, begin, end) for begin, end in zip(begins, ends, strict=True))
        listed = [wait for wait in self.locks["worst"] if wait["begin"] < wait["end"]]
        self.assertGreater(len(listed), 2)
        known = collections.Counter((wait["tid"], wait["begin"], wait["end"]) for wait in listed)
        self.assertLessEqual(known, waits)  # `locks` lists the longest alone
        begun = {flow: (tid, time) for tid, thread in threads.items() for flow, time in thread.flows}
        ended = {flow: (tid, time) for tid, thread in threads.items() for flow, time in thread.ends}
        self.assertGreater(len(begun), 2)
        self.assertEqual({flow: time for flow, (_, time) in begun.items()},
                         {flow: time for flow, (_, time) in ended.items()})
        to_holder = collections.Counter((begun[flow][0], ended[flow][0]) for flow in begun if flow % 2 == 1)
        self.assertLessEqual(collections.Counter((wait["tid"], wait["holder"]) for wait in listed
                                                 if wait["holder"] is not None), to_holder)

    def test_formats_without_a_place_for_waits(self):
        for name in ("autofdo", "bolt", "brstack", "perf", "csv"):
            done = subprocess.run([FLOWBACK, "export", "--to", name, "--waits", self.recording], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(f"--waits does not apply to --to {name}", done.stderr)
            self.assertIn("\n  try: --to folded --waits", done.stderr)

    def test_the_instruction_at_which_a_wait_begins(self):
        recording = f"{RECORDINGS}/changes.data"
        wait = json.loads(run("locks", *self.cache, recording, "--json"))["worst"][0]
        number = wait["first_instruction"]
        lines = [json.loads(line) for line in run("timeline", *self.cache, recording, "--at", f"#{number}", "--tid",
                                                  str(wait["tid"]), "--around", "1", "--json").splitlines()]
        told = [line for line in lines if line.get("type") == "instruction"]
        self.assertEqual([(each["number"], each["here"]) for each in told], [(number - 1, False), (number, True)])
        self.assertEqual(told[0]["insn"], "syscall")
        for word in ("#", "#x", "#-1", "#1x", "#99999999999999999999"):
            done = subprocess.run([FLOWBACK, "timeline", recording, "--at", word], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        done = subprocess.run([FLOWBACK, "timeline", recording, "--at", "#99999999"], capture_output=True, text=True,
                              check=False)
        self.assertIn("no thread has that many instructions", done.stderr)

    def test_what_it_does_not_go_with(self):
        for words in (["--at", "50%"], ["--overview"]):
            done = subprocess.run([FLOWBACK, "timeline", self.recording, "--waits", *words], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn("--waits does not apply", done.stderr)
            self.assertIn("\n  try: ", done.stderr)


if __name__ == "__main__":
    os.environ.pop("FLOWBACK_CACHE", None)
    unittest.main(argv=sys.argv[:1])
