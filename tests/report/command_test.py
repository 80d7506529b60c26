#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""command_test.py FLOWBACK PROJECT: the report's numbers are those of the other commands, and what it refuses."""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import reported

FLOWBACK, PROJECT = sys.argv[1:3]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def state_of(pid):
    """The letter that the kernel has for a process's state; None: there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def stopped_child_of(process):
    """A command that the report runs, stopped in its work."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
            children = [int(word) for word in file.read().split()]
        for child in children:
            try:
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    if file.read().split(b"\0")[1:2] in ([], [b"report"]):
                        continue  # it has ended, or is not yet the command
                os.kill(child, signal.SIGSTOP)
            except (FileNotFoundError, ProcessLookupError):
                continue
            while state_of(child) not in ("T", "Z", None):
                time.sleep(0.001)
            if state_of(child) == "T":
                return child
    raise AssertionError("no child was met")


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.reports = reported.Reports(FLOWBACK, PROJECT, cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def path(self, name):
        return os.path.join(self.temporary.name, name)

    def done(self, *words):
        done = self.reports.run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def report(self, *words):
        """The data of a page."""
        page = self.path("report.html")
        self.done("report", *words, "-o", page)
        with open(page, encoding="utf-8") as file:
            return reported.data_of(file.read())

    def told(self, command, recording, *words):
        return json.loads(self.done(command, recording, "--json", *words))

    def answers(self, recording, *words):
        report = self.report(recording, *words)
        self.assertEqual(report["schema"], "flowback.report/1")
        return reported.sections(report["recordings"][0])

    def check_numbers(self, name):
        recording = self.reports.recording(name)
        answers = self.answers(recording)
        info = answers["info"]["data"]
        told = self.told("info", recording)
        for key in ("instructions", "bytes", "bytes_lost"):
            self.assertEqual(sum(stream[key] for stream in info["streams"]),
                             sum(stream[key] for stream in told["streams"]), key)
        self.assertEqual([thread["times"] for thread in info["threads"]], [thread["times"] for thread in told["threads"]])
        self.check_timeline(answers["timeline"]["data"], recording)
        self.check_coverage(answers["coverage"]["data"], recording)
        locks, told = answers["locks"]["data"], self.told("locks", recording)
        self.assertEqual(locks["waits"], told["waits"])
        self.assertEqual([site["waiting"] for site in locks["sites"]], [site["waiting"] for site in told["sites"]])
        self.assertEqual(answers["crash"]["data"]["sentence"], self.told("crash", recording)["sentence"])
        return answers

    def check_timeline(self, timeline, recording):
        told = self.told("timeline", recording)
        expected = {(f["name"], f["self_instructions"], f["calls"]) for f in told["functions"]}
        shown = {(f["name"], f["instructions"], f["calls"]) for f in timeline["functions"]}
        self.assertEqual(shown, expected)
        self.assertEqual(timeline["paths"]["instructions"], [path["instructions"] for path in told["paths"]])
        self.assertEqual(len(timeline["threads"]), len(told["threads"]))
        self.assertEqual(set(timeline["left_out"].values()), {0})
        text = " ".join(self.done("timeline", recording, "--waits").split("\n\n")[0].split())
        for sentence in timeline["said"]:
            self.assertIn(" ".join(sentence.split()), text)

    def check_coverage(self, coverage, recording):
        lines = [json.loads(line) for line in self.done("coverage", recording, "--json").splitlines()]
        program = next(line for line in lines if line["type"] == "object" and line["object"] == lines[0]["main"])
        for kind in ("functions", "lines", "branches", "blocks", "instructions"):
            self.assertEqual(coverage["program"][kind], program[kind], kind)
        rows = [line for line in lines if line["type"] == "line"]
        self.assertEqual(sum(file["lines"]["total"] for file in coverage["files"]), len(rows))
        self.assertEqual(sum(file["lines"]["executed"] for file in coverage["files"]),
                         sum(line["executed"] == "yes" for line in rows))
        never = [line["function"] for line in lines if line["type"] == "function" and line["executed"] != "yes"]
        self.assertEqual(sorted(row["function"] for row in coverage["never"]), sorted(never))
        one_way = [line for line in lines if line["type"] == "branch" and (line["taken"] == 0) != (line["not_taken"] == 0)]
        self.assertEqual(len(coverage["one_way"]) + coverage["left_out"]["one_way"], len(one_way))
        text = self.done("coverage", recording)
        self.assertEqual("".join(sentence + "\n" for sentence in lines[0]["sentences"]), text[:text.index("\n\n") + 1])
        self.assertEqual(coverage["sentences"], lines[0]["sentences"])

    def test_numbers_of_one_thread(self):
        answers = self.check_numbers("branches")
        self.assertNotIn("crash text", answers)

    def test_numbers_of_several_threads(self):
        self.check_numbers("changes")

    def test_the_commands_that_it_names_run(self):
        answers = self.answers(self.reports.copy("branches", "it's mine.data"))
        for name in ("info", "timeline", "locks", "coverage"):
            shown = answers[name]["commands"]
            self.assertTrue(shown[0].startswith(f"flowback {name} "), shown)
            self.assertIn("'\\''s mine.data'", shown[0])
        folder = self.path("run")
        os.mkdir(folder)
        for name, answer in answers.items():
            for command in answer["commands"]:
                words = shlex.split(command)
                self.assertEqual(words[0], "flowback")
                done = self.reports.run(*words[1:], cwd=folder)
                self.assertEqual(done.returncode, answer["status"], (command, done.stderr))
                if "--json" in words and "data" in answer:
                    json.loads(done.stdout.splitlines()[0] if name == "coverage" else done.stdout)
        self.assertLessEqual({"timeline.html", "locks.html", "coverage.html"}, set(os.listdir(folder)))

    def test_branch_stacks_that_are_one_flow(self):
        self.check_numbers("branches-stacks")

    def test_samples_have_no_calls(self):
        folder = os.environ.get("FLOWBACK_SHARED") or f"{PROJECT}/../shared"
        recording = f"{folder}/traces/branch-stack/simpleperf-perf_b/perf_b.data"
        if not os.path.exists(recording):
            self.skipTest("no shared recordings")
        answers = self.answers(recording)
        self.assertIn(answers["timeline"]["data"]["text"], self.done("timeline", recording))
        self.assertTrue(answers["spikes"]["error"]["text"])
        self.assertIn("data", answers["coverage"])

    def test_code_that_is_missing(self):
        recording = self.reports.copy("branches", "bare.data", images=False)
        answers = self.answers(recording)
        info = answers["info"]["data"]
        self.assertEqual(sum(stream["instructions"] for stream in info["streams"]), 0)
        self.assertGreater(sum(stream["bytes_lost"] for stream in info["streams"]), 0)
        self.assertTrue([image for image in info["images"] if not image["usable"]])
        said = [message for answer in answers.values() for message in answer["messages"]]
        self.assertTrue([each for each in said if each["remedies"]], said)
        done = self.reports.run("report", recording, "--strict", "-o", self.path("strict.html"))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertTrue(os.path.exists(self.path("strict.html")))

    def test_options_are_passed(self):
        recording = self.reports.recording("changes")
        threads = self.told("info", recording)["threads"]
        tid = str(threads[0]["tid"])
        answers = self.answers(recording, "--tid", tid)
        self.assertEqual([thread["tid"] for thread in answers["info"]["data"]["threads"]], [int(tid)])
        self.assertIn(f"--tid={tid}", answers["info"]["commands"][0])

    def check_that_children_end(self, number):
        """A killed report leaves no command running, not even one that has stopped."""
        with open(self.path("killed.html"), "wb") as page:
            # A shell may have started this test with signals ignored.
            report = subprocess.Popen([FLOWBACK, "report", self.reports.recording("changes"), "--no-cache"], stdout=page,
                                      preexec_fn=lambda: signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None)
        self.addCleanup(report.wait)
        self.addCleanup(report.kill)
        child = stopped_child_of(report)
        self.addCleanup(kill, child)
        report.send_signal(number)
        self.assertEqual(report.wait(timeout=60), -number)
        for _ in range(1000):
            if state_of(child) in (None, "Z"):
                return
            time.sleep(0.01)
        self.fail(f"the child lives on after signal {number}")

    def test_a_killed_report_leaves_no_child(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number):
                self.check_that_children_end(number)

    def test_several_recordings(self):
        names = [self.reports.recording(name) for name in ("branches", "changes")]
        report = self.report(*names, "--title", "two & more")
        self.assertEqual([recording["input"] for recording in report["recordings"]], names)
        self.assertEqual(report["title"], "two & more")

    def test_an_analysis_that_fails_costs_its_section(self):
        answers = self.answers(self.reports.recording("tiny"))
        told = self.reports.run("spikes", self.reports.recording("tiny"), "--auto")
        self.assertIn(answers["spikes"]["error"]["text"], told.stderr)
        self.assertIn(answers["spikes"]["error"]["remedies"][0], told.stderr)
        for name in ("info", "crash", "timeline", "locks", "coverage"):
            self.assertIn("data", answers[name])

    def test_a_function_by_name(self):
        recording = self.reports.recording("branches")
        answers = self.answers(recording, "--function", "Leaf")
        self.assertEqual(answers["spikes"]["data"]["distribution"],
                         self.told("spikes", recording, "--function", "Leaf")["distribution"])

    def test_hostile_names(self):
        recording = self.reports.copy("branches", b"a\"'<script>alert(1)<!--\n\xff.data")
        page = self.path("hostile.html")
        self.done("report", recording, "--title", "<b>&\"", "-o", page)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("<script>alert", text)
        self.assertNotIn("<b>", "".join(reported.tags(text)))
        report = reported.data_of(text)
        self.assertEqual(report["title"], "<b>&\"")
        self.assertIn("<script>alert(1)<!--\n\ufffd.data", report["recordings"][0]["input"])

    def test_where_it_writes(self):
        recording = self.reports.copy("branches", "in.data")
        page = self.done("report", recording, "-o", "-")
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertEqual(reported.data_of(page)["schema"], json.loads(self.done("report", recording, "--json"))["schema"])
        other = self.reports.copy("tiny", "other.data")
        before = os.path.getsize(other)
        done = self.reports.run("report", recording, "-o", other)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--force", done.stderr)
        self.assertEqual(os.path.getsize(other), before)
        self.assertEqual(self.reports.run("report", recording, "-o", recording, "--force").returncode, 2)
        self.done("report", recording, "-o", other, "--force")

    def test_what_it_refuses(self):
        page = self.path("none.html")
        for words, status in ((["/nowhere.data"], 8), (["-"], 2), ([self.reports.recording("tiny"), "/nowhere.data"], 8),
                              ([self.reports.recording("tiny"), "--no-such"], 2),
                              ([self.reports.recording("tiny"), "--tid", "1"], 2),
                              ([self.reports.recording("tiny"), "--function", "no_such_function"], 2)):
            done = self.reports.run("report", *words, "-o", page)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("  try: ", done.stderr) if status == 2 else None
            self.assertFalse(os.path.exists(page))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
