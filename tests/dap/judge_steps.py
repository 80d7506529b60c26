# SPDX-License-Identifier: MIT
"""Steps by source line in both directions, held against what the listing of the flow says. Random commands, breakpoints
in both directions, and places where the two directions meet.

  judge_steps.py FLOWBACK COMPILER SOURCE"""

import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dap_client import Client  # noqa: E402
from flow_listing import Listing  # noqa: E402

COMMANDS = 400


def same(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: at #{got}, the listing says #{wanted}")


def visits(listing, addresses):
    return [n for n, ip in enumerate(listing.ips) if ip in addresses]


def check_breakpoints(client, listing, source, thread):
    """Each visit of a line, backward from the end and forward from the begin."""
    line = next(i + 1 for i, text in enumerate(open(source)) if "counter += value" in text)
    told = client.body("setBreakpoints", source={"path": source}, breakpoints=[{"line": line}])["breakpoints"]
    assert told[0]["verified"] and told[0]["line"] == line, told
    wanted = visits(listing, {int(told[0]["instructionReference"], 16)})
    assert len(wanted) > 20, wanted
    client.body("evaluate", expression="goto end", context="repl")
    client.event("stopped")
    for number in reversed(wanted):
        stop = client.run("reverseContinue", threadId=thread)
        assert stop["reason"] == "breakpoint" and stop["hitBreakpointIds"] == [told[0]["id"]], stop
        same("reverseContinue", client.when(), number)
    assert client.run("reverseContinue", threadId=thread)["reason"] == "begin"
    for number in wanted:
        client.run("continue", threadId=thread)
        same("continue", client.when(), number)
    # Every third visit, and each visit printed without a stop.
    client.body("setBreakpoints", source={"path": source},
                breakpoints=[{"line": line, "hitCondition": "% 3"}])
    client.body("evaluate", expression="goto begin", context="repl")
    client.event("stopped")
    for number in wanted[2::3]:
        client.run("continue", threadId=thread)
        same("every third visit", client.when(), number)
    client.body("setBreakpoints", source={"path": source},
                breakpoints=[{"line": line, "logMessage": "visit {hits} at {number}"}])
    client.body("evaluate", expression="goto begin", context="repl")
    client.event("stopped")
    client.outputs()
    assert client.run("continue", threadId=thread)["reason"] == "end"
    printed = [f"visit {i + 1} at {n}\n" for i, n in enumerate(wanted)]
    assert client.outputs() == printed, printed
    client.body("setBreakpoints", source={"path": source}, breakpoints=[])


def check_random_steps(client, listing, thread):
    """From random instructions of the program's own functions."""
    inside = [n for n, line in enumerate(listing.lines) if line is not None]
    main = listing.calls[inside[0]]
    oracles = {"next": listing.next, "stepIn": listing.step_in, "stepOut": listing.step_out,
               "stepBack": listing.step_back}
    numbers = random.Random(20261128)
    made = {name: 0 for name in oracles}
    at = None
    for _ in range(COMMANDS):
        if at is None or numbers.random() < 0.1:
            at = numbers.choice(inside)
            client.body("evaluate", expression=f"goto #{at}", context="repl")
            client.event("stopped")
            same("goto", client.when(), at)
        command = numbers.choice(list(oracles))
        if listing.calls[at] is main and (command == "stepOut" or at == main.own[0]):
            continue
        wanted = oracles[command](at)
        if wanted is None:
            at = None
            continue
        client.run(command, threadId=thread)
        same(f"{command} from #{at}", client.when(), wanted)
        made[command] += 1
        at = wanted if listing.lines[wanted] is not None else None
    assert min(made.values()) > 20, made
    return made


def check_stacks(client, listing, thread):
    """The frames' lines, at instructions spread over the run."""
    inside = [n for n, line in enumerate(listing.lines) if line is not None]
    for number in inside[:: max(len(inside) // 50, 1)]:
        client.body("evaluate", expression=f"goto #{number}", context="repl")
        client.event("stopped")
        frames = client.body("stackTrace", threadId=thread)["stackFrames"]
        wanted, call, at = [], listing.calls[number], number
        while call is not None and listing.lines[at] is not None:
            wanted.append(listing.lines[at])
            call, first = call.parent, call.own[0]
            at = max((n for n in call.own if n < first), default=None) if call else None
            if at is None:
                break
        got = [frame["line"] for frame in frames[: len(wanted)]]
        same(f"lines of the frames at #{number}", got, wanted)


def check_library(flowback, compiler, folder):
    """Into a function of a library: at its first call, which the dynamic linker binds, and at the next."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "library.c")
    library, program = os.path.join(folder, "libmine.so"), os.path.join(folder, "caller")
    recording = os.path.join(folder, "caller.data")
    subprocess.run([compiler, "-g", "-O0", "-fPIC", "-shared", "-o", library, source], check=True)
    subprocess.run([compiler, "-g", "-O0", "-DPROGRAM", "-Wl,-z,lazy", "-o", program, source, library,
                    "-Wl,-rpath," + folder], check=True)
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
    client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")])
    client.open(recording)
    client.start()
    thread = client.body("threads")["threads"][0]["id"]
    texts = open(source).read().splitlines()
    calls = [i + 1 for i, text in enumerate(texts) if "+= mine" in text]
    body = next(i + 1 for i, text in enumerate(texts) if "int more" in text)
    for line in calls:
        client.body("evaluate", expression="goto begin", context="repl")
        client.event("stopped")
        client.body("setBreakpoints", source={"path": source}, breakpoints=[{"line": line}])
        client.run("continue", threadId=thread)
        client.run("stepIn", threadId=thread)
        frames = client.body("stackTrace", threadId=thread)["stackFrames"]
        got = [(frame["name"], frame["line"]) for frame in frames[:2]]
        same(f"into the library from line {line}", got, [("mine", body), ("main", line)])
        client.run("stepOut", threadId=thread)
        client.run("stepBack", threadId=thread)
        frame = client.body("stackTrace", threadId=thread)["stackFrames"][0]
        same("back to the begin of the line", (frame["name"], frame["line"]), ("main", line))
        same("the same instruction", frame["instructionPointerReference"],
             client.body("setBreakpoints", source={"path": source},
                         breakpoints=[{"line": line}])["breakpoints"][0]["instructionReference"])
    assert client.close() == 0


def main():
    flowback, compiler, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        program, recording = os.path.join(folder, "steps"), os.path.join(folder, "steps.data")
        subprocess.run([compiler, "-g", "-O0", "-o", program, source], check=True)
        subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
        listing = Listing(flowback, recording, os.path.basename(source))
        client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")])
        client.open(recording)
        assert client.start()["reason"] == "entry"
        thread = client.body("threads")["threads"][0]["id"]
        made = check_random_steps(client, listing, thread)
        check_stacks(client, listing, thread)
        check_breakpoints(client, listing, source, thread)
        assert client.close() == 0
        check_library(flowback, compiler, folder)
    print("steps as the listing says:", ", ".join(f"{n} {name}" for name, n in made.items()))


main()
