# SPDX-License-Identifier: MIT
"""Running programs, and what each run took."""
import dataclasses
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time


class Skip(Exception):
    """A row can't be measured; the text says why and what helps."""


class Differ(Exception):
    """The sides do not agree; times would compare nothing."""


@dataclasses.dataclass
class Run:
    """Seconds; peak of resident memory in bytes, pages of mapped files included."""
    wall: float
    cpu: float
    peak: int


# perf finds nothing in that home: neither its caches of binaries nor its settings. With a fixed
# seed for its hashes, python3 does the same each time.
ENVIRONMENT = {**os.environ, "HOME": "/nonexistent", "PYTHONHASHSEED": "0"}


def need(program, package):
    if shutil.which(program) is None:
        raise Skip(f"{program} is not installed: apt-get install {package}")


def _check(command, status, errors):
    if status != 0:
        shown = " ".join(map(str, command))[:200]
        raise Skip(f"`{shown}` ended with status {status}: {errors.strip()[:300]}")


def run(command):
    """One Run, with the output thrown away."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors,
                              env=ENVIRONMENT) as process:
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        _check(command, process.returncode, errors.read().decode(errors="replace"))
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def output(command):
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=False)
    _check(command, done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def count_lines(command):
    """How many lines it prints."""
    lines = 0
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors,
                              env=ENVIRONMENT) as process:
            while block := process.stdout.read(1 << 20):
                lines += block.count(b"\n")
        errors.seek(0)
        _check(command, process.returncode, errors.read().decode(errors="replace"))
    return lines


def in_turns(sides, runs):
    """name -> its Runs; the sides take turns, so that a slow moment of the machine meets all."""
    for command in sides.values():
        run(command)  # files into the page cache
    times = {name: [] for name in sides}
    for _ in range(runs):
        for name, command in sides.items():
            times[name].append(run(command))
    return times


def ratios(times, slow, fast, what="cpu"):
    """(ratio of the medians, best ratio of one turn)."""
    pairs = [(getattr(a, what), getattr(b, what)) for a, b in zip(times[slow], times[fast])]
    return (statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs),
            max(a / b for a, b in pairs))


def anonymous_peak(command):
    """Bytes of memory that are no pages of files, at most, looked at every few milliseconds."""
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            if found := re.search(r"RssAnon:\s+(\d+) kB", status):
                peak = max(peak, int(found[1]) * 1024)
            time.sleep(0.003)
    return peak
