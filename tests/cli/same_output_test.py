#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""same_output_test.py FLOWBACK CC: every command prints the same bytes for the same input, wherever objects lie in
memory and however many threads work.

Each command runs twice on each input. Between the runs the kernel places programs elsewhere, the environment grows, and
the allocator hands out other addresses: from a heap that grows upwards, or from mappings, each below the one before. So
anything that is sorted, hashed or numbered by an address comes in another order. Memory that was never written holds
other bytes, too. The second run is another one for each command, and another one again for the next input."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FLOWBACK = os.path.abspath(sys.argv[1])
CC = sys.argv[2]

# Runs itself again, so that several processes have the same files at other places, and several files hold code that
# ran equally often.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
typedef int (*Step)(int);
extern Step step0, step1, step2, step3, step4, step5, step6, step7;
__attribute__((noinline)) static int walk(int n) {
  static Step* const steps[8] = {&step0, &step1, &step2, &step3, &step4, &step5, &step6, &step7};
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += (*steps[i % 8])(i);
  return sum;
}
int main(int argc, char** argv) {
  printf("%d\n", walk(80));
  fflush(stdout);
  if (argc < 2 || atoi(argv[1]) == 0) return 0;
  char left[2] = {(char)(argv[1][0] - 1), 0};
  char* again[] = {argv[0], left, 0};
  if (fork() == 0) execv("/proc/self/exe", again);
  wait(0);
  execv("/proc/self/exe", again);
  return 1;
}
"""
LIBRARY = """
__attribute__((noinline)) static int half(int x) { return x / 2; }
static int step(int x) { return x > 3 ? half(x) : x; }
int (*stepN)(int) = step;
"""
LIBRARIES = 8

KINDS = "instructions lines blocks branches calls events samples packets digest summary".split()
PROFILES = "autofdo bolt-preagg bolt llvm-profile llvm-raw".split()
COMMANDS = [
    "info", "info --json",
    *[f"decode --as {kind}" for kind in KINDS],
    *[f"decode --as {kind} --json" for kind in ("branches", "calls", "events", "summary")],
    *[f"decode --as {kind} --by-time" for kind in ("instructions", "calls", "events")],
    "decode --as branches --not-taken", "decode --as digest --by-cpu", "decode --as summary --by-cpu",
    *[f"decode --as summary --by {kind}" for kind in ("function", "object", "line")],
    "timeline", "timeline --json", "timeline --overview", "timeline --overview --json", "timeline --at 50%",
    "timeline --svg @", "timeline --html @",
    "stack --at end", "stack --at 50% --json",
    "spikes --function step", "spikes --function step --json", "spikes --function step --save-instances @",
    "spikes --function step --html @",
    "spikes --auto --by instructions",
    "locks --all", "locks --all --paths --json",
    "coverage --by-thread --object same_*", "coverage --save @ --object same_*",
    *[f"coverage --object same_* --format {kind}"
      for kind in "summary json lcov cobertura llvm-json drcov annotate html".split()],
    "branches", "branches --json", "branches --annotate *", "branches --annotate * --json",
    *[f"export --to {kind} --object {name}" for kind in PROFILES for name in ("same_program", "same_3.so")],
    *[f"export --to {kind}" for kind in PROFILES], "export --to brstack", "export --to perf",
]
OF_SAMPLES = ["info", "info --json", "stack --paths", "stack --paths --json", "export --to folded"]
# A merge reads part files of coverage, and takes no options of caches and threads.
OF_PARTS = ["merge -o @", "merge --json -o @"]
# Page faults are sampled accesses to memory that any machine has.
OF_ACCESSES = ["branches --mem", "branches --mem --json"]
# What changes between runs: words ahead of the command, environment, threads.
RUNS = [
    ([], {}, 1),
    (["setarch", "-R"], {"MALLOC_PERTURB_": "85"}, 2),
    ([], {"A_LONG_ENVIRONMENT": "x" * 50000, "MALLOC_MMAP_THRESHOLD_": "1", "MALLOC_MMAP_MAX_": "5000",
          "MALLOC_PERTURB_": "170"}, 3),
]


def may_set_personality():
    try:
        return subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


class SameOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.build()

    @classmethod
    def build(cls):
        def compile_c(text, name, *options):
            source = name.split(".")[0] + ".c"
            with open(os.path.join(cls.folder, source), "w", encoding="ascii") as file:
                file.write(text)
            subprocess.run([CC, "-O1", "-g", *options, "-o", name, source], cwd=cls.folder, check=True)
        for number in range(LIBRARIES):
            compile_c(LIBRARY.replace("N", str(number)), f"same_{number}.so", "-shared", "-fPIC")
        compile_c(PROGRAM, "same_program", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "-L.",
                  *[f"-l:same_{number}.so" for number in range(LIBRARIES)])

    def record(self, name, *options):
        path = os.path.join(self.folder, name)
        done = subprocess.run([FLOWBACK, "record", "--engine", "emulate", *options, "-o", path, "--",
                               os.path.join(self.folder, "same_program"), "1"], capture_output=True, text=True,
                              check=False)
        if done.returncode == 125:
            self.skipTest("this machine cannot record by emulation: " + done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def run_once(self, command, inputs, how):
        words, environment, threads = how
        out = os.path.join(self.folder, "out")
        for old in glob.glob(out + "*"):
            os.unlink(old)
        command = [out if word == "@" else word for word in command.split()]
        options = [] if command[0] == "merge" else ["--no-cache", "--no-index", "--threads", str(threads)]
        done = subprocess.run(
            [*words, FLOWBACK, *command, *options, *inputs],
            env={**os.environ, **environment}, capture_output=True, check=False)
        written = b""
        if os.path.exists(out):
            with open(out, "rb") as file:
                written = file.read()
        return done.returncode, done.stdout, written, done.stderr

    def check_all(self, commands, inputs, least, first_run=0):
        runs = [how for how in RUNS[1:] if not how[0] or may_set_personality()]
        done = 0
        for number, command in enumerate(commands, first_run):
            with self.subTest(command=command):
                first = self.run_once(command, inputs, RUNS[0])
                done += first[0] == 0
                how = runs[number % len(runs)]
                again = self.run_once(command, inputs, how)
                same = [a == b for a, b in zip(first, again)]
                self.assertEqual(same, [True] * 4, f"{command} {how[0]} {list(how[1])} threads {how[2]}: "
                                 "status, output, file and messages; the first run's: " + first[3].decode())
        # Some commands do not apply to each kind of trace, and say so.
        self.assertGreaterEqual(done, least)

    def test_of_a_trace(self):
        self.check_all(COMMANDS, [self.record("same.data")], len(COMMANDS) - 4)

    def test_of_branch_stacks(self):
        """Each second command: all of them with FLOWBACK_FULL=1."""
        commands = COMMANDS if os.environ.get("FLOWBACK_FULL") == "1" else COMMANDS[::2]
        self.check_all(commands, [self.record("stacks.data", "-b")], len(commands) * 3 // 4, 1)

    def sample(self, name, *options):
        if shutil.which("perf") is None:
            self.skipTest("perf is not installed")
        path = os.path.join(self.folder, name)
        done = subprocess.run(["perf", "record", "-q", *options, "-d", "-o", path, "--", sys.executable, "-c",
                               "print(sum(range(1000000)))"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest("perf cannot record here: " + done.stderr)
        return path

    def test_of_samples(self):
        path = self.sample("samples.data", "-e", "cpu-clock", "-F", "5000", "-g")
        self.check_all(OF_SAMPLES, [path], len(OF_SAMPLES))

    def test_of_accesses(self):
        self.check_all(OF_ACCESSES, [self.sample("accesses.data", "-e", "page-faults", "-c", "1")], len(OF_ACCESSES))

    def test_of_parts(self):
        recording = self.record("parts.data")
        parts = []
        for number, choice in enumerate(["same_program", "same_*", "same_3.so"]):
            parts.append(os.path.join(self.folder, f"part{number}"))
            done = subprocess.run([FLOWBACK, "coverage", "--save", parts[-1], "--object", choice, recording],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.check_all(OF_PARTS, parts, len(OF_PARTS))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
