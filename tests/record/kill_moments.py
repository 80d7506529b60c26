#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills the recorder, and the recorded program, with SIGKILL at random moments.

usage: kill_moments.py FLOWBACK COUNT [ENGINE...]

Each time what was written must be readable by `flowback info`, `flowback decode` and `perf script`
(where perf is installed), a message must name whatever is missing, and in the end no process may be left.
When the recorder dies, a program in the emulator goes on by itself, as under perf; a stepped one
dies with it. When a process dies, the recording is complete, and its digests are those that the
recorder had; but the recorder may have seen some more of the killed one than its trace has, and
then that is a loss in the recording. With the engine "events" there is no trace: what
was written is read by `flowback info` and, once the recording has begun, by `perf script`.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MARK = "FLOWBACK_KILL_MOMENTS"
# Processes and pipes: for a second or so in the emulator, some more single-stepped.
SCRIPT = "for i in 1 2 3 4; do echo $i | cat | /bin/true; done"
LONGEST = {"emulate": 0.8, "step": 1.5, "events": 0.5}  # seconds until the kill
EVENTS = ["-e", "cpu-clock:u,page-faults/period=1/u", "--switch-events"]
# Longer than the recorder takes to begin.
EVENTS_SCRIPT = "for i in 1 2 3 4 5 6 7 8; do echo $i | cat | /bin/true; sleep 0.03; done"
DATA_SIZE_AT = 48  # in the file's header
SKIPPED = 77
TRACE_CUT = b"trace cut"
NOTHING_YET = b"no branch trace in this recording"
PATIENCE = 120  # seconds for what must come to its end


class Failure(Exception):
    pass


def processes(mark):
    """All processes that descend from the recording with this mark, zombies excepted."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                environment = file.read()
            with open(f"/proc/{name}/stat", "rb") as file:
                state = file.read().rsplit(b") ", 1)[1][:1]
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment.split(b"\0") and state not in b"ZX":
            found.append(int(name))
    return found


def run(*words):
    return subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False)


def digests_of(text):
    """The `decode --as digest` lines of threads that executed something: tid, count, digest."""
    lines = [tuple(line.split()) for line in text.decode().splitlines()]
    return sorted(line for line in lines if line[1] != "0")


def recorded_digests(text):
    """The same from the recorder's JSON lines."""
    threads = [json.loads(line) for line in text.decode().splitlines() if line.startswith("{")]
    return sorted((str(t["tid"]), str(t["count"]), t["digest"]) for t in threads
                  if t["schema"] == "flowback.record.thread/1" and t["count"])


def check_readable(flowback, path):
    """Returns the output of decode."""
    info = run(flowback, "info", path)
    if info.returncode != 0 or b"emulated" not in info.stdout:
        raise Failure(f"info: {info.returncode}: {info.stderr.decode()}")
    decoded = run(flowback, "decode", path, "--as", "digest")
    if NOTHING_YET in decoded.stderr:
        return b""
    if decoded.returncode != 0:
        raise Failure(f"decode: {decoded.returncode}: {decoded.stderr.decode()}")
    if shutil.which("perf"):
        script = run("perf", "script", "-i", path, "--itrace=i0ns", "-F", "tid,ip")
        if script.returncode != 0:
            raise Failure(f"perf script: {script.returncode}: {script.stderr.decode()}")
    return decoded.stdout


def check_events_readable(flowback, path):
    """perf refuses a file whose header says that nothing is in it yet."""
    info = run(flowback, "info", path)
    if info.returncode != 0:
        raise Failure(f"info: {info.returncode}: {info.stderr.decode()}")
    with open(path, "rb") as file:
        header = file.read(DATA_SIZE_AT + 8)
    begun = int.from_bytes(header[DATA_SIZE_AT:], "little") != 0
    if begun and shutil.which("perf"):
        script = run("perf", "script", "-i", path, "-F", "tid,event")
        if script.returncode != 0:
            raise Failure(f"perf script: {script.returncode}: {script.stderr.decode()}")


def check_gone(mark):
    end = time.monotonic() + PATIENCE
    while left := processes(mark):
        if time.monotonic() > end:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise Failure(f"processes were left behind: {left}")
        time.sleep(0.02)


