# SPDX-License-Identifier: MIT
"""gdb at a replay of threads that throw: all visits in both directions, each end of history, exceptions, random steps
between switches of threads. FLOWBACK_COMMANDS: how many of these.

  judge_threads.py FLOWBACK COMPILER"""

import json
import os
import shutil
import subprocess
import sys
import tempfile


def main():
    flowback, compiler = sys.argv[1:]
    if shutil.which("gdb") is None:
        print("SKIPPED: there is no gdb")
        sys.exit(77)
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        words = [compiler, "-g", "-O1", "-pthread", os.path.join(here, "throwing.cc"), "-o", "program"]
        if subprocess.run(words, cwd=folder, capture_output=True).returncode != 0:
            print("SKIPPED: the compiler makes no C++ program")
            sys.exit(77)
        subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", "r", "--", "./program"], cwd=folder)
        told = subprocess.run([flowback, "decode", "r", "--fields", "tid,ip"], cwd=folder, capture_output=True, text=True)
        listing = {}
        for line in told.stdout.splitlines():
            if not line.startswith("#"):
                tid, ip = line.split()
                listing.setdefault(int(tid), []).append(int(ip, 16))
        with open(os.path.join(folder, "listing"), "w") as file:
            json.dump(listing, file)
        environment = dict(os.environ, LISTING="listing", COUNT=os.environ.get("FLOWBACK_COMMANDS", "60"))
        done = subprocess.run([flowback, "replay", "-q", "r", "--", "-nx", "-batch", "-x",
                               os.path.join(here, "threads_in_gdb.py")], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=environment, timeout=60)
    # At the end, at the begin, a step back from there, and before the first throw.
    ends = (done.stdout + done.stderr).count("No more reverse-execution history")
    if "\nright\n" in done.stdout and ends >= 4:
        return
    print({tid: len(lines) for tid, lines in listing.items()}, (done.stdout + done.stderr)[-5000:])
    sys.exit(1)


main()
