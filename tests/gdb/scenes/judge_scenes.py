# SPDX-License-Identifier: MIT
"""gdb at a replay against gdb at the live program, which gdb itself records: the same commands lead to the same place,
forward and backward, and where the replay stands is what the listing has there. All frames of the stack are the same at
FLOWBACK_MOMENTS moments of the program.

  judge_scenes.py FLOWBACK COMPILER"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

SCENES = [
    ["steps", ["next", "step", "reverse-step", "step", "next", "next", "next", "reverse-next", "reverse-next", "next",
               "next", "step", "reverse-finish", "stepi", "reverse-stepi", "step", "finish", "reverse-step"]],
    ["loops", ["tbreak callee", "continue", "finish", "next", "until", "until", "until", "advance twice", "finish",
               "reverse-next", "set exec-direction reverse", "until", "next", "step", "finish",
               "set exec-direction forward", "next"]],
    ["recursion", ["break factorial", "continue", "continue", "continue", "reverse-continue", "continue", "continue",
                   "delete", "reverse-finish", "reverse-step", "stepi", "up", "finish"]],
    ["tails", ["step", "next", "next", "reverse-step", "reverse-next", "tbreak last", "continue", "reverse-finish",
               "tbreak last", "continue"]],
    ["jumps", ["next", "next", "reverse-next", "tbreak leave", "continue", "next", "reverse-finish"]],
    ["signals", ["next", "tbreak on_signal", "continue", "next", "reverse-stepi", "stepi"]],
    ["library", ["step", "step", "next", "reverse-step", "tbreak kept", "continue", "finish", "next", "reverse-finish",
                 "reverse-step"]],
]


def run(words, **keywords):
    done = subprocess.run(words, capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL, **keywords)
    return done.stdout, done.stderr


def places(text):
    return [json.loads(line[1:]) for line in text.splitlines() if line.startswith("@")]


def build(compiler, folder, here, optimise):
    for words in (["-shared", "-fPIC", os.path.join(here, "scenes_library.c"), "-o", "libscenes.so"],
                  [os.path.join(here, "scenes.c"), "-o", "program", "-L.", "-lscenes", "-Wl,-rpath," + folder]):
        subprocess.run([compiler, "-g", optimise] + words, check=True, cwd=folder)


def same(told, truth):
    return [told[key] for key in ("frames", "offset")] == [truth[key] for key in ("frames", "offset")]


def is_end_of_history(places, i):
    """Live, gdb has recorded the scene alone: outside of it, and back at its begin, it stops for that."""
    one = places[i]
    inside = any(function in (one["scene"], "on_signal") for function, _ in one["frames"])
    return not inside or (i > 0 and one["pc"] == places[0]["pc"])


def judge(flowback, compiler, optimise, engine):
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        build(compiler, folder, here, optimise)
        scenes = os.path.join(folder, "scenes.json")
        with open(scenes, "w") as file:
            json.dump(SCENES, file)
        # gdb can't record the instructions with which the loader binds a function at its first call.
        environment = dict(os.environ, SCENES=scenes, LD_BIND_NOW="1",
                           MOMENTS=os.environ.get("FLOWBACK_MOMENTS", "250"))
        script = ["-nx", "-batch", "-x", os.path.join(here, "in_gdb.py")]
        live, why = run(["gdb"] + script + ["./program"], cwd=folder, env=dict(environment, SCENES_LIVE="1"))
        run([flowback, "record", "-q", "--engine", engine, "-o", "r", "--", "./program"], cwd=folder, env=environment)
        shown, err = run([flowback, "replay", "r", "--at", "begin", "--"] + script, cwd=folder,
                         env=dict(environment, SCENES_LIVE="0"))
        listing = run([flowback, "decode", "r", "--fields", "ip"], cwd=folder)[0].splitlines()
    listing = [int(line, 16) for line in listing if not line.startswith("#")]
    truth, told = places(live), places(shown)
    wrong = 0
    for one in told:
        if one["number"] < len(listing) and listing[one["number"]] != one["pc"]:
            print("not in the listing:", one)
            wrong += 1
    compared = 0
    for scene, commands in SCENES:
        a = [one for one in truth if one["scene"] == scene]
        b = [one for one in told if one["scene"] == scene]
        for i, one in enumerate(a):
            is_same = i < len(b) and same(b[i], one)
            if one["error"] or (not is_same and is_end_of_history(a, i)):
                break
            if not is_same:
                wrong += 1
                print(optimise, scene, i, one["command"], "\n  live  ", one, "\n  replay", b[i] if i < len(b) else None)
                break
            compared += 1
    stacks = [[line for line in text.splitlines() if line.startswith("=")] for text in (live, shown)]
    for i, (a, b) in enumerate(zip(*stacks)):
        if a != b:
            wrong += 1
            print(optimise, "moment", i, "\n  live  ", a, "\n  replay", b)
            break
    if truth and (compared < 65 or min(len(each) for each in stacks) < 200):
        wrong += 1
        print("too little was compared:", compared, [len(each) for each in stacks], why, err)
    print(optimise, engine, "compared", compared, "of", sum(1 + len(commands) for _, commands in SCENES), "commands and",
          min(len(each) for each in stacks), "stacks")
    return wrong, bool(truth)


def main():
    flowback, compiler = sys.argv[1:]
    if shutil.which("gdb") is None:
        print("SKIPPED: there is no gdb")
        sys.exit(77)
    failures = 0
    for optimise, engine in (("-O0", "emulate"), ("-O2", "step")):
        wrong, is_live = judge(flowback, compiler, optimise, engine)
        failures += wrong
        if not is_live:
            print("SKIPPED: gdb cannot record a live program here")
            sys.exit(77)
    sys.exit(failures != 0)


main()
