# SPDX-License-Identifier: MIT
"""The session as editors drive it: progress, cancel, restart, the end, a second editor, sources of a bundle, and what
helps to type.

  judge_session.py FLOWBACK COMPILER SOURCE"""

import base64
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dap_client import Client  # noqa: E402


def record(flowback, compiler, source, folder, *options):
    name = os.path.splitext(os.path.basename(source))[0]
    program, recording = os.path.join(folder, name), os.path.join(folder, name + ".data")
    subprocess.run([compiler, "-g", "-O0", *options, "-o", program, source], check=True)
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
    return recording


def start_run(client, thread):
    """Visits a line five million times without a stop."""
    number = client.send("continue", threadId=thread)
    assert client.answer(number)["success"]
    return number


def check_progress(command, recording, source):
    client = Client(command)
    client.open(recording, at="begin", supportsProgressReporting=True)
    client.start()
    thread = client.body("threads")["threads"][0]["id"]
    line = next(i + 1 for i, text in enumerate(open(source)) if "sink = value" in text)
    client.body("setBreakpoints", source={"path": source},
                breakpoints=[{"line": line, "hitCondition": "> 10000000"}])
    before = client.when()
    # By the progress' name, once some progress was reported.
    run = start_run(client, thread)
    begun = client.event("progressStart")
    assert begun["cancellable"] and begun["requestId"] == run, begun
    update = client.event("progressUpdate")
    assert update["progressId"] == begun["progressId"] and update["message"], update
    # A cancel of another request or run ends nothing.
    client.send("cancel", requestId=run + 1000)
    client.send("cancel", progressId="run-77")
    assert client.event("progressUpdate")["progressId"] == begun["progressId"]
    last = client.send("cancel", progressId=begun["progressId"])
    asked = time.monotonic()
    assert client.event("progressEnd")["progressId"] == begun["progressId"]
    assert client.event("stopped")["reason"] == "pause"
    assert time.monotonic() - asked < 20
    assert client.answer(last)["success"]
    assert client.when() == before
    # By the request's number; a client that did not ask for progress hears of none.
    run = start_run(client, thread)
    last = client.send("cancel", requestId=run)
    assert client.event("stopped")["reason"] == "pause"
    assert client.answer(last)["success"] and client.when() == before
    # A request that waits behind a run, and is taken back.
    run = start_run(client, thread)
    waits = client.send("evaluate", expression="who", context="repl")
    last = client.send("cancel", requestId=waits)
    client.send("pause", threadId=thread)
    response = client.answer(waits)
    assert not response["success"] and response["message"] == "cancelled", response
    assert client.answer(last)["success"]
    assert client.event("stopped")["reason"] == "pause"
    client.body("setBreakpoints", source={"path": source}, breakpoints=[])
    assert client.close() == 0


def check_session(command, recording, source):
    client = Client(command)
    client.body("initialize", adapterID="flowback")
    client.body("launch", recording=recording, at="50%")
    client.event("initialized")
    # nvim-dap asks for threads before it says that it is done.
    thread = client.body("threads")["threads"][0]["id"]
    line = next(i + 1 for i, text in enumerate(open(source)) if "counter += value" in text)
    client.body("setBreakpoints", source={"path": source}, breakpoints=[{"line": line, "hitCondition": "2"}])
    client.body("setExceptionBreakpoints", filters=["loss"])
    assert client.start()["reason"] == "entry"
    first = client.when()
    places = []
    for _ in range(2):
        assert client.run("continue", threadId=thread)["reason"] == "breakpoint"
        places.append(client.when())
        assert client.run("restart", arguments={})["reason"] == "entry"
        assert client.when() == first
    assert places[0] == places[1] > first, (first, places)
    words = [each["label"] for each in client.body("completions", text="w", column=2)["targets"]]
    assert "when" in words and "who" in words and all(word.startswith("w") for word in words), words
    assert client.body("completions", text="goto be", column=8)["targets"] == []
    where = client.body("breakpointLocations", source={"path": source}, line=line - 1, endLine=line + 1)["breakpoints"]
    assert [each["line"] for each in where] == [line - 1, line, line + 1], where
    modules = client.body("modules")
    assert modules["totalModules"] == len(modules["modules"]) and "steps" in modules["modules"][0]["name"], modules
    frame = client.body("stackTrace", threadId=thread)["stackFrames"][0]
    counter = frame["instructionPointerReference"]
    memory = client.body("readMemory", memoryReference=counter, count=4)
    shown = client.body("disassemble", memoryReference=counter, instructionCount=2)["instructions"]
    wanted = bytes.fromhex(" ".join(each["instructionBytes"] for each in shown).replace(" ", ""))[:4]
    assert base64.b64decode(memory["data"])[: len(wanted)] == wanted, (memory, shown)
    nothing = client.body("readMemory", memoryReference="0x10", count=4)
    assert "data" not in nothing and nothing["unreadableBytes"] == 4, nothing
    for name in ("rip", "$rip"):
        told = client.ask("evaluate", expression=name, frameId=frame["id"], context="hover")
        if told["success"]:
            assert told["body"]["result"] == counter, told
    assert client.body("evaluate", expression="rax", context="watch")["result"] == "<unavailable>"
    # The client hears of the end before it goes.
    client.body("terminate")
    client.event("terminated")
    assert client.body("threads")["threads"], "it still answers"
    assert client.close() == 0


