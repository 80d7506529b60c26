# SPDX-License-Identifier: MIT
"""Random commands of gdb, forward and backward, at recordings of all kinds: hardware's, LLDB's bundles, of a 32-bit
program, with losses. The listing of the flow says where each must lead. FLOWBACK_COMMANDS: how many of each.

  judge_random.py FLOWBACK COMPILER SOURCE_FOLDER"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Behind them the flow goes on where it was before.
KEEP_PLACE = ("loop without packets: number of rounds not proven",
              "recursion without packets: number of calls not proven")
BARE = """
static volatile int seen;
__attribute__((noinline)) static int part(int n) { return n == 0 ? 0 : n + part(n - 1); }
void _start(void) {
  for (int i = 0; i < 9; ++i) seen += part(i);
  __asm__ volatile("int $0x80" : : "a"(1), "b"(0));
  __builtin_unreachable();
}
"""


def recordings(flowback, compiler, traces, folder):
    """Names, and how to open them."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in ("tiny", "branches", "changes", "interruptions"):
        yield name, [os.path.join(here, "recordings", name + ".data")]
    source = os.path.join(folder, "bare.c")
    with open(source, "w") as file:
        file.write(BARE)
    program, recording = os.path.join(folder, "program"), os.path.join(folder, "program.data")
    words = [compiler, "-m32", "-g", "-O1", "-nostdlib", "-static", "-no-pie", "-fno-pie", source, "-o", program]
    try:
        subprocess.run(words, check=True, capture_output=True)
        subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program],
                       check=True, capture_output=True)
        yield "32-bit", [recording]
    except (OSError, subprocess.CalledProcessError) as error:
        print("left out: 32-bit:", error)
    if not os.path.isdir(traces):
        print("left out: the shared recordings")
        return
    hardware = os.path.join(traces, "intel-pt")
    for run in ("control_flow-20180404T163033", "loopy-20180404T162955"):
        hase = os.path.join(hardware, "hase-2018-04-04")
        yield run, [os.path.join(hase, run + ".perf"), "--image", os.path.join(hase, run.split("-")[0])]
    for bundle in ("intelpt-trace/trace.json", "intelpt-trace-multi-file/multi-file-no-ld.json"):
        yield bundle, [os.path.join(hardware, "lldb", bundle)]
    # The long ones take their time: where many commands are wanted.
    for name in ("hello",) + (("vcalls-ovf", "signals-async") if "FLOWBACK_COMMANDS" in os.environ else ()):
        generated = os.path.join(traces, "generated")
        yield name, [os.path.join(generated, name, "perf.data"), "--symfs", os.path.join(generated, "images")]


def listing(flowback, words):
    """Of the first thread: its number, and the lines of random_commands.py."""
    done = subprocess.run([flowback, "decode", "--json", "--fields", "tid,ip"] + words, capture_output=True, text=True)
    first, lines, lost = None, [], False
    for text in done.stdout.splitlines():
        line = json.loads(text)
        if line.get("type") not in ("instruction", "loss") or first not in (None, line.get("tid")):
            continue
        if line["type"] == "loss":
            lost = lost or line["cause"] not in KEEP_PLACE
            continue
        first = line.get("tid")
        lines.append(("-" if lost and lines else "") + line["ip"])
        lost = False
    return first, lines


def judge(flowback, name, words, folder, seed):
    count = os.environ.get("FLOWBACK_COMMANDS", "25")
    tid, lines = listing(flowback, words)
    path = os.path.join(folder, "listing")
    with open(path, "w") as file:
        file.write("\n".join(lines))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "random_commands.py")
    command = [flowback, "replay", *words, *(["--tid", str(tid)] if tid else []), "--cache-dir", folder, "--", "-nx",
               "-batch", "-x", script]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, LISTING=path, COUNT=count, SEED=str(seed)))
    right = re.findall(r"right \d+", done.stdout)
    losses = sum(line.startswith("-") for line in lines)
    print(name, len(lines), "instructions,", losses, "losses:", right or done.stdout[-600:] + done.stderr[-600:])
    return bool(right)


def main():
    flowback, compiler, source = sys.argv[1:]
    traces = os.path.join(os.environ.get("FLOWBACK_SHARED", os.path.join(source, "..", "shared")), "traces")
    if shutil.which("gdb") is None:
        print("SKIPPED: there is no gdb")
        sys.exit(77)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed, (name, words) in enumerate(recordings(flowback, compiler, traces, folder)):
            wrong += not judge(flowback, name, words, folder, seed)
    sys.exit(wrong != 0)


main()
