#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording by emulation costs: whole-process times of programs by themselves, in the emulator
without our plugin, and recorded. The three take turns.

recording.py --bin BUILD/bin [--runs N] [NAME...]      of gzip, sqlite3, python3; all by default
"""
import argparse
import base64
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

QUERY = (
    "create table t(a, b);"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)"
    " insert into t select i, hex(i * 7919) from n;"
    "create index x on t(b);"
    "select count(*), sum(a) from t where b like '%7A%';"
)
SCRIPT = (
    "import json, re\n"
    "words = [str(i * 7919 % 10007) for i in range(120000)]\n"
    "counts = {}\n"
    "for word in words: counts[word] = counts.get(word, 0) + 1\n"
    "text = json.dumps(counts)\n"
    "print(len(re.findall('7+', text)), sum(sorted(counts.values())[:100]))\n"
)


def programs(folder):
    """name -> command; gzip's input is text of 20 MB that compresses to three quarters."""
    text = folder / "text"
    text.write_bytes(base64.encodebytes(random.Random(1).randbytes(15_000_000))[:20_000_000])
    return {
        "gzip": ["gzip", "-c", str(text)],
        "sqlite3": ["sqlite3", ":memory:", QUERY],
        "python3": ["python3", "-S", "-c", SCRIPT],
    }


def run(command):
    """Seconds."""
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:4])} ...: status {done.returncode}\n{done.stderr.decode()}")
    return time.monotonic() - start


def strict(flowback, recording):
    """Whether nothing was lost."""
    return subprocess.run([flowback, "info", "--strict", recording], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--locks", action="store_true", help="record the addresses of locks, too")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    flowback = str(options.bin / "flowback")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        recording = str(folder / "perf.data")
        commands = programs(folder)
        print(f"load {os.getloadavg()[0]:.1f}, medians of {options.runs} runs, seconds")
        for program in options.names or commands:
            command = commands[program]
            if shutil.which(command[0]) is None:
                print(f"{program}: not installed")
                continue
            path = shutil.which(command[0])
            ways = {
                "alone": [path, *command[1:]],
                "emulated": ["qemu-x86_64", path, *command[1:]],
                "recorded": [flowback, "record", "--engine", "emulate",
                             *(["--locks"] if options.locks else []), "-o", recording, "--", *command],
            }
            times = {way: [] for way in ways}
            for _ in range(options.runs):
                for way, words in ways.items():
                    times[way].append(run(words))
            if not strict(flowback, recording):
                sys.exit(f"{program}: the recording has losses")
            alone, emulated, recorded = (statistics.median(times[way]) for way in ways)
            print(f"{program:8} alone {alone:6.2f}   emulated {emulated:6.2f} ({emulated / alone:4.1f}x)"
                  f"   recorded {recorded:6.2f} ({recorded / alone:4.1f}x)"
                  f"   {os.path.getsize(recording) / 1e6:6.1f} MB, nothing lost")


if __name__ == "__main__":
    main()
