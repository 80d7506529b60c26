# SPDX-License-Identifier: MIT
"""Steps over, into, out of and back over functions that are inlined, and breakpoints on them; steps in code without
lines; names of functions.

  judge_inlined.py FLOWBACK COMPILER SOURCE"""

import os
import platform
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dap_client import Client  # noqa: E402
from flow_listing import Listing  # noqa: E402


def line_of(source, text):
    return next(i + 1 for i, line in enumerate(open(source)) if text in line)


def stack(client, thread):
    frames = client.body("stackTrace", threadId=thread)["stackFrames"]
    return [(frame["name"].replace(" (inlined)", ""), frame["line"]) for frame in frames]


def own(client, thread):
    """The frames up to main, in which the program's own code ends."""
    frames = stack(client, thread)
    names = [name for name, _ in frames]
    return frames[: names.index("main") + 1] if "main" in names else []


def goto(client, number):
    for moment in ("50%", f"#{number}"):
        client.body("evaluate", expression="goto " + moment, context="repl")
        client.event("stopped")


def to_function(client, thread, name):
    client.body("setFunctionBreakpoints", breakpoints=[{"name": name}])
    goto(client, 0)
    client.run("continue", threadId=thread)
    client.body("setFunctionBreakpoints", breakpoints=[])
    return client.when()


def check_over(client, thread, source):
    """Steps over show main's lines, each once, and no inlined frame; steps back come to the same places."""
    wanted = [line_of(source, text) for text in
              ("one = middle", "sink = 3", "two = innermost", "three = innermost", "= called(6)", "four = around")]
    places = [to_function(client, thread, "main")]
    lines = [own(client, thread)[0][1]]
    while lines[-1] != wanted[-1]:
        client.run("next", threadId=thread)
        frames = own(client, thread)
        assert len(frames) == 1, frames
        lines.append(frames[0][1])
        places.append(client.when())
    assert lines[1:] == wanted, (lines, wanted)
    for number, line in list(zip(places, lines))[-2::-1]:
        client.run("stepBack", threadId=thread)
        assert client.when() == number and own(client, thread) == [("main", line)], (number, line, own(client, thread))
    return places


def check_into(client, thread, source, places):
    """One level at a time; what begins with the line executes nothing."""
    goto(client, places[0])
    client.run("next", threadId=thread)
    main = ("main", line_of(source, "one = middle"))
    number = client.when()
    assert own(client, thread) == [main]
    for names in (["middle"], ["innermost", "middle"]):
        client.run("stepIn", threadId=thread)
        frames = own(client, thread)
        assert [name for name, _ in frames[:-1]] == names and frames[-1] == main, frames
        assert client.when() == number
    for names in (["middle"], []):
        client.run("stepOut", threadId=thread)
        frames = own(client, thread)
        assert [name for name, _ in frames[:-1]] == names and frames[-1][0] == "main", frames
    # Into a call that an inlined function makes.
    goto(client, places[-1])
    client.run("stepBack", threadId=thread)
    client.run("next", threadId=thread)
    client.run("stepIn", threadId=thread)
    assert own(client, thread)[0] == ("around", line_of(source, "result = called")), own(client, thread)
    client.run("stepIn", threadId=thread)
    assert [name for name, _ in own(client, thread)] == ["called", "around", "main"], own(client, thread)
    client.run("stepOut", threadId=thread)
    assert [name for name, _ in own(client, thread)] == ["around", "main"], own(client, thread)


def check_everywhere(client, thread, listing):
    """At each instruction: what a step shows lies in no other function than the rule of the step says."""
    outs = 0
    for number in [n for n, line in enumerate(listing.lines) if line is not None]:
        goto(client, number)
        names = [name for name, _ in own(client, thread)]
        # Behind a real call the compiler may have put code of the next one.
        if len(names) < 2 or "called" in names:
            continue
        client.run("stepOut", threadId=thread)
        after = [name for name, _ in own(client, thread)]
        # The caller may have nothing left to execute of its own.
        assert 0 < len(after) < len(names) and after == names[len(names) - len(after):], (number, names, after)
        outs += 1
        for command in ("next", "stepBack"):
            goto(client, number)
            client.run(command, threadId=thread)
            after = [name for name, _ in own(client, thread)]
            assert len(after) <= len(names) and after == names[len(names) - len(after):], (command, number, after)
    assert outs > 10, outs


