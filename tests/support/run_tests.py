#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs ctest and says what it left out on this machine, and why.

usage: run_tests.py BUILD [ARGUMENT...]

The arguments are ctest's. ctest itself lists the tests that were skipped by name only; the reasons
are in its log, and so are the parts that tests left out (`left out: ...`). Its count comes last.
"""

import os
import re
import subprocess
import sys

NAMES = 3  # of the tests of one reason
HOST = "bin/host_report"


def blocks(log):
    """(name, output) of each test in ctest's log."""
    pattern = r"^\d+/\d+ Test: (.*?)\n.*?^Output:\n-+\n(.*?)^<end of output>$"
    return re.findall(pattern, log, re.M | re.S)


def reasons(output):
    """Why a test left itself or a part of itself out, as (whole test?, reason)."""
    # GoogleTest writes the reason between the place and the test's end.
    for why in re.findall(r"^\S+: Skipped\n(.*?)\n\[  SKIPPED \]", output, re.M | re.S):
        yield True, " ".join(why.split())
    for part, why in re.findall(r"^(?:\w+ is )?skipped( in part)?: (.+)$", output, re.M | re.I):
        yield not part, why
    for why in set(re.findall(r"^left out: (.+)$", output, re.M)):
        yield False, why


def left_out(log):
    """The names of the tests that left something out, by (whole test?, reason)."""
    found = {}
    for name, output in blocks(log):
        for key in reasons(output):
            found.setdefault(key, []).append(name)
    return found


def summary(log):
    lines = []
    for (whole, why), names in sorted(left_out(log).items(), reverse=True):
        some = ", ".join(names[:NAMES]) + (", ..." if len(names) > NAMES else "")
        part = "" if whole else "a part of "
        lines.append(f"  {part}{len(names)} test{'s' * (len(names) != 1)}: {why}: {some}")
    return lines or ["  nothing"]


def main():
    build, arguments = sys.argv[1], sys.argv[2:]
    report = os.path.join(build, HOST)
    told = os.path.exists(report) and subprocess.run([report], check=False)
    if told and told.returncode:
        return told.returncode
    count = ""
    command = ["ctest", "--test-dir", build, "--output-on-failure", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as ctest:
        for line in ctest.stdout:
            print(line, end="", flush=True)
            if "tests passed" in line:
                count = line.strip()
    if count:
        log = os.path.join(build, "Testing", "Temporary", "LastTest.log")
        with open(log, encoding="utf-8", errors="replace") as file:
            print("\nLeft out on this host:", *summary(file.read()), "", count, sep="\n")
    return ctest.returncode


if __name__ == "__main__":
    sys.exit(main())
