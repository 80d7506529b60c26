#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole-process times of a first decode: flowback, without and with its blocks on disk, against
libipt's block decoder.

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
import tempfile
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


def run(command, environment=None):
    """(wall seconds, CPU seconds, output) of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        sys.exit(f"cold.py: {' '.join(command)} ended with {result.returncode}:\n{result.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, result.stdout


def counts_agree(flowback, libipt, options):
    ours = run([flowback, "decode", "--as", "digest", "--no-cache", *options])[2].split()
    theirs = run([libipt, *options])[2].split()
    if len(ours) < 2 or ours[1] != theirs[0]:
        sys.exit(f"cold.py: the counts differ: flowback {ours}, libipt {theirs}")
    return int(ours[1])


def measure(flowback, libipt, options, runs, cache):
    """Medians of (elapsed, CPU) in ms by program; `cache` is an empty folder."""
    summary = [flowback, "decode", "--as", "summary", "--threads", "1", "--no-index"]
    environment = dict(os.environ, FLOWBACK_CACHE=cache)
    filled = run([*summary, *options], environment)[2]
    times = {"flowback": [], "disk cache": [], "libipt": []}
    for _ in range(runs):  # in turns, so that a slow moment of the machine meets all
        without = run([*summary, "--no-cache", *options])
        with_cache = run([*summary, *options], environment)
        if not filled == without[2] == with_cache[2]:
            sys.exit("cold.py: the disk cache changes the result")
        times["flowback"].append(without[:2])
        times["disk cache"].append(with_cache[:2])
        times["libipt"].append(run([libipt, *options])[:2])
    return {who: [statistics.median(column) * 1e3 for column in zip(*rows)]
            for who, rows in times.items()}


def compare(name, options, binaries, runs):
    flowback, libipt = str(binaries / "flowback"), str(binaries / "libipt_once")
    count = counts_agree(flowback, libipt, options)
    with tempfile.TemporaryDirectory() as cache:
        medians = measure(flowback, libipt, options, runs, cache)
    print(f"{name}: {count} instructions, median of {runs} processes")
    theirs = medians["libipt"]
    for who, (wall, cpu) in medians.items():
        print(f"  {who:10} {wall:8.1f} ms elapsed {cpu:8.1f} ms CPU: libipt takes "
              f"{theirs[0] / wall:.2f} times as long elapsed, {theirs[1] / cpu:.2f} times in CPU time")


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
