# SPDX-License-Identifier: MIT
"""The soak notices what fails, names the seed, and shows a command that fails again."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOAK = pathlib.Path(__file__).with_name("soak.py")

# Stands in for a test program: fails on seeds that 1000 divides into with a rest below `bound`.
PROGRAM = """#!/bin/sh
first=${{FLOWBACK_SEEDS%%:*}}
count=${{FLOWBACK_SEEDS##*:}}
while [ "$count" -gt 0 ]; do
  if [ $((first % 1000)) -lt {bound} ]; then echo "seed $first is wrong"; {failing}; fi
  first=$((first + 1))
  count=$((count - 1))
done
echo "[  PASSED  ] {passed} test."
"""


class Soak(unittest.TestCase):
    def soak(self, folder, bound=0, failing="exit 1", passed=1):
        for name in ("generated_streams_test", "damaged_streams_test", "judge_seeds_test"):
            program = pathlib.Path(folder) / name
            program.write_text(PROGRAM.format(bound=bound, failing=failing, passed=passed))
            program.chmod(0o755)
        # Failures come within milliseconds, were the time ten times as long.
        return subprocess.run([sys.executable, "-B", SOAK, "--bin", folder, "--seed", "5", "--jobs",
                               "1", "--seconds", "60" if bound or passed != 1 else "0.2"],
                              capture_output=True, text=True, check=False)

    def test_all_is_well(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.soak(folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("seed 5", done.stdout)
            self.assertRegex(done.stdout, r"told the same: \d+ of Streams, .*WrongCode")

    def test_the_seed_that_fails_is_named_and_fails_again(self):
        for failing in ("exit 1", "kill -SEGV $$"):
            with self.subTest(failing=failing), tempfile.TemporaryDirectory() as folder:
                done = self.soak(folder, bound=3, failing=failing)
                self.assertEqual(done.returncode, 1)
                seed = int(re.search(r"FAILED: seed (\d+)", done.stdout)[1])
                self.assertLess(seed % 1000, 3)
                again = done.stdout.rpartition("Again:\n")[2].strip()
                self.assertIn(f"FLOWBACK_SEEDS={seed}:1 ", again)
                self.assertNotEqual(subprocess.run(again, shell=True, capture_output=True,
                                                   check=False).returncode, 0)

    def test_a_program_that_ran_nothing_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.soak(folder, passed=0).returncode, 1)


if __name__ == "__main__":
    unittest.main()
