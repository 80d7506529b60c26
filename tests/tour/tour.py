# SPDX-License-Identifier: MIT
"""Records one program after the other and looks at each as its user would:

* its output and its end are those of the native run,
* the recording has no loss, both engines decode it to the same digest (very long ones only where $FLOWBACK_FULL is 1),
  and perf counts as many instructions,
* when the program has been deleted the recording decodes as before.

tour.py PROGRAM [--shard N/M] [--only NAME,...] [--table]: --table prints what `--table` asks for,
slow-downs included. Exit status: 0; 1 where anything differed; 77 where nothing could be recorded."""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from programs import PROGRAMS

LIMIT_SECONDS = 100
# perf prints a line for each; beyond so many it takes minutes.
PERF_COUNTS_AT_MOST = 3_000_000
# The reference engine decodes ten million in a second, and has the same loops to decode in a longer run. In a full run
# it decodes all.
REFERENCE_DECODES_AT_MOST = None if os.environ.get("FLOWBACK_FULL") == "1" else 5_000_000
ROW = "| {name} | {instructions} | {processes} | {threads} | {perf} | {lost} | {times} |"


def make_inputs(folder):
    """The same ones each time, on each machine."""
    source = random.Random(1)
    words = ["".join(source.choices("abcdefgh", k=source.randint(2, 9))) for _ in range(300)]
    text = "\n".join(" ".join(source.choices(words, k=8)) for _ in range(400)) + "\n"
    files = {
        "text": text,
        "lines": "".join(f"{source.randint(0, 999)} {w}\n" for w in source.choices(words, k=500)),
        "lines10": "".join(f"{i}\n" for i in range(10)),
        "sums": "scale=40; 4*a(1)\n2^200\n",
        "makefile": "all: one two\n\t@echo all\none two:\n\t@echo $@\n",
        "json": '{"a": [1, {"b": 2}]}',
        "program": "int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n",
        "edits": "1,10d\n1,3p\nQ\n",
        "data": bytes(source.choices(range(32), k=12_000)),
    }
    for i in range(12):
        files[f"tree/{i % 3}/{i}"] = f"{i}\n" * i
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (1, 1))


class Difference(Exception):
    """What a user would complain about."""


