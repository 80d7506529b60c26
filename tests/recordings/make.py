#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the recordings of this folder anew, with their truth: by hand, when a program or a format changes.

make.py FLOWBACK [FOLDER]: records by the program FLOWBACK into FOLDER, this one by default.

The truth does not come from the recordings. gdb steps through the programs of one thread on the
processor and notes the address of every instruction; `entered` says how often gdb saw each function's
first instruction. For programs of several threads and processes, and with signals, flowback's own
single-stepping on the processor is the judge of what the emulator recorded."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(HERE, "..", "..", "samples")
# A path that every machine has, since recordings hold the program's path.
BUILT = "/tmp/flowback-recordings"
COMPILE = ["gcc", "-O2", "-g", "-static", "-nostdlib", "-no-pie", "-ffreestanding", "-fno-stack-protector",
           "-fno-pic", "-mno-red-zone", f"-ffile-prefix-map={os.path.realpath(SAMPLES)}=samples"]
K = 0x9E3779B97F4A7C15

# One thread, no signals.
BY_GDB = ("tiny", "branches")

# recording: the program and the options that recorded it.
RECORDINGS = {
    "tiny-stepped": ("tiny", ["--engine", "step"]),
    "tiny": ("tiny", ["--engine", "emulate"]),
    "branches": ("branches", ["--engine", "emulate"]),
    "branches-stacks": ("branches", ["--engine", "emulate", "-b"]),
    "interruptions": ("interruptions", ["--engine", "emulate"]),
    "changes": ("changes", ["--engine", "emulate"]),
}


def build(program):
    os.makedirs(BUILT, exist_ok=True)
    path = os.path.join(BUILT, program)
    source = os.path.realpath(os.path.join(SAMPLES, f"{program}.c"))
    subprocess.run([*COMPILE, "-o", path, source], cwd=BUILT, check=True)
    return path


def stepped_by_gdb(path):
    """The addresses of the instructions that gdb steps through."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".steps") as steps:
        subprocess.run(["gdb", "-nx", "-batch", "-x", os.path.join(HERE, "steps_by_gdb.py"), path],
                       env={**os.environ, "STEPS": steps.name}, check=True, stdout=subprocess.DEVNULL)
        return [[int(line, 16) for line in steps]]


def stepped_by_flowback(flowback, path):
    """The addresses of each thread's instructions, of the threads in the order of their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "stepped.data")
        run = {"check": True, "capture_output": True, "text": True}
        subprocess.run([flowback, "record", "--engine", "step", "-o", recording, "--", path], **run)
        listed = subprocess.run([flowback, "decode", recording, "-F", "tid,ip"], **run).stdout
    threads = collections.defaultdict(list)
    for line in listed.splitlines():
        thread, address = line.split()
        threads[int(thread)].append(int(address, 16))
    return [addresses for _, addresses in sorted(threads.items())]


def functions_of(path):
    """{address: name} of the functions; a label inside a function is none."""
    listed = subprocess.run(["nm", "-S", path], check=True, capture_output=True, text=True).stdout
    symbols = [line.split() for line in listed.splitlines()]
    sized = [(int(row[0], 16), int(row[1], 16), row[3]) for row in symbols if len(row) == 4 and row[2] in "tT"]
    labels = [(int(row[0], 16), row[2]) for row in symbols if len(row) == 3 and row[1] in "tT"]
    functions = {address: name for address, _, name in sized}
    for address, name in labels:
        if not any(begin <= address < begin + size for begin, size, _ in sized):
            functions[address] = name
    return functions


def digest(addresses):
    value = 0
    for address in addresses:
        value = (value * K + address) % (1 << 64)
    return f"{value:016x}"


def truth_of(flowback, path):
    alone = os.path.basename(path) in BY_GDB
    threads = stepped_by_gdb(path) if alone else stepped_by_flowback(flowback, path)
    counts = collections.Counter(address for addresses in threads for address in addresses)
    names = functions_of(path)
    return {
        "judge": "gdb" if alone else "record --engine step",
        "threads": [{"instructions": len(addresses), "digest": digest(addresses)} for addresses in threads],
        "addresses": len(counts),
        "entered": {name: counts[address] for address, name in sorted(names.items()) if counts[address]},
    }


def record(flowback, folder, name, program, options):
    output = f"{name}.data"
    if os.path.exists(os.path.join(folder, output)):
        os.remove(os.path.join(folder, output))
    shutil.rmtree(os.path.join(folder, f"{output}.images"), ignore_errors=True)
    subprocess.run([flowback, "record", *options, "-o", output, "--", os.path.join(BUILT, program)], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    drop_vdso(os.path.join(folder, f"{output}.images"))


def drop_vdso(images):
    """The kernel's own code is not ours to pass on, and no program here calls it."""
    index = os.path.join(images, "index")
    with open(index, encoding="utf-8") as file:
        rows = [row for row in file if not row.endswith(" [vdso]\n")]
    with open(index, "w", encoding="utf-8") as file:
        file.writelines(rows)
    for name in os.listdir(images):
        if "vdso" in name:
            os.remove(os.path.join(images, name))


def main():
    flowback = os.path.realpath(sys.argv[1])
    folder = os.path.realpath(sys.argv[2]) if len(sys.argv) > 2 else HERE
    paths = {program: build(program) for program, _ in RECORDINGS.values()}
    truths = {program: truth_of(flowback, path) for program, path in paths.items()}
    for name, (program, options) in RECORDINGS.items():
        record(flowback, folder, name, program, options)
    programs = {name: program for name, (program, _) in RECORDINGS.items()}
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as file:
        json.dump({"recordings": programs, "programs": truths}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
