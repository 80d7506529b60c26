#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""flowback against libipt's two decoders and perf, on the same recordings, in turns: every target.

compare.py --bin BUILD/bin [--runs N] [--recording FILE] [--json FILE] [ROW...]

Rows: warm, plain, cold, disk, flow, cyc, perf-summary, perf-text, threads, memory; all by default.
Inputs: big-gzip and big-sqlite3 of the shared recordings, and real programs that are
recorded here, by emulation, into a folder that is removed at the end. --recording FILE: another
recording of over 100 MB for perf-summary, threads and memory. Counts of instructions are compared
before any time is taken; where they differ, the row says so instead.
"""
import argparse
import json
import pathlib
import re
import signal
import statistics
import sys
import tempfile

import machine
from inputs import Inputs
from processes import (ENVIRONMENT, Differ, Skip, anonymous_peak, count_lines, in_turns, need,
                       output, ratios, run)

# Row -> what it measures, the target, whether more is better.
TARGETS = {
    "warm/gzip": 40, "warm/sqlite3": 20, "warm/python3": 20, "warm/cc1": 20, "plain": 30,
    "cold": 6, "disk": 12, "flow": 15, "cyc": 2.5, "perf-summary": 30, "perf-text": 40,
    "threads": 1.85,
}
WHAT = {
    "warm": "counting, warm, vs libipt block decoder",
    "plain": "counting, warm, plain trace, vs libipt block decoder",
    "cold": "counting, cold process, vs libipt block decoder",
    "disk": "the same with blocks kept on disk",
    "flow": "full flow, times and digest, vs libipt block decoder",
    "cyc": "counting with CYC, times the time without",
    "perf-summary": "decode --as summary vs perf script --itrace=e",
    "perf-text": "decode --as instructions -F ip vs perf script --itrace=i0ns",
    "threads": "two threads vs one, --as summary, elapsed",
    "memory": "decode --as summary, peak",
}
PROGRAMS = ["gzip", "sqlite3", "python3", "cc1"]
CODE_HEAVY = ["sqlite3", "python3", "cc1"]


class Comparison:
    """All rows; each method yields results as they come."""

    def __init__(self, binaries, inputs, runs):
        self.bin, self.inputs, self.runs = binaries, inputs, runs

    def program(self, name):
        path = self.bin / name
        if not path.exists():
            raise Skip(f"{path} is not built: cmake --build --preset release --target {name}")
        return str(path)

    def decode(self, kind, *options, threads=1, cache=False):
        return [self.program("flowback"), "decode", "--as", kind, "--threads", str(threads),
                *(["--no-index"] if cache else ["--no-cache"]), *options]

    def counts(self, options):
        """Instructions by ours and by libipt's block decoder, in a raw stream; equal or Differ."""
        ours = int(output(self.decode("digest", *options)).split()[1])
        theirs = int(output([self.program("libipt_once"), *options]))
        if ours != theirs:
            raise Differ(f"flowback counts {ours} instructions, libipt {theirs}")
        return {"flowback": ours, "libipt": theirs}

    def benchmark(self, program, options, sides):
        """side -> CPU seconds of each repetition, in process and warm; and the instructions."""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            output([self.program(program), f"--benchmark_filter=/({'|'.join(sides)})/",
                    "--benchmark_enable_random_interleaving=true",
                    f"--benchmark_out={file.name}", "--benchmark_out_format=json", *options])
            runs = json.load(file)["benchmarks"]
        times, counts = {side: [] for side in sides}, {}
        for one in runs:
            side = re.search(rf"/({'|'.join(sides)})/", one["name"])[1]
            if one["run_type"] == "iteration":
                times[side].append((one["repetition_index"], one["cpu_time"] / 1e3))
                counts[side] = int(one["instructions"])
        if len(set(counts.values())) != 1 or len(counts) != len(sides):
            raise Differ(f"the sides count different instructions: {counts}")
        return {side: [seconds for _, seconds in sorted(column)]
                for side, column in times.items()}, counts

    def contest(self, row, name, options):
        """Warm counting against both of libipt's decoders."""
        times, counts = self.benchmark("decode_bench", options,
                                       ["native", "libipt-instructions", "libipt"])
        ours = statistics.median(times["native"])
        insn = statistics.median(times["libipt-instructions"]) / ours
        return result(row, name, statistics.median(times["libipt"]) / ours,
                      max(a / b for a, b in zip(times["libipt"], times["native"])), counts,
                      f"{insn:.0f}x the instruction decoder; {ours * 1e3:.2f} ms")

    def warm(self):
        for name in PROGRAMS:
            row = f"warm/{name}"
            if name in ("gzip", "sqlite3"):
                yield row, f"big-{name}", lambda row=row, name=name: self.contest(
                    row, f"big-{name}", [f"big-{name}"] if self.inputs.generated(f"big-{name}")
                    else [])
            yield row, name, lambda row=row, name=name: self.contest(
                row, name, self.inputs.recorded(name).options)

    def plain(self):
        for name in PROGRAMS:
            yield "plain", name, lambda name=name: self.contest(
                "plain", name, self.inputs.recorded(name, "plain").options)

    def _cold(self, row, name, options, cache=False):
        counts = self.counts(options)
        summary = self.decode("summary", *options, cache=cache)
        libipt = self.program("libipt_once")
        times = in_turns({"flowback": summary, "libipt": [libipt, *options],
                          "insn": [libipt, "--instructions", *options]}, self.runs)
        ratio, best = ratios(times, "libipt", "flowback")
        insn, _ = ratios(times, "insn", "flowback")
        ours = statistics.median(one.cpu for one in times["flowback"])
        return result(row, name, ratio, best, counts,
                      f"{insn:.0f}x the instruction decoder; {ours * 1e3:.1f} ms CPU")

    def cold(self):
        yield "cold", "big-sqlite3", lambda: self._cold(
            "cold", "big-sqlite3", self.inputs.generated("big-sqlite3"))
        for name in CODE_HEAVY:
            yield "cold", name, lambda name=name: self._cold(
                "cold", name, self.inputs.recorded(name).options)

    def disk(self):
        def one(name, options):
            with tempfile.TemporaryDirectory() as cache:
                ENVIRONMENT["FLOWBACK_CACHE"] = cache
                try:
                    return self._cold("disk", name, options(), cache=True)
                finally:
                    del ENVIRONMENT["FLOWBACK_CACHE"]
        yield "disk", "big-sqlite3", lambda: one(
            "big-sqlite3", lambda: self.inputs.generated("big-sqlite3"))
        for name in CODE_HEAVY:
            yield "disk", name, lambda name=name: one(
                name, lambda: self.inputs.recorded(name).options)

    def _flow(self, name, options):
        if "/flow/" in output([self.program("decode_bench"), "--benchmark_list_tests", *options]):
            times, counts = self.benchmark("decode_bench", options, ["flow", "libipt"])
            ours = statistics.median(times["flow"])
            return result("flow", name, statistics.median(times["libipt"]) / ours,
                          max(a / b for a, b in zip(times["libipt"], times["flow"])), counts,
                          f"in batches; {ours * 1e3:.1f} ms")
        times, counts = self.benchmark("parts_bench", options,
                                       ["flow-times-digest", "flow-times", "flow", "libipt"])
        libipt = statistics.median(times["libipt"])
        others = ", ".join(f"{libipt / statistics.median(times[side]):.1f}x {text}" for side, text in
                           (("flow-times", "times alone"), ("flow", "neither")))
        pairs = zip(times["libipt"], times["flow-times-digest"])
        return result("flow", name, libipt / statistics.median(times["flow-times-digest"]),
                      max(a / b for a, b in pairs), counts, others)

    def flow(self):
        for name in ("big-gzip", "big-sqlite3"):
            yield "flow", name, lambda name=name: self._flow(
                name, [name] if self.inputs.generated(name) else [])
        for name in ("python3", "cc1"):
            yield "flow", name, lambda name=name: self._flow(
                name, self.inputs.recorded(name).options)

    def _cyc(self, name):
        options = [self.inputs.recorded(name, variant).options for variant in ("default", "cyc")]
        medians, counts = [], {}
        for what, one in zip(("without", "with CYC"), options):
            times, count = self.benchmark("decode_bench", one, ["native"])
            medians.append(times["native"])
            counts[what] = count["native"]
        if len(set(counts.values())) != 1:
            raise Differ(f"the two recordings are not of the same execution: {counts}")
        without, with_cyc = map(statistics.median, medians)
        return result("cyc", name, with_cyc / without, min(medians[1]) / min(medians[0]), counts,
                      f"{with_cyc * 1e3:.2f} ms and {without * 1e3:.2f} ms")

    def cyc(self):
        for name in PROGRAMS:
            yield "cyc", name, lambda name=name: self._cyc(name)

    def _large_counts(self, large):
        if large.options is not None:
            return self.counts(large.options)
        lines = output(self.decode("digest", large.file, threads=2)).split()
        return {"flowback": sum(map(int, lines[1::3])), "perf": "prints none"}

    def _perf_summary(self):
        need("perf", "linux-perf")
        large = self.inputs.large()
        counts = self._large_counts(large)
        sides = {"flowback": self.decode("summary", large.file),
                 "perf": ["perf", "script", "--itrace=e", "-i", large.file]}
        times = in_turns(sides, self.runs)
        ratio, best = ratios(times, "perf", "flowback")
        ours, theirs = (statistics.median(one.wall for one in times[side]) for side in sides)
        peak = max(one.peak for one in times["perf"])
        return result("perf-summary", large.name, ratio, best, counts,
                      f"{ours:.2f} s and {theirs:.1f} s elapsed; perf's peak {peak / 1e6:.0f} MB")

    def perf_summary(self):
        yield "perf-summary", "large", self._perf_summary

    def _perf_text(self, name):
        need("perf", "linux-perf")
        file = self.inputs.recorded(name).file
        sides = {"flowback": self.decode("instructions", "-F", "ip", file),
                 "perf": ["perf", "script", "--itrace=i0ns", "-F", "ip", "-i", file]}
        counts = {side: count_lines(command) for side, command in sides.items()}
        if len(set(counts.values())) != 1:
            raise Differ(f"lines of instructions: {counts}")
        times = in_turns(sides, self.runs)
        ratio, best = ratios(times, "perf", "flowback")
        ours = statistics.median(one.wall for one in times["flowback"])
        return result("perf-text", name, ratio, best, counts,
                      f"{counts['flowback'] / ours / 1e6:.0f} million lines a second")

    def perf_text(self):
        for name in ("gzip", "sqlite3"):
            yield "perf-text", name, lambda name=name: self._perf_text(name)

    def _threads(self):
        large = self.inputs.large()
        kinds = {count: self.decode("summary", large.file, threads=count) for count in (1, 2)}
        digests = {count: output(self.decode("digest", large.file, threads=count))
                   for count in kinds}
        if digests[1] != digests[2]:
            raise Differ("one thread and two tell different digests")
        times = in_turns(kinds, max(self.runs, 7))
        ratio, best = ratios(times, 1, 2, "wall")
        cpu, _ = ratios(times, 2, 1)
        count = sum(map(int, digests[1].split()[1::3]))
        return result("threads", large.name, ratio, best, {"one": count, "two": count},
                      f"two take {cpu:.2f} times the CPU time")

    def threads(self):
        yield "threads", "large", self._threads

    def _memory(self):
        large = self.inputs.large()
        command = self.decode("summary", large.file)
        peak, own = run(command).peak, anonymous_peak(command)
        size = pathlib.Path(large.file).stat().st_size
        return {"row": "memory", "input": large.name, "anonymous": own, "peak": peak,
                "note": f"{own / 1e6:.0f} MB of its own; {peak / 1e6:.0f} MB with the pages of "
                        f"mapped files (the recording: {size / 1e6:.0f} MB)"}

    def memory(self):
        yield "memory", "large", self._memory