def check_breakpoints(client, thread, source):
    line = line_of(source, "two = innermost")
    told = client.body("setBreakpoints", source={"path": source}, breakpoints=[{"line": line}])["breakpoints"][0]
    assert told["verified"] and told["line"] == line, told
    goto(client, 0)
    assert client.run("continue", threadId=thread)["reason"] == "breakpoint"
    assert own(client, thread) == [("main", line)], own(client, thread)
    assert client.run("continue", threadId=thread)["reason"] == "end"
    client.body("setBreakpoints", source={"path": source}, breakpoints=[])
    client.body("setFunctionBreakpoints", breakpoints=[{"name": "innermost"}])
    goto(client, 0)
    visits = []
    while client.run("continue", threadId=thread)["reason"] == "function breakpoint":
        visits.append([name for name, _ in own(client, thread)])
    client.body("setFunctionBreakpoints", breakpoints=[])
    assert visits == [["innermost", "middle", "main"]] * 2 + [["innermost", "main"]] * 2, visits


def check_inlined(flowback, compiler, source, folder):
    program, recording = os.path.join(folder, "inlined"), os.path.join(folder, "inlined.data")
    subprocess.run([compiler, "-g", "-O2", "-o", program, source], check=True)
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
    client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")])
    client.open(recording)
    client.start()
    thread = client.body("threads")["threads"][0]["id"]
    places = check_over(client, thread, source)
    check_into(client, thread, source, places)
    check_everywhere(client, thread, Listing(flowback, recording, os.path.basename(source)))
    check_breakpoints(client, thread, source)
    assert client.close() == 0


def steps(client, thread, command, count, **arguments):
    for _ in range(count):
        stop = client.run(command, threadId=thread, **arguments)
        assert stop["reason"] == "step", stop
        yield client.when(), stack(client, thread)


def check_lineless(flowback, compiler, source, folder):
    """Code without lines is left to a caller that has some; without one, a step is an instruction."""
    if platform.machine() != "x86_64":
        return print("left out: a program of x86-64")
    program, recording = os.path.join(folder, "lineless"), os.path.join(folder, "lineless.data")
    part = os.path.join(folder, "part.o")
    options = ["-ffreestanding", "-fno-stack-protector", "-fcf-protection=none"]
    subprocess.run([compiler, "-O1", *options, "-c", "-DNO_LINES", "-o", part, source], check=True)
    subprocess.run([compiler, "-g", "-O0", *options, "-nostdlib", "-static", "-o", program, source, part], check=True)
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
    client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")])
    client.open(recording, at="begin")
    client.start()
    thread = client.body("threads")["threads"][0]["id"]
    calls, body = line_of(source, "sum += plain"), line_of(source, "sink = value")
    made = list(steps(client, thread, "next", 4))
    assert [frames[0][0] for _, frames in made] == ["_start"] * 4, made
    assert [number for number, _ in made[:2]] == [1, 2] and made[2][0] > 20, made
    back = list(steps(client, thread, "stepBack", 4))
    assert [number for number, _ in back] == [made[2][0], 2, 1, 0], (made, back)
    into = list(steps(client, thread, "stepIn", 3))
    assert into[-1][1][0][0] == "run", into

    entered = to_function(client, thread, "plain")
    (_, frames), = steps(client, thread, "next", 1)
    assert frames[0] == ("run", calls), frames
    goto(client, entered)
    (_, frames), = steps(client, thread, "stepIn", 1)
    assert frames[0] == ("leaf", body) and frames[1][0] == "plain", frames
    goto(client, entered + 2)
    (_, frames), = steps(client, thread, "stepBack", 1)
    assert frames[0] == ("run", calls), frames
    goto(client, entered + 2)
    (number, _), = steps(client, thread, "stepBack", 1, granularity="instruction")
    assert number == entered + 1, number
    goto(client, entered)
    frame = client.body("stackTrace", threadId=thread)["stackFrames"][0]
    check_instructions(client, thread, frame)
    assert client.close() == 0


