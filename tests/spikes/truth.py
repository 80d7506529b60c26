# SPDX-License-Identifier: MIT
"""The truth about a run of spiky_server: from its sources, from what it wrote, and from another command's listing."""

import json
import os
import re
import subprocess

_MARK = re.compile(r"//.*\bCAUSE ([\w-]+)")
_HEAD = re.compile(r"^(?:  APART |\w).*\b([\w~]+)\([^()]*\)(?: const)?(?: override)? \{$")


class Places:
    """The places of a cause: lines by file, and the functions that the lines lie in."""

    def __init__(self):
        self.lines = set()
        self.functions = set()

    def __str__(self):
        return f"{sorted(self.functions)} at {sorted(self.lines)}"


def planted_places(folder):
    """By cause the places that the comments in the program's sources mark."""
    places = {}
    for name in sorted(os.listdir(folder)):
        function = None
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                head = _HEAD.match(line.rstrip())
                function = head[1] if head else function
                mark = _MARK.search(line)
                if mark:
                    found = places.setdefault(mark[1], Places())
                    found.lines.add((name, number))
                    found.functions.add(function)
    return places


class Run:
    """What the program wrote of its own run."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            written = json.load(file)
        self.shares_cpu = written["shares_cpu"]
        self.outcomes = written["outcomes"]
        self.count = len(self.outcomes)

    def planted(self, cause=None):
        """The numbers of the requests with that cause, or with any."""
        return [number for number, outcome in enumerate(self.outcomes)
                if (cause in outcome["planted"] if cause else outcome["planted"])]

    def wall(self):
        return [outcome["wall_ns"] for outcome in self.outcomes]

    def cpu(self):
        return [outcome["cpu_ns"] for outcome in self.outcomes]

    def off_cpu(self):
        """How long each request did not execute, by the kernel's account of the thread."""
        return [max(0, outcome["wall_ns"] - outcome["cpu_ns"]) for outcome in self.outcomes]


def instructions_of_calls(flowback, recording, function):
    """How many instructions each call had, in program order, as `decode --as calls` lists them."""
    # grep leaves a few of the listing's many lines.
    with subprocess.Popen([flowback, "decode", recording, "--as", "calls"], stdout=subprocess.PIPE) as decoder:
        listed = subprocess.run(["grep", "-F", f"<- {function}"], stdin=decoder.stdout, check=True, capture_output=True,
                                text=True)
    if decoder.returncode != 0:
        raise subprocess.CalledProcessError(decoder.returncode, decoder.args)
    pattern = rf"<- {re.escape(function)}(?:\(.*?\))? (?:\(.*?\) )?(\d+) instructions"
    return [int(count) for count in re.findall(pattern, listed.stdout)]


class Addresses:
    """Where functions lie in a program, from a build of it that has symbols."""

    def __init__(self, program):
        listed = subprocess.run(["nm", "-S", "-C", program], check=True, capture_output=True, text=True).stdout
        self.spans = [(int(at, 16), int(size, 16), name)
                      for at, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [TtWw] (.*)$", listed, re.M)]

    def function_at(self, address):
        """The name without class and parameters; empty where no function is."""
        for begin, size, name in self.spans:
            if begin <= address < begin + size:
                return re.sub(r"\(.*", "", re.sub(r" \[clone .*", "", name)).split("::")[-1]
        return ""
