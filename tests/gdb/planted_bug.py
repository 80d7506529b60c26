# SPDX-License-Identifier: MIT
"""The bug of samples/closed_twice.c, found by stepping backward as docs/how-to/step-backward.md shows: in gdb and as an editor does.

  planted_bug.py FLOWBACK PROGRAM SOURCE CLIENT_FOLDER"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

COMMANDS = ["backtrace", "break close_connection", "reverse-continue", "monitor visits", "backtrace",
            "reverse-continue", "backtrace", "reverse-finish", "reverse-next", "reverse-next"]


def line_of(source, part, nth=0):
    return [i + 1 for i, text in enumerate(open(source)) if part in text][nth]


def in_gdb(flowback, recording, cache, source, wanted):
    if shutil.which("gdb") is None:
        print("SKIPPED: there is no gdb")
        return
    words = [flowback, "replay", recording, "--at", "crash", "--cache-dir", cache, "--", "-q", "-nx", "-batch"]
    for command in ["set pagination off", "set style enabled off"] + COMMANDS:
        words += ["-ex", command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    text = done.stdout
    assert re.search(r"came to 0x[0-9a-f]+ 2 times, 1 of them before now", done.stderr), text + done.stderr
    for name, line in wanted:
        assert re.search(rf"in {name} \(.*\) at .*:{line}$", text, re.MULTILINE), (name, line, text)
    lines = re.findall(r"^(\d+)\t", text, re.MULTILINE)
    closes = str(line_of(source, "    close_connection(connection)"))
    assert lines[-3:] == [closes, closes, str(line_of(source, "if (length"))], lines


def as_an_editor(flowback, recording, cache, source, wanted):
    from dap_client import Client
    client = Client([flowback, "replay", recording, "--dap", "--at", "crash", "--cache-dir", cache])
    client.body("initialize")
    client.body("launch")
    client.event("initialized")
    client.body("setFunctionBreakpoints", breakpoints=[{"name": "close_connection"}])
    stop = client.start()
    assert stop["reason"] == "exception", stop
    thread = client.body("threads")["threads"][0]["id"]
    assert client.body("exceptionInfo", threadId=thread)["exceptionId"] == "SIGABRT"
    for command in ["reverseContinue", "reverseContinue"]:
        assert client.run(command, threadId=thread)["reason"] == "function breakpoint"
    frames = client.body("stackTrace", threadId=thread)["stackFrames"]
    got = [(f["name"].split("(")[0], f["line"]) for f in frames]
    for each in wanted:
        assert each in got, (each, got)
    for part in ["    close_connection(connection)", "if (length"]:
        client.run("stepBack", threadId=thread)
        frame = client.body("stackTrace", threadId=thread)["stackFrames"][0]
        assert frame["line"] == line_of(source, part), frame
    assert client.close() == 0


def main():
    flowback, program, source, client = sys.argv[1:]
    sys.path.insert(0, client)
    wanted = [("receive", line_of(source, "    close_connection(connection)")),
              ("receive_all", line_of(source, "if (receive(")), ("main", line_of(source, "= receive_all("))]
    with tempfile.TemporaryDirectory() as folder:
        recording, cache = os.path.join(folder, "perf.data"), os.path.join(folder, "cache")
        subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program],
                       stderr=subprocess.DEVNULL)
        in_gdb(flowback, recording, cache, source, wanted)
        as_an_editor(flowback, recording, cache, source, wanted)
    print("the bug is where the document says")


main()