def check_start(flowback, compiler, source, folder):
    """The C library starts the program, and may have lines: no step goes there from code that has none."""
    program, recording = os.path.join(folder, "start"), os.path.join(folder, "start.data")
    part = os.path.join(folder, "start.o")
    subprocess.run([compiler, "-O0", "-c", "-DNO_LINES", "-o", part, source], check=True)
    subprocess.run([compiler, "-g", "-O0", "-o", program, source, part], check=True)
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
    client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")])
    client.open(recording)
    client.start()
    thread = client.body("threads")["threads"][0]["id"]
    to_function(client, thread, "leaf")
    while stack(client, thread)[0][0] == "leaf":
        (number, frames), = steps(client, thread, "next", 1)
    assert frames[0][0] == "main", frames
    for _ in range(2):
        (after, frames), = steps(client, thread, "next", 1)
        assert after == number + 1 and frames[0][0] == "main", (number, after, frames)
        number = after
    for _ in range(2):
        (after, frames), = steps(client, thread, "stepBack", 1)
        assert after == number - 1 and frames[0][0] == "main", (number, after, frames)
        number = after
    assert client.close() == 0


def check_instructions(client, thread, frame):
    """They are the source of code that has none, and take breakpoints."""
    source = frame["source"]
    text = client.body("source", source=source, sourceReference=source["sourceReference"])["content"]
    lines = text.splitlines()
    assert frame["line"] == 1 and frame["instructionPointerReference"] in lines[0], (frame, text)
    told = client.body("setBreakpoints", source=source, breakpoints=[{"line": 3}, {"line": 1000}])["breakpoints"]
    assert [each["verified"] for each in told] == [True, False], told
    assert told[0]["instructionReference"] == lines[2].split()[0], (told, lines)
    stop = client.run("continue", threadId=thread)
    assert stop["reason"] == "breakpoint", stop
    assert client.body("stackTrace", threadId=thread)["stackFrames"][0]["line"] == 3
    where = client.body("breakpointLocations", source=source, line=2, endLine=4)["breakpoints"]
    assert [each["line"] for each in where] == [2, 3, 4], where
    client.body("setBreakpoints", source=source, breakpoints=[])


def check_names(flowback, source, folder):
    program, recording = os.path.join(folder, "overloads"), os.path.join(folder, "overloads.data")
    done = subprocess.run(["g++", "-g", "-O1", "-o", program, source])
    if done.returncode != 0:
        return print("left out: no g++")
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program],
                   stdout=subprocess.DEVNULL)
    client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")])
    client.open(recording)
    client.start()
    thread = client.body("threads")["threads"][0]["id"]
    for typed, wanted in (("pick", 3), ("pick(int)", 1), ("pick(int,int)", 2), ("pick(int, int)", 2),
                          ("outer::pick", 1), ("inner::pick", 1), ("outer::inner::pick(int, int)", 1),
                          ("(anonymous namespace)::pick", 1), ("made", 2), ("made<int>", 1),
                          ("outer::inner::made", 2)):
        told = client.body("setFunctionBreakpoints", breakpoints=[{"name": typed}])["breakpoints"][0]
        assert told["verified"] and "message" not in told, (typed, told)
        goto(client, 0)
        visits = []
        while client.run("continue", threadId=thread)["reason"] == "function breakpoint":
            visits.append(stack(client, thread)[0][0])
        assert len(visits) == wanted, (typed, visits)
    for typed in ("write", "printf"):
        told = client.body("setFunctionBreakpoints", breakpoints=[{"name": typed}])["breakpoints"][0]
        assert told["verified"], (typed, told)
        goto(client, 0)
        assert client.run("continue", threadId=thread)["reason"] == "function breakpoint"
        assert re.search(typed, stack(client, thread)[0][0]), stack(client, thread)
    told = client.body("setFunctionBreakpoints", breakpoints=[{"name": "pick(long)"}])["breakpoints"][0]
    assert not told["verified"] and "pick(long)" in told["message"], told
    told = client.body("setFunctionBreakpoints", breakpoints=[{"name": "pick", "condition": "a > 1"}])["breakpoints"][0]
    assert not told["verified"] and "a > 1" in told["message"], told
    assert client.close() == 0


def main():
    flowback, compiler, source = sys.argv[1:]
    programs = os.path.dirname(source)
    with tempfile.TemporaryDirectory() as folder:
        check_inlined(flowback, compiler, source, folder)
        check_lineless(flowback, compiler, os.path.join(programs, "lineless.c"), folder)
        check_start(flowback, compiler, os.path.join(programs, "start.c"), folder)
        check_names(flowback, os.path.join(programs, "overloads.cc"), folder)
    print("inlined functions, code without lines and names are as they should")


main()
