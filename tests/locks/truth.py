# SPDX-License-Identifier: MIT
"""The truth about a run of `contended`: what its threads counted themselves, and what other commands count."""

import collections
import json
import os
import re
import subprocess

# Functions of the program with no other jump backwards than that of their loop.
LOOPS = ("await_announced", "await_at_least", "arrive", "await_turn", "lock_cas", "lock_clh",
         "lock_ticket", "lock_ttas", "lock_ttas_bare", "lock_xchg", "lock_xchg_pause", "lock_yield", "read_sequence")


def run(*words, limit=100):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=limit).stdout


def plain(name):
    """A function's name without namespaces, parameters and the compiler's suffixes."""
    if name is None:
        return ""
    name = name.replace("(anonymous namespace)::", "")
    name = re.sub(r" \[clone .*|\.(constprop|isra|part|cold)\b.*", "", name)
    return re.sub(r"[(<].*", "", name).split("::")[-1].split("@")[0]


class Addresses:
    """Where functions lie in a program, from a build of it that has symbols."""

    def __init__(self, program):
        listed = run("nm", "-S", "-C", program)
        self.spans = [(int(at, 16), int(size, 16), plain(name))
                      for at, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [TtWw] (.*)$", listed, re.M)]

    def function_at(self, address):
        for begin, size, name in self.spans:
            if begin <= address < begin + size:
                return name
        return ""


class Branches:
    """What `flowback branches` counts, which knows nothing of locks."""

    def __init__(self, flowback, recording, *words):
        self.rows = [json.loads(line) for line in
                     run(flowback, "branches", recording, "--top", "1000000", "--json", *words).splitlines()[1:]]
        self.rows = [row for row in self.rows if row["type"] == "branch"]

    def _of(self, function):
        return [row for row in self.rows if plain(row["sym"]) == function]

    def backward(self, function):
        """How often control went back within the function: once for each failed check of its loops."""
        times = 0
        for row in self._of(function):
            if row["class"] not in ("jcc", "jmp") or not row["targets"]:
                continue
            at = int(row["offset"], 16)
            begin = at - int(row["symoff"], 16)
            times += sum(target["times"] for target in row["targets"]
                         if target["object"] == row["object"] and begin <= int(target["offset"], 16) <= at)
        return times

    def system_calls(self, *functions):
        """How often the functions entered the kernel."""
        return sum(row["taken"] for function in functions for row in self._of(function) if row["class"] == "far-call")

    def calls(self, function):
        """How often functions of the program returned from the function."""
        return sum(row["taken"] for row in self._of(function) if row["class"] == "ret")


class Run:
    """A recording of the program, and what the program wrote."""

    def __init__(self, flowback, folder, words, record=(), limit=100):
        self.flowback = flowback
        self.path = os.path.join(folder, re.sub(r"\W+", "-", "-".join([os.path.basename(words[0]), *words[1:], *record])) + ".data")
        written = run(flowback, "record", "-q", *record, "-o", self.path, "--", *words, limit=limit)
        self.lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]

    def of(self, function):
        return [line for line in self.lines if line["function"] == function]

    def functions(self):
        """By lock and function what threads wrote, added up."""
        sums = collections.OrderedDict()
        for line in self.lines:
            sums.setdefault((line["lock"], line["function"]), []).append(line)
        return sums

    def locks(self, *words):
        return json.loads(run(self.flowback, "locks", self.path, "--json", *words))

    def branches(self, *words):
        return Branches(self.flowback, self.path, *words)