class Tour:
    def __init__(self, flowback, folder):
        self.flowback = flowback
        self.folder = folder
        self.inputs = os.path.join(folder, "in")
        make_inputs(self.inputs)

    def environment(self, **more):
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "USER") if name in os.environ}
        return keep | {"LC_ALL": "C", "TZ": "UTC", "IN": self.inputs} | more

    def shell(self, command, where, **environment):
        return subprocess.run(["bash", "-c", command], cwd=where, capture_output=True,
                              env=self.environment(**environment), timeout=LIMIT_SECONDS)

    def run(self, *words):
        """flowback's answer; a status but 0 is a difference."""
        result = subprocess.run([self.flowback, *words], capture_output=True, text=True,
                                timeout=LIMIT_SECONDS, env=self.environment())
        if result.returncode != 0:
            raise Difference(f"flowback {' '.join(words)}: status {result.returncode}: "
                             f"{result.stderr.strip()}")
        return result.stdout

    def visit(self, name, command, movable, compares):
        """One program. Returns its row of the table."""
        where = os.path.join(self.folder, name)
        own = os.path.join(where, "bin")
        os.makedirs(own)
        path = os.environ["PATH"]
        if movable:
            # Found there first, by the name without its folder.
            program, *rest = command.split(" ", 1)
            file = shutil.which(program)
            shutil.copy(os.path.realpath(file), os.path.join(own, os.path.basename(file)))
            command = " ".join([os.path.basename(file), *rest])
            path = f"{own}:{path}"
        native = self.fresh(where, lambda place: self.shell(command, place, PATH=path))
        recording = os.path.join(where, "perf.data")
        record = f"{self.flowback} record --engine emulate -o {recording} "
        record += "--compare " if compares else ""
        recorded = self.fresh(where, lambda place: self.shell(f"{record} -- {command}", place,
                                                              PATH=path))
        check_same_run(native, recorded)
        row = self.look_at(recording)
        row["times"] = slow_down(recorded.stderr.decode())
        self.compare_with_perf(recording, row)
        if movable:
            self.look_again_without(own, recording, row)
        return row

    @staticmethod
    def fresh(where, act):
        """Acts in a new folder each time: what a run leaves must not be there in the next."""
        place = os.path.join(where, "work")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        return act(place)

    def look_at(self, recording):
        info = json.loads(self.run("info", "--json", "--strict", recording))
        native = self.run("decode", "--as", "digest", recording)
        threads = [line.split() for line in native.splitlines()]
        instructions = sum(int(count) for _, count, _ in threads)
        if REFERENCE_DECODES_AT_MOST is None or instructions <= REFERENCE_DECODES_AT_MOST:
            if native != self.run("decode", "--as", "digest", "--engine", "libipt", recording):
                raise Difference("native and libipt decode different flow")
        else:
            print(f"not decoded by libipt as well, without FLOWBACK_FULL=1: {os.path.basename(os.path.dirname(recording))}")
        return {
            "digest": native,
            "instructions": instructions,
            "threads": len(threads),
            "processes": len({thread["pid"] for thread in info["threads"]}),
            "lost": sum(stream["bytes_lost"] for stream in info["streams"]),
        }

    def compare_with_perf(self, recording, row):
        row["perf"] = "-"
        if shutil.which("perf") is None or row["instructions"] > PERF_COUNTS_AT_MOST:
            return
        listed = subprocess.run(["perf", "script", "-i", recording, "--itrace=i0ns", "-F", "ip"],
                                capture_output=True, timeout=LIMIT_SECONDS,
                                env=self.environment())
        row["perf"] = len(listed.stdout.splitlines())
        if row["perf"] != row["instructions"]:
            raise Difference(f"{row['instructions']} instructions, and {row['perf']} for perf: "
                             f"{listed.stderr.decode()[-300:]}")

    def look_again_without(self, own, recording, row):
        shutil.rmtree(own)
        if self.run("decode", "--as", "digest", "--strict", recording) != row["digest"]:
            raise Difference("decodes differently when the program has been deleted")


def shell_status(code):
    """The status that a shell, and flowback, has if a signal ended the program."""
    return code if code >= 0 else 128 - code


def check_same_run(native, recorded):
    if shell_status(recorded.returncode) != shell_status(native.returncode):
        raise Difference(f"ended with {recorded.returncode}, natively with {native.returncode}: "
                         f"{recorded.stderr.decode()[-500:]}")
    if recorded.stdout != native.stdout:
        raise Difference(f"printed {recorded.stdout[-300:]!r}, natively {native.stdout[-300:]!r}")
    if b", 0 % lost" not in recorded.stderr:
        raise Difference(recorded.stderr.decode()[-500:])


def slow_down(messages):
    found = re.search(r"record: alone the program takes .*: ([0-9.]+) times", messages)
    return found[1] if found else "-"


def chosen(arguments):
    names = arguments.only.split(",") if arguments.only else None
    part, parts = (int(word) for word in arguments.shard.split("/"))
    for number, program in enumerate(PROGRAMS):
        if names is None and number % parts == part or names is not None and program[0] in names:
            yield program


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flowback")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--only")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    failed, visited = [], 0
    with tempfile.TemporaryDirectory(prefix="flowback-tour-") as folder:
        tour = Tour(os.path.abspath(arguments.flowback), folder)
        for name, command, movable in chosen(arguments):
            if shutil.which(command.split()[0]) is None:
                print(f"skipped: {name}: {command.split()[0]} is not installed")
                continue
            visited += 1
            try:
                row = tour.visit(name, command, movable, arguments.table)
                print(ROW.format(name=name, **row), flush=True)
            except (Difference, subprocess.TimeoutExpired) as failure:
                failed.append(name)
                print(f"FAILED: {name}: {failure}", flush=True)
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    print(f"{visited} programs, {len(failed)} differ: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
