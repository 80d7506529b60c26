# SPDX-License-Identifier: MIT
"""Random commands of gdb, forward and backward, at recordings of all kinds: hardware's, LLDB's bundles, of a 32-bit
program, with losses. The listing of the flow says where each must lead.
  judge_random.py FLOWBACK COMPILER SOURCE_FOLDER COUNT

COUNT: how many commands are given at each recording with FLOWBACK_FULL=1, else 50 at most; FLOWBACK_COMMANDS overrides
it."""

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
  EXIT;
  __builtin_unreachable();
}
"""
INT80 = "__asm__ volatile(\"int $0x80\" : : \"a\"(1), \"b\"(0))"
SVC = "__asm__ volatile(\"mov x8, 93; mov x0, 0; svc 0\" : : : \"x0\", \"x8\")"
MADE = (("32-bit", "{cc} -m32", INT80, []), ("32-bit stacks", "{cc} -m32", INT80, ["-b"]),
        ("aarch64", "aarch64-linux-gnu-gcc", SVC, []))


def made(flowback, compiler, folder):
    """Programs in which every call returns."""
    for name, words, end, options in MADE:
        source = os.path.join(folder, "bare.c")
        with open(source, "w") as file:
            file.write("#define EXIT %s\n%s" % (end, BARE))
        program, recording = (os.path.join(folder, name.replace(" ", "-") + ending) for ending in ("", ".data"))
        words = words.format(cc=compiler).split() + ["-g", "-O1", "-nostdlib", "-static", "-no-pie", "-fno-pie",
                                                     "-fno-stack-protector", source, "-o", program]
        if name == "aarch64" and shutil.which("gdb-multiarch") is None:
            print("left out: aarch64: there is no gdb-multiarch")
            continue
        try:
            subprocess.run(words, check=True, capture_output=True)
            subprocess.run([flowback, "record", "-q", "--engine", "emulate", *options, "-o", recording, "--", program],
                           check=True, capture_output=True)
            yield name, [recording]
        except (OSError, subprocess.CalledProcessError) as error:
            print("left out:", name, error)


def recordings(flowback, compiler, traces, folder):
    """Names, and how to open them."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in ("tiny", "branches", "changes", "interruptions"):
        yield name, [os.path.join(here, "recordings", name + ".data")]
    yield from made(flowback, compiler, folder)
    if not os.path.isdir(traces):
        print("left out: the shared recordings")
        return
    hardware = os.path.join(traces, "intel-pt")
    for run in ("control_flow-20180404T163033", "loopy-20180404T162955"):
        hase = os.path.join(hardware, "hase-2018-04-04")
        yield run, [os.path.join(hase, run + ".perf"), "--image", os.path.join(hase, run.split("-")[0])]
    for bundle in ("intelpt-trace/trace.json", "intelpt-trace-multi-file/multi-file-no-ld.json"):
        yield bundle, [os.path.join(hardware, "lldb", bundle)]
    lbr = os.path.join(traces, "branch-stack")
    for name, program in (("simpleperf-lbr/perf_lbr.data", "lbr_test_loop"), ("simpleperf-perf_b/perf_b.data", "elf")):
        yield name, [os.path.join(lbr, name), "--image", os.path.join(lbr, os.path.dirname(name), program)]
    # The long ones take their time: where many commands are wanted.
    for name in ("hello",) + (("vcalls-ovf", "signals-async") if "FLOWBACK_COMMANDS" in os.environ else ()):
        generated = os.path.join(traces, "generated")
        yield name, [os.path.join(generated, name, "perf.data"), "--symfs", os.path.join(generated, "images")]


def change(text):
    """What the instruction does to the depth of calls."""
    word = text.split()[0]
    return {"call": 1, "bl": 1, "blr": 1, "ret": -1}.get(word, 0)


def listing(flowback, words, has_depths):
    """Returns the first thread's number, and the lines of random_commands.py."""
    done = subprocess.run([flowback, "decode", "--json", "--fields", "tid,ip,insn"] + words, capture_output=True,
                          text=True)
    first, lines, lost, depth = None, [], False, 0
    for text in done.stdout.splitlines():
        line = json.loads(text)
        if line.get("type") not in ("instruction", "loss", "unknown") or first not in (None, line.get("tid")):
            continue
        if line["type"] != "instruction":
            lost = lost or line.get("cause") not in KEEP_PLACE
            continue
        first = line.get("tid")
        lines.append(("-" if lost and lines else "") + line["ip"] + (" %d" % depth if has_depths else ""))
        depth += change(line["insn"])
        lost = False
    return first, lines


def judge(flowback, name, words, folder, seed):
    count = os.environ.get("FLOWBACK_COMMANDS", int(sys.argv[4]) if os.environ.get("FLOWBACK_FULL") == "1" else min(50, int(sys.argv[4])))
    tid, lines = listing(flowback, words, name in [each[0] for each in MADE])
    path = os.path.join(folder, "listing")
    with open(path, "w") as file:
        file.write("\n".join(lines))
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "random_commands.py")
    command = [flowback, "replay", *words, *(["--tid", str(tid)] if tid else []), "--cache-dir", folder, "--", "-nx",
               "-batch", "-x", script]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, LISTING=path, COUNT=str(count), SEED=str(seed)))
    right = re.findall(r"right \d+", done.stdout)
    losses = sum(line.startswith("-") for line in lines)
    print(name, len(lines), "instructions,", losses, "losses:", right or done.stdout[-600:] + done.stderr[-600:])
    return bool(right)


def main():
    flowback, compiler, source = sys.argv[1:4]
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
