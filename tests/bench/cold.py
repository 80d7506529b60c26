#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole-process times of a first decode: flowback against libipt's block decoder.

cold.py --bin BUILD/bin [--runs N] NAME[:CPU]...      generated recordings
cold.py --bin BUILD/bin [--runs N] -- --raw-pt FILE.. any raw stream, options as flowback has them
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def generated_folder():
    shared = os.environ.get("FLOWBACK_SHARED")
    base = pathlib.Path(shared) if shared else ROOT.parent / "shared"
    return base / "traces" / "generated"


def options_of(name):
    """The raw-stream options that maps.txt and truth.txt of a generated recording amount to."""
    name, _, cpu = name.partition(":")
    folder = generated_folder() / name
    options = ["--raw-pt", str(folder / f"pt-{cpu or 1}.bin"), "--cpu", "6/85/4"]
    for line in (folder / "maps.txt").read_text().splitlines():
        columns = line.split()
        if line.startswith("#") or columns[0] == "exec":
            continue
        start, size, offset, image = columns[:4]
        path = folder / image
        if not path.exists():
            path = generated_folder() / image
        # A mapping may end in the middle of a page that the file does not fill.
        size = min(int(size, 16), path.stat().st_size - int(offset, 16))
        options += ["--section", f"{path}:{int(offset, 16)}:{size}:{int(start, 16)}"]
    truth = dict(line.split(maxsplit=1) for line in (folder / "truth.txt").read_text().splitlines()
                 if not line.startswith("function"))
    if truth.get("mtc") == "1":
        options += ["--tsc-ctc", f"{truth['ctc_n']}/{truth['ctc_d']}",
                    "--mtc-freq", truth["mtc_shift"]]
    return options + ["--nominal-freq", truth["ratio"]]


def run(command):
    """(wall seconds, CPU seconds, output) of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        sys.exit(f"cold.py: {' '.join(command)} ended with {result.returncode}:\n{result.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, result.stdout


def counts_agree(flowback, libipt, options):
    ours = run([flowback, "decode", "--as", "digest", *options])[2].split()
    theirs = run([libipt, *options])[2].split()
    if len(ours) < 2 or ours[1] != theirs[0]:
        sys.exit(f"cold.py: the counts differ: flowback {ours}, libipt {theirs}")
    return int(ours[1])


def compare(name, options, binaries, runs):
    flowback, libipt = str(binaries / "flowback"), str(binaries / "libipt_once")
    count = counts_agree(flowback, libipt, options)
    times = {"flowback": [], "libipt": []}
    for _ in range(runs):  # in turns, so that a slow moment of the machine meets both
        times["flowback"].append(
            run([flowback, "decode", "--as", "summary", "--threads", "1", *options])[:2])
        times["libipt"].append(run([libipt, *options])[:2])
    medians = {who: [statistics.median(column) * 1e3 for column in zip(*rows)]
               for who, rows in times.items()}
    print(f"{name}: {count} instructions, median of {runs} processes")
    for who, (wall, cpu) in medians.items():
        print(f"  {who:9} {wall:8.1f} ms elapsed {cpu:8.1f} ms CPU")
    ours, theirs = medians["flowback"], medians["libipt"]
    print(f"  flowback is {theirs[0] / ours[0]:.2f} times as fast elapsed, "
          f"{theirs[1] / ours[1]:.2f} times in CPU time")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("stream", nargs="*", default=["big-gzip", "big-sqlite3"])
    arguments = sys.argv[1:]
    raw = []
    if "--" in arguments:
        raw = arguments[arguments.index("--") + 1:]
        arguments = arguments[:arguments.index("--")]
    options = parser.parse_args(arguments)
    if raw:
        compare("raw stream", raw, options.bin, options.runs)
        return
    for name in options.stream:
        compare(name, options_of(name), options.bin, options.runs)


if __name__ == "__main__":
    main()
