#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up what the judge's tests print: judge_raw_test | totals.py."""
import re
import sys


def main():
    totals = {}
    tests = 0
    for line in sys.stdin:
        if not line.startswith("cuts "):
            continue
        tests += 1
        for name, number in re.findall(r"([a-z ]+) (\d+)", line):
            totals[name.strip()] = totals.get(name.strip(), 0) + int(number)
    print(f"tests {tests}: " + ", ".join(f"{name} {n:,}" for name, n in totals.items()))


if __name__ == "__main__":
    main()