class SocketClient(Client):
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.program = self
        self.stdin = self.stdout = self.socket.makefile("rwb")
        self.sent, self.events = 0, []


def check_second_client(flowback, recording, folder):
    path = os.path.join(folder, "socket")
    server = subprocess.Popen([flowback, "replay", "--dap-server", path, "--cache-dir", os.path.join(folder, "cache")],
                              stderr=subprocess.PIPE, text=True)
    assert "listening" in server.stderr.readline()
    client = SocketClient(path)
    client.open(recording)
    client.start()
    other = SocketClient(path)
    begun = time.monotonic()
    response = other.ask("initialize", adapterID="flowback")
    assert time.monotonic() - begun < 5
    assert not response["success"] and "already serves an editor" in response["message"], response
    assert other.stdout.read(1) == b"", "the connection is closed"
    # One that says nothing does not hold the other up.
    silent = SocketClient(path)
    assert client.body("threads")["threads"]
    assert b"already serves" in silent.stdout.read()
    client.ask("disconnect")
    assert server.wait(60) == 0


def check_bundle(flowback, compiler, folder):
    """Sources that are only in the recording's bundle are given by reference."""
    place = os.path.join(folder, "elsewhere")
    os.mkdir(place)
    source = os.path.join(place, "gone.c")
    text = "int f(int x) {\n  return x + 1;\n}\nint main(void) {\n  return f(2) - 3;\n}\n"
    with open(source, "w") as file:
        file.write(text)
    recording = record(flowback, compiler, source, folder)
    bundle = os.path.join(folder, "gone.fb")
    subprocess.run([flowback, "pack", recording, "-o", bundle], check=True, stdout=subprocess.DEVNULL)
    os.rename(place, place + ".away")
    for opened, has_source in ((bundle, True), (recording, False)):
        client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")])
        client.open(opened)
        client.start()
        thread = client.body("threads")["threads"][0]["id"]
        told = client.body("setFunctionBreakpoints", breakpoints=[{"name": "f"}])["breakpoints"][0]
        assert told["verified"], told
        client.run("reverseContinue", threadId=thread)
        frame = client.body("stackTrace", threadId=thread)["stackFrames"][0]
        given = frame["source"]
        assert given["sourceReference"] > 0, frame
        answer = client.body("source", source=given, sourceReference=given["sourceReference"])
        if has_source:
            assert given["path"] == source and frame["line"] in (1, 2) and answer["content"] == text, (frame, answer)
            line = client.body("setBreakpoints", source=given, breakpoints=[{"line": 5}])["breakpoints"][0]
            assert line["verified"] and line["line"] == 5, line
            listed = client.body("loadedSources")["sources"]
            assert any(each.get("sourceReference") == given["sourceReference"] for each in listed), listed
        else:
            assert "ret" in answer["content"] and "gone.c" in given["origin"], (given, answer)
            assert frame["instructionPointerReference"] in answer["content"].splitlines()[frame["line"] - 1], frame
        response = client.ask("source", sourceReference=999)
        assert not response["success"], response
        assert client.close() == 0


def main():
    flowback, compiler, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        command = [flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")]
        recording = record(flowback, compiler, source, folder)
        check_session(command, recording, source)
        check_second_client(flowback, recording, folder)
        check_bundle(flowback, compiler, folder)
        long_source = os.path.join(os.path.dirname(source), "long_run.c")
        check_progress(command, record(flowback, compiler, long_source, folder), long_source)
    print("the session is as editors want it")


main()
