#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands on a large recording of branch stacks, as whole processes, against perf script's text of it.

The recording is the shared one of a Skylake-SP, its samples many times over, each time later. All
take turns; the figures are CPU time (user and system) in the median, and the ratio of the medians.
"""

import argparse
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

RECORDING = "traces/branch-stack/autofdo-propeller-sample1-skx-a/propeller_sample_1.perfdata1"
IMAGE = "propeller_sample_1.bin"
MAPPED = ("build/work/bfc40c97139ee05051c97b0723882c290ea4/google3/blaze-out/k8-fastbuild/genfiles/devtools/"
          "crosstool/autofdo/testdata/propeller_sample_1.bin.gen")
SAMPLE, TIME_AT, TABLE_ENTRY = 9, 24, 16  # of this recording: IP, TID, TIME come first


def many_times(source, copies, target):
    """Writes the recording with its samples `copies` times; the tables behind the data move."""
    data = open(source, "rb").read()
    begin, size = struct.unpack_from("<QQ", data, 40)
    samples, at = [], begin
    while at < begin + size:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:
            samples.append(data[at:at + length])
        at += length
    times = [struct.unpack_from("<Q", sample, TIME_AT)[0] for sample in samples]
    span = max(times) - min(times) + 1
    added = (copies - 1) * sum(map(len, samples))
    tables = bytearray(data[begin + size:])
    features = int.from_bytes(data[72:104], "little").bit_count()
    for i in range(features):
        where, = struct.unpack_from("<Q", tables, i * TABLE_ENTRY)
        if where >= begin + size:
            struct.pack_into("<Q", tables, i * TABLE_ENTRY, where + added)
    with open(target, "wb") as out:
        out.write(data[:48] + struct.pack("<Q", size + added) + data[56:begin + size])
        for copy in range(1, copies):
            for sample, time in zip(samples, times):
                out.write(sample[:TIME_AT] + struct.pack("<Q", time + copy * span) + sample[TIME_AT + 8:])
        out.write(tables)
    return copies * len(samples)


def run(command):
    """CPU seconds, and the most memory in MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 6):
        sys.exit(f"{' '.join(command)}: status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--shared", default=os.environ.get("FLOWBACK_SHARED", "../shared"))
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if shutil.which("perf") is None:
        sys.exit("perf is missing: apt-get install linux-perf")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(options.shared, RECORDING)
        recording = os.path.join(folder, "stacks.data")
        samples = many_times(source, options.copies, recording)
        image = os.path.join(folder, "root", MAPPED)
        os.makedirs(os.path.dirname(image))
        shutil.copy(os.path.join(os.path.dirname(source), IMAGE), image)
        program = [os.path.join(options.bin, "flowback")]
        reading = [recording, "--symfs", os.path.join(folder, "root"), "--threads", "1", "--no-cache"]
        commands = {
            "perf script -F ip,brstack": ["perf", "script", "-i", recording, "-F", "ip,brstack", "--show-mmap-events"],
            "export --to brstack": program + ["export", "--to", "brstack"] + reading,
            "decode --as digest": program + ["decode", "--as", "digest"] + reading,
            "coverage": program + ["coverage"] + reading,
            "branches": program + ["branches"] + reading,
        }
        taken = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                taken[name].append(run(command))
        megabytes = os.path.getsize(recording) / 1e6
        print(f"{samples} samples, {megabytes:.0f} MB, {options.runs} runs in turns\n")
        medians = {name: statistics.median(cpu for cpu, _ in runs) for name, runs in taken.items()}
        print("| command | CPU, s | perf script takes times as much | memory, MB |\n|---|---|---|---|")
        for name, median in medians.items():
            ratio = next(iter(medians.values())) / median
            memory = max(memory for _, memory in taken[name])
            print(f"| `{name}` | {median:.3f} | {ratio:.1f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
