# SPDX-License-Identifier: MIT
"""What ./test says of a run, from the log of one."""

import unittest

import run_tests

BLOCK = """\
1/9 Testing: {name}
1/9 Test: {name}
Command: "x"
"{name}" start time: Nov 23 06:43 UTC
Output:
----------------------------------------------------------
{output}<end of output>
Test time =   0.01 sec
----------------------------------------------------------
Test Passed.
----------------------------------------------------------

"""
SKIPPED = """\
[ RUN      ] {name}
../../tests/x.cc:145: Skipped
on this host {why}
[  SKIPPED ] {name} (1 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] {name}
"""


def log(**outputs):
    return "".join(BLOCK.format(name=name, output=text) for name, text in outputs.items())


class LeftOut(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(["  nothing"], run_tests.summary(log(a="[       OK ] a (1 ms)\n")))

    def test_whole_tests_are_put_together_by_reason(self):
        outputs = {name: SKIPPED.format(name=name, why="there is no perf") for name in "abcd"}
        outputs["e"] = SKIPPED.format(name="e", why="there is\nno tracing")
        self.assertEqual(
            ["  1 test: on this host there is no tracing: e",
             "  4 tests: on this host there is no perf: a, b, c, ..."],
            run_tests.summary(log(**outputs)))

    def test_commands_and_parts(self):
        self.assertEqual(
            ["  1 test: no qemu: a", "  1 test: no ptrace: b", 
             "  a part of 1 test: no shellcheck: e", "  a part of 2 tests: int1: why: c, d"],
            run_tests.summary(log(a="skipped: no qemu\n", b="step is skipped: no ptrace\n",
                                  e="SKIPPED in part: no shellcheck\n",
                                  c="left out: int1: why\nleft out: int1: why\n",
                                  d="left out: int1: why\n")))


if __name__ == "__main__":
    unittest.main()