def begin(flowback, engine, folder, mark):
    path = os.path.join(folder, "perf.data")
    events = engine == "events"
    command = [flowback, "record", "--engine", engine, *(EVENTS if events else []), "-o", path,
               "--json", "--", "/bin/sh", "-c", EVENTS_SCRIPT if events else SCRIPT]
    with open(os.path.join(folder, "out"), "wb") as out:
        recorder = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=subprocess.DEVNULL, env={**os.environ, MARK: mark})
    return recorder, path


def kill_recorder(flowback, engine, folder, mark, moment):
    recorder, path = begin(flowback, engine, folder, mark)
    time.sleep(moment)
    recorder.kill()
    recorder.wait()
    check_gone(mark)
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return "before anything was written"
    check = check_events_readable if engine == "events" else check_readable
    check(flowback, path)
    return f"{os.path.getsize(path)} bytes readable"


def program_processes(flowback, mark):
    # The recorder has processes of its own. The leak sanitizer's, too, stops the recorder while it
    # looks, and when that one is killed, its other half waits for ever.
    return [pid for pid in processes(mark) if not runs(pid, flowback)]


def kill_program(flowback, engine, folder, mark, moment):
    """Kills one of the program's processes, if there is one then. At moment 0: the first one."""
    recorder, path = begin(flowback, engine, folder, mark)
    time.sleep(moment)
    victims = program_processes(flowback, mark)
    while moment == 0 and not victims:
        if recorder.poll() is not None:
            raise Failure("no process of the program was seen")
        victims = program_processes(flowback, mark)
    victim = random.choice(victims) if victims else None
    if victim:
        os.kill(victim, signal.SIGKILL)
    status = recorder.wait(timeout=PATIENCE)
    if status < 0 or status == 125 and os.path.exists(path) and os.path.getsize(path) == 0:
        raise Failure(f"the recorder ended with {status}")
    check_gone(mark)
    if not os.path.exists(path):
        return "before anything was written"
    with open(os.path.join(folder, "out"), "rb") as file:
        recorded = recorded_digests(file.read())
    decoded = digests_of(check_readable(flowback, path))
    if status != 125 and recorded != decoded:
        more, less = set(recorded) - set(decoded), set(decoded) - set(recorded)
        stated = TRACE_CUT in run(flowback, "info", path).stdout
        of_victim = all(tid == str(victim) for tid, _, _ in more | less)
        behind = sum(int(n) for _, n, _ in less) < sum(int(n) for _, n, _ in more)
        if not (stated and of_victim and behind):
            raise Failure(f"recorded {more}, decoded {less}")
    return f"{len(decoded)} threads, status {status}"


def runs(pid, program):
    """Whether the process is one of that program's file; also true when it is gone."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return True


def works_here(flowback, engine):
    with tempfile.TemporaryDirectory() as folder:
        tried = run(flowback, "record", "--engine", engine, "-o", os.path.join(folder, "perf.data"),
                    "--", "/bin/true")
    if tried.returncode:
        print(f"{engine} is skipped: {tried.stderr.decode()}")
    return tried.returncode == 0


def main():
    flowback, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    engines = [engine for engine in sys.argv[3:] or ["emulate", "step", "events"]
               if works_here(flowback, engine)]
    if not engines:
        return SKIPPED
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    random.seed(seed)
    print(f"SEED={seed}")
    failures = 0
    for round_number in range(count):
        for engine in engines:
            # Events do not contain the executed flow.
            for kill in (kill_recorder,) if engine == "events" else (kill_recorder, kill_program):
                moment = random.uniform(0, LONGEST.get(engine, 1))
                if kill is kill_program and round_number == 0:
                    moment = 0  # one kill hits, however slow the machine is
                mark = f"{os.getpid()}-{round_number}-{engine}-{kill.__name__}"
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        said = kill(flowback, engine, folder, mark, moment)
                    except (Failure, subprocess.TimeoutExpired) as failure:
                        failures += 1
                        said = f"FAILED: {failure}"
                        kept = tempfile.mkdtemp(prefix="kill-moments-")
                        shutil.copytree(folder, kept, dirs_exist_ok=True)
                        said += f" (kept in {kept})"
                print(f"{kill.__name__} {engine} after {moment:.3f} s: {said}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