def result(row, name, ratio, best, counts, note):
    return {"row": row, "input": name, "ratio": ratio, "best": best, "counts": counts, "note": note}


def target_of(row):
    return TARGETS.get(row)


def verdict(one):
    target = target_of(one["row"])
    if target is None:
        return "reported"
    better = one["ratio"] <= target if one["row"] == "cyc" else one["ratio"] >= target
    return "met" if better else "not met"


def text_of(one):
    start = f"{one['row']:13} {one['input']:20} "
    if "problem" in one:
        return start + f"- {one['problem']}"
    if "ratio" not in one:
        return start + one["note"]
    counts = ", ".join(f"{side} {count}" for side, count in one["counts"].items())
    sign = "<=" if one["row"] == "cyc" else ">="
    return start + (f"{one['ratio']:6.2f}  {one['best']:6.2f}  {sign} {target_of(one['row']):<5} "
                    f"{verdict(one):8} {one['note']}; counts: {counts}")


def measure(comparison, names):
    for name in names:
        for row, subject, work in getattr(comparison, name.replace("-", "_"))():
            try:
                one = work()
                one["verdict"] = verdict(one)
            except (Skip, Differ) as problem:
                what = "NOT COMPARED, the sides differ: " if isinstance(problem, Differ) else ""
                one = {"row": row, "input": subject, "problem": what + str(problem)}
            print(text_of(one), flush=True)
            yield one


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--recording", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(WHAT):
        parser.error(f"there is no row {' '.join(sorted(unknown))}; rows: {' '.join(WHAT)}")
    if options.recording is not None and not options.recording.exists():
        parser.error(f"there is no {options.recording}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the recordings go then, too
    about = machine.describe(options.bin)
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    with tempfile.TemporaryDirectory(prefix="flowback-compare-") as folder:
        comparison = Comparison(options.bin.resolve(),
                                Inputs(pathlib.Path(folder), options.bin.resolve(),
                                       options.recording), options.runs)
        print("\nrow           input                 median    best  target   ")
        results = list(measure(comparison, options.rows or list(WHAT)))
    about["load after"] = machine.load()
    print(f"load after: {about['load after']}\n" +
          "\n".join(f"{name}: {text}" for name, text in WHAT.items()))
    if options.json is not None:
        options.json.write_text(json.dumps({"schema": "flowback-compare-1", "machine": about,
                                            "rows": results}, indent=1) + "\n")
    sys.exit(any("NOT COMPARED" in one.get("problem", "") for one in results))


if __name__ == "__main__":
    main()
