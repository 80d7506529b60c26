#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of the hot loops on fixed streams and compares them with recorded.json.

guard.py --bin BUILD/bin             fails when a loop takes over 5 % more than recorded
guard.py --bin BUILD/bin --record    writes recorded.json anew; commit it with the reason

Instructions, not times, so that a busy machine changes nothing; valgrind shows every program the
same processor, so that the C library picks the same functions everywhere. Figures belong to a
compiler: with another one nothing is compared (status 77).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RECORDED = pathlib.Path(__file__).with_name("recorded.json")
SLACK = 0.05
# Loop: what to look at when it got slower.
LOOPS = {
    "guard_lexing": "reading packets alone (decode/pt/packets/)",
    "guard_counting_tnt": "counting, warm, TNT-dense (decode/pt/engine/flow_memo.h, decode/pt/memo/path_memo.h)",
    "guard_counting_tip": "counting, warm, TIP-dense (decode/pt/engine/flow_memo.h, decode/pt/memo/path_memo.h)",
    "guard_counting_cold": "counting, cold: blocks, graph, memo (decode/code/cache/block_cache.cc, decode/pt/)",
    "guard_ranges": "ranges of code, warm, TNT-dense (decode/pt/sinks/range_sink.h, decode/pt/memo/path_ends.h)",
    "guard_flow": "the full flow, warm (decode/pt/engine/flow_hot.h, decode/pt/engine/flow_walk.h)",
    "guard_flow_with_times": "the full flow with times, warm (decode/pt/time/time_estimator.h)",
    "guard_calls": "the calls of a flow, warm (replay/calls/)",
    "text": "lines of instructions (cli/listing/print_instructions.cc, cli/listing/instruction_text.h)",
    "text_calls": "lines of calls (cli/listing/print_calls.cc, replay/calls/)",
}
KINDS = {"text": ["instructions", "-F", "ip"], "text_calls": ["calls", "-F", "tid"]}
TEXT_STREAM = ["--seed", "4", "--shape", "2", "--functions", "40", "--tsc", "1", "--mtc", "1"]


def fail(text):
    sys.exit(f"guard.py: {text}")


# The C library copies long memory by one instruction on some processors, AMD's among them, and
# valgrind counts that once for each byte.
SAME_COPIES = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"


def run(command):
    environment = dict(os.environ, GLIBC_TUNABLES=SAME_COPIES)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        fail(f"`{' '.join(command)}` ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def instructions(command, *options):
    """How many machine instructions the program took, or its part that `options` select."""
    with tempfile.NamedTemporaryFile() as out:
        run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", *options,
             *command])
        found = re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(out.name).read_text(), re.M)
    count = int(found[1]) if found else 0
    if count == 0:
        fail(f"callgrind counted nothing in `{' '.join(command)}`: is the function gone?")
    return count


def loop(binaries, name):
    return instructions([str(binaries / "guard_loops")], "--collect-atstart=no",
                        f"--toggle-collect={name}")


def text(binaries, kind):
    """Counts a long stream less its first part, which leaves out the cost of starting."""
    with tempfile.TemporaryDirectory() as folder:
        totals = []
        for count in ("100000", "500000"):
            stream = str(pathlib.Path(folder) / "stream")
            run([str(binaries / "generate_stream"), stream, "--instructions", count, *TEXT_STREAM])
            options = pathlib.Path(stream + ".args").read_text().split()
            totals.append(instructions([str(binaries / "flowback"), "decode", "--as",
                                        *KINDS[kind], "--threads", "1", *options]))
        return totals[1] - totals[0]


def compiler(binaries):
    cache = (binaries.parent / "CMakeCache.txt").read_text()
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M)[1]
    kind = re.search(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", cache, re.M)[1]
    version = run([path, "-dumpfullversion"]).split(".")[0]
    return f"{pathlib.Path(path).name} {version} {kind} {run([path, '-dumpmachine']).strip()}"


def measure(binaries):
    return {name: text(binaries, name) if name in KINDS else loop(binaries, name) for name in LOOPS}


def compare(recorded, measured, again):
    """How many loops got slower."""
    slower = 0
    for name, count in measured.items():
        before = recorded.get(name)
        if before is None:
            slower += 1
            print(f"{name}: not in {RECORDED.name} yet. Record it: {again}")
            continue
        change = count / before - 1
        print(f"{name:22} {count:12} instructions, recorded {before:12}: {change:+.2%}")
        if change > SLACK:
            slower += 1
            print(f"  FAILED: {LOOPS[name]} takes {change:.1%} more instructions than recorded, "
                  f"{SLACK:.0%} are allowed.\n  If there is a good reason, record the new figure "
                  f"and commit it with the reason: {again}")
        elif change < -SLACK:
            print(f"  WARNING: {-change:.1%} fewer than recorded. Keep the gain: {again}")
    return slower


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        fail("valgrind is not installed: apt-get install valgrind")
    for program in ("guard_loops", "generate_stream", "flowback"):
        if not (options.bin / program).exists():
            fail(f"{options.bin / program} is not built: "
                 f"cmake --build --preset release --target {program}")
    binaries = options.bin.resolve()
    again = f"tests/guard/guard.py --bin {options.bin} --record"
    builder = compiler(binaries)
    if options.record:
        figures = {"compiler": builder, "instructions": measure(binaries)}
        RECORDED.write_text(json.dumps(figures, indent=2) + "\n")
        print(f"recorded in {RECORDED}: {figures['instructions']}")
        return
    recorded = json.loads(RECORDED.read_text())
    if recorded["compiler"] != builder:
        print(f"SKIPPED: the figures are of {recorded['compiler']}, this build is of {builder}")
        sys.exit(77)
    slower = compare(recorded["instructions"], measure(binaries), again)
    if slower:
        fail(f"{slower} of {len(LOOPS)} hot loops got slower")


if __name__ == "__main__":
    main()
