# SPDX-License-Identifier: MIT
"""What valgrind's callgrind counts of a run."""

import os
import re
import shutil
import subprocess
import sys


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def leave_out(what, why):
    print(f"left out: {what}: {why}")
    sys.exit(77)


def need_valgrind(what, test=None):
    """Leaves out one test of a file, or the whole file."""
    lacks = "valgrind" in os.environ.get("FLOWBACK_TEST_HOST_LACKS", "").split(",")
    if not lacks and shutil.which("valgrind") is not None:
        return
    why = "valgrind is not installed: apt-get install valgrind"
    if test is None:
        leave_out(what, why)
    print(f"left out: {what}: {why}")
    test.skipTest(why)


def count(out, *words, options=(), **more):
    """Runs the words; stubs of linkage tables are functions of their own."""
    run("valgrind", "--tool=callgrind", "--compress-strings=yes", "--compress-pos=no", "--skip-plt=no", *options,
        f"--callgrind-out-file={out}", *words, **more)
    return read(out)


def read(path):
    """{function: own instructions}, {function: calls}, {(caller, function): (calls, with what it calls)}."""
    own, calls, edges, names = {}, {}, {}, {}

    def name(text):
        number, _, rest = text.partition(" ")
        if rest:
            names[number] = rest
        return names[number]

    function, callee, line_is_call = None, None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if match := re.match(r"fn=(.*)", line):
                function = name(match[1])
            elif match := re.match(r"cfn=(.*)", line):
                callee = name(match[1])
            elif match := re.match(r"calls=(\d+)", line):
                line_is_call = int(match[1])
            elif re.match(r"[+*-]?\d* ?[+*-]?\d+ \d+$|\* \d+$", line):
                cost = int(line.split()[-1])
                if line_is_call is None:
                    own[function] = own.get(function, 0) + cost
                else:
                    calls[callee] = calls.get(callee, 0) + line_is_call
                    before = edges.get((function, callee), (0, 0))
                    edges[function, callee] = (before[0] + line_is_call, before[1] + cost)
                    line_is_call = None
    return own, calls, edges


def by_name(counts):
    """A recursion's levels are joined: callgrind has them as f, f'2, ..."""
    joined = {}
    for name, number in counts.items():
        base = re.sub(r"'\d+$", "", name)
        joined[base] = joined.get(base, 0) + number
    return joined
