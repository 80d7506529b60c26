# SPDX-License-Identifier: MIT
"""samples.py FOLDER FLOWBACK PROGRAM: the five programs of samples/use_library, built in FOLDER, say of a recording of
PROGRAM what the program FLOWBACK's own listings say of it."""

import collections
import os
import shutil
import subprocess
import sys
import tempfile


def output_of(*command):
    """The lines that a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join(command)}\n{done.stderr}")
    return done.stdout.splitlines()


def expect_equal(what, sample, listed):
    """Ends the test where a sample and a listing differ."""
    if not listed:
        sys.exit(f"FAILED: nothing to compare {what} with")
    for number, (ours, theirs) in enumerate(zip(sample, listed)):
        if ours != theirs:
            sys.exit(f"FAILED: {what}, line {number + 1}: '{ours}', listed is '{theirs}'")
    if len(sample) != len(listed):
        sys.exit(f"FAILED: {what}: {len(sample)} lines, listed are {len(listed)}")


def without_notes(lines):
    """Only what happened, without `# ...`."""
    return [line for line in lines if not line.startswith("#")]


def main():
    """Compares each program."""
    folder, flowback, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        trace = f"{scratch}/trace"
        output_of(flowback, "record", "--engine", "step", "-o", trace, "--", program)

        def decoded(*options):
            return without_notes(output_of(flowback, "decode", trace, *options))

        counted = [line.split() for line in output_of(f"{folder}/count_by_thread", trace)]
        expect_equal("count_by_thread", [" ".join((line[2], *line[:2])) for line in counted], decoded("--as", "digest"))

        threads = collections.defaultdict(list)
        for line in decoded("--as", "instructions", "-F", "tid,ip"):
            tid, address = line.split()
            threads[tid].append(f"{len(threads[tid])} {address}")
        backwards = []
        for tid, instructions in threads.items():
            backwards += [f"thread {tid}"] + instructions[::-1]
        steps = without_notes(output_of(f"{folder}/steps_back", trace, str(len(backwards))))
        expect_equal("steps_back", steps, backwards)

        # It reads debug information by a program that lies beside flowback. The library looks for that in the folder
        # that it was configured for, which is not this one, and from where the program itself lies.
        beside = shutil.copy(f"{folder}/writes_formats", os.path.dirname(flowback))
        output_of(beside, trace, f"{scratch}/lcov", f"{scratch}/json")
        for written, command in (
            ("lcov", ("coverage", trace, "--format", "lcov")),
            ("json", ("timeline", trace, "--json")),
        ):
            with open(f"{scratch}/{written}", encoding="utf-8") as file:
                expect_equal(f"writes_formats, {written}", file.read().splitlines(), output_of(flowback, *command))

        counts = collections.defaultdict(lambda: [0, 0])
        for line in decoded("--as", "branches", "--not-taken", "-F", "+tid"):
            tid, address, _, kind = line.split()[:4]
            if kind in ("jcc", "jcc-not-taken"):
                counts[list(threads).index(tid), int(address, 16), tid][kind == "jcc-not-taken"] += 1
        branches = without_notes(output_of(f"{folder}/branch_counts", trace))
        expect_equal(
            "branch_counts",
            branches,
            [f"{tid} {address:x} {taken} {not_taken}" for (_, address, tid), (taken, not_taken) in sorted(counts.items())],
        )

        # The middle third of the calls, by the clock. A listing names what a procedure linkage table's entry leads to;
        # so the callers are compared.
        times = [float(line.split()[3].rstrip(":")) for line in decoded("--as", "calls")]
        first, last = times[len(times) // 3], times[2 * len(times) // 3]
        within = decoded("--as", "calls", "--time", f"{first:.9f},{last:.9f}")
        # The calls that these lie in began before.
        within = [line for line in within if float(line.split()[3].rstrip(":")) >= first]
        listed = [line.split(" from ")[1] for line in within if " from " in line and " (tail-call) " not in line]
        calls = output_of(f"{folder}/list_calls", trace, str(round(first * 1e9)), str(round(last * 1e9)))
        callers = [line.split(": ", 1)[1].split(" -> ")[0] for line in without_notes(calls)]
        expect_equal("list_calls", callers, [place.rsplit("+", 1)[0] for place in listed])
    print("five programs with the library say what the listings say")


if __name__ == "__main__":
    main()
