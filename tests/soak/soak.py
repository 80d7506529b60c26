#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every way of decoding on new random streams, until the time is up.

soak.py --bin BUILD/bin [--seconds N] [--seed S] [--jobs N]

Runs the tests on generated and damaged streams (tests/differential, tests/judge) with seeds of their
own: fast ways against slow ones, one thread against several, native against libipt by the tests'
rules, the flow of damaged streams against what executed. The
batches follow from --seed, which is printed. Status 1 at the first failure, with the stream's seed
and the command that decodes it again.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import time

BATCH = 50
MOST_SECONDS = 600  # for a batch: none takes a tenth of it, so something hangs
PROGRAMS = {"generated_streams_test": ["Shard/Streams"],
            "damaged_streams_test": ["Shard/DamagedStreams", "Shard/WrongCode"],
            "judge_seeds_test": ["Shard/GeneratedSeeds"]}


def suites():
    return [(program, suite) for program, names in PROGRAMS.items() for suite in names]


def command(binaries, program, suite):
    return [str(binaries / program), f"--gtest_filter={suite}.*/0"]


def run(binaries, program, suite, first, count):
    """(whether all went well, what was printed) for seeds [first, first + count)."""
    environment = {**os.environ, "FLOWBACK_SEEDS": f"{first}:{count}"}
    try:
        done = subprocess.run(command(binaries, program, suite), env=environment, text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no end after {MOST_SECONDS} s"
    # A filter that fits no test passes, too.
    return done.returncode == 0 and "[  PASSED  ] 1 test." in done.stdout, done.stdout


def culprit(binaries, program, suite, first, count):
    """(seed, its output) of the first stream that fails by itself; None: only all together do."""
    for seed in range(first, first + count):
        well, text = run(binaries, program, suite, seed, 1)
        if not well:
            return seed, text
    return None


def tell(binaries, program, suite, first, text):
    found = culprit(binaries, program, suite, first, BATCH)
    seeds, text = (f"{found[0]}:1", found[1]) if found else (f"{first}:{BATCH}", text)
    print(text[-6000:])
    shown = " ".join(f"'{word}'" if "*" in word else word
                     for word in command(binaries, program, suite))
    print(f"FAILED: seed {seeds.partition(':')[0]}. Again:\n  FLOWBACK_SEEDS={seeds} {shown}")


def batches(seed):
    of = random.Random(seed)
    while True:
        for program, suite in suites():
            yield program, suite, of.randrange(1 << 40)


def soak(binaries, seed, seconds, jobs):
    """Streams decoded by suite; a failure ends the program."""
    end = time.monotonic() + seconds
    streams = {suite: 0 for _, suite in suites()}
    source = batches(seed)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while time.monotonic() < end:
            work = [next(source) for _ in range(jobs)]
            results = pool.map(lambda one: run(binaries, *one, BATCH), work)
            for (program, suite, first), (well, text) in zip(work, results):
                if not well:
                    tell(binaries, program, suite, first, text)
                    sys.exit(1)
                streams[suite] += BATCH
    return streams


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for program in PROGRAMS:
        if not (options.bin / program).exists():
            sys.exit(f"soak.py: {options.bin / program} is not built: "
                     f"cmake --build --preset release --target {program}")
    print(f"seed {options.seed}, {options.seconds:g} s, {options.jobs} at a time", flush=True)
    streams = soak(options.bin.resolve(), options.seed, options.seconds, options.jobs)
    print("every way told the same: " +
          ", ".join(f"{count} of {suite.partition('/')[2]}" for suite, count in streams.items()))


if __name__ == "__main__":
    main()
