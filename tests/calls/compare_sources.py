#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what each source of call stacks finds of those of programs/known_stacks.c, as
docs/explanation/call-stacks.md has it.

  compare_sources.py --bin FOLDER [--seconds N] [--folder FOLDER]

Frame pointers and DWARF: samples that `perf record` takes on this machine. Hardware's stack of calls:
what a ring of 32 calls would have held at moments of the emulated flow. Intel PT: the emulated flow.
A stack counts as found when its functions between main and the leaf are those of the program, in
order; functions of libraries in between do not count.
"""

import argparse
import collections
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
# The program's functions from main inwards, by leaf. What a tail call left has no frame.
TRUTH = {
    "leaf_plain": ["plain_a", "plain_b"],
    "leaf_bare": ["bare_a", "bare_b"],
    "leaf_tail": ["tail_a"],
    "leaf_callback": ["callback_a"],
    "leaf_deep": ["deep"] * 101,
    "leaf_signal": ["signal_a"],
    "leaf_fibre": ["fibre_a"],  # its stack begins there
    "leaf_inlined": [],
}
OWN = {name for names in TRUTH.values() for name in names} | set(TRUTH) | {"main", "fibre"}
INLINED = {"inlined_a", "inlined_b"}
DEPTH = 32


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True,
                          **options).stdout


class Tally:
    """Stacks found and asked about, by leaf."""

    def __init__(self):
        self.found = collections.Counter()
        self.all = collections.Counter()
        self.named = collections.Counter()  # of tail calls and inlined calls: also what has no frame

    def add(self, functions, left=()):
        """`functions`: the innermost first."""
        inlined = [name for name in functions if name in INLINED]
        own = [name for name in functions if name in OWN]
        if not own or own[0] not in TRUTH:
            return
        leaf = own[0]
        self.all[leaf] += 1
        end = ["main"] if leaf != "leaf_fibre" else []
        wanted = [leaf] + TRUTH[leaf][::-1] + end
        self.found[leaf] += own == wanted or (leaf == "leaf_fibre" and own[: len(wanted)] == wanted)
        self.named[leaf] += "tail_b" in left if leaf == "leaf_tail" else bool(inlined)

    def text(self, leaf):
        if self.all[leaf] == 0:
            return "-"
        return f"{100 * self.found[leaf] / self.all[leaf]:.0f} %"


def names_of(stack):
    return [frame["function"] or "??" for frame in stack["frames"] if not frame.get("doubted")]


def left_of(stack):
    return [frame["tail_caller"] for frame in stack["frames"] if frame.get("tail_caller")]


def sampled(flowback, data):
    tally = Tally()
    for line in run(flowback, "stack", "--all", "--json", "--no-cache", data).splitlines()[1:]:
        stack = json.loads(line)
        tally.add(names_of(stack), left_of(stack))
    return tally


def by_pt(flowback, data, moments):
    tally = Tally()
    count = json.loads(
        run(flowback, "decode", "--as", "summary", "--json", "--no-cache", data).splitlines()[-1]
    )["instructions"]
    for moment in moments(count):
        line = run(flowback, "stack", "--at", f"#{moment}", "--json", data).splitlines()[1]
        tally.add(names_of(json.loads(line)))
    return tally


def by_hardware(flowback, data, out, every):
    """Writes samples of a ring of calls, as `perf record --call-graph lbr` does, and reads them."""
    ring, samples, at = collections.deque(maxlen=DEPTH), [], 0
    for line in run(flowback, "decode", "--as", "branches", "--json", "--no-cache", data).splitlines()[1:]:
        branch = json.loads(line)
        if branch.get("type") != "branch":
            continue
        kind, origin, target = branch["kind"], int(branch["from"], 16), int(branch["to"], 16)
        if kind in ("call", "call-ind"):
            ring.appendleft((origin, target))
        elif kind == "ret" and ring:
            ring.popleft()
        at += 1
        if at % every == 0 and target:
            samples.append((at, target, branch["tid"], list(ring)))
    write_samples(data, samples, out)
    return sampled(flowback, out)


def write_samples(data, samples, out):
    """The mappings are those of the emulated recording; the samples have times of their own."""
    recorded = pathlib.Path(data).read_bytes()
    begin, size = struct.unpack_from("<QQ", recorded, 40)
    maps, at = b"", begin
    while at < begin + size:
        kind, _, length = struct.unpack_from("<IHH", recorded, at)
        if kind in (10, 3):  # MMAP2, COMM: they stand ahead of all
            pid_tid = struct.unpack_from("<II", recorded, at + 8)
            record = bytearray(recorded[at : at + length - 24]) + struct.pack("<IIQ", *pid_tid, 1)
            struct.pack_into("<H", record, 6, len(record))
            maps += bytes(record)
        if kind == 71:  # AUXTRACE: its data follow
            at += struct.unpack_from("<Q", recorded, at + 8)[0]
        at += length
    body = maps
    for time, ip, tid, calls in samples:
        entries = b"".join(struct.pack("<QQQ", origin, to, 0) for origin, to in calls)
        record = struct.pack("<QIIQQ", ip, tid, tid, time + 1, len(calls)) + entries
        body += struct.pack("<IHH", 9, 2, 8 + len(record)) + record
    attr = bytearray(136)
    struct.pack_into("<IIQQQQQ", attr, 0, 0, 120, 0, 1, 0x1 | 0x2 | 0x4 | 0x800, 0, 1 << 18)
    struct.pack_into("<Q", attr, 72, 1 | 1 << 11)
    header = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 136, 104, 136, 240, len(body), 0, 0)
    pathlib.Path(out).write_bytes(header.ljust(104, b"\0") + bytes(attr) + body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--folder")
    parser.add_argument("--rounds", type=int, default=3000000)
    parser.add_argument("--moments", type=int, default=120)
    options = parser.parse_args()
    folder = pathlib.Path(options.folder or tempfile.mkdtemp())
    flowback = pathlib.Path(options.bin) / "flowback"
    program = folder / "known_stacks"
    run("gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-o", program,
        HERE / "programs" / "known_stacks.c")
    perf = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499"]
    run(*perf, "-g", "-o", folder / "fp.data", program, options.rounds, 20)
    run(*perf, "--call-graph", "dwarf,16384", "-o", folder / "dwarf.data", program, options.rounds, 6)
    run(flowback, "record", "-o", folder / "pt.data", "--", program, 2000, 1)
    chosen = random.Random(1)
    columns = {
        "frame pointers": sampled(flowback, folder / "fp.data"),
        "DWARF": sampled(flowback, folder / "dwarf.data"),
        "calls (LBR)": by_hardware(flowback, folder / "pt.data", folder / "lbr.data", 97),
        "Intel PT": by_pt(flowback, folder / "pt.data", lambda count: sorted(
            chosen.sample(range(count), options.moments))),
    }
    print("| part | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    for leaf in TRUTH:
        print(f"| {leaf[5:]} | " + " | ".join(tally.text(leaf) for tally in columns.values()) + " |")
    for name, tally in columns.items():
        print(f"{name}: {sum(tally.all.values())} stacks; tail_b named in {tally.named['leaf_tail']} of "
              f"{tally.all['leaf_tail']}, inlined calls in {tally.named['leaf_inlined']} of "
              f"{tally.all['leaf_inlined']}")


if __name__ == "__main__":
    sys.exit(main())
