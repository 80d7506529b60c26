# SPDX-License-Identifier: MIT
"""Every request beside steps and runs, and what is no request.

  judge_requests.py FLOWBACK COMPILER SOURCE CRASH_SOURCE"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dap_client import Client  # noqa: E402


def refused(client, command, part, **arguments):
    response = client.ask(command, **arguments)
    assert not response["success"], response
    text = response["body"]["error"]["format"]
    assert part in text, (command, text)


def check_before_launch(client, folder):
    capabilities = client.body("initialize", adapterID="flowback", linesStartAt1=False)
    for name in ["supportsStepBack", "supportsLogPoints", "supportsGotoTargetsRequest"]:
        assert capabilities[name], name
    refused(client, "threads", "launch", )
    response = client.ask("launch", recording=os.path.join(folder, "absent.data"))
    assert not response["success"] and "absent.data" in response["message"], response
    refused(client, "noSuchRequest", "noSuchRequest")


def check_breakpoints(client, source):
    never = next(i for i, text in enumerate(open(source)) if "NEVER" in text)
    told = client.body("setBreakpoints", source={"path": source},
                       breakpoints=[{"line": never}, {"line": 100000}, {"line": never, "hitCondition": "soon"}])
    first, beyond, bad = told["breakpoints"]
    assert first["verified"] and "never ran" in first["message"], first
    assert not beyond["verified"] and not bad["verified"] and "soon" in bad["message"], told
    client.body("setBreakpoints", source={"path": source}, breakpoints=[])
    told = client.body("setFunctionBreakpoints", breakpoints=[{"name": "die"}, {"name": "nobody"}])["breakpoints"]
    assert told[0]["verified"] and not told[1]["verified"], told
    thread = client.body("threads")["threads"][0]["id"]
    stop = client.run("reverseContinue", threadId=thread)
    assert stop["reason"] == "function breakpoint", stop
    client.body("setFunctionBreakpoints", breakpoints=[])
    reference = told[0]["instructionReference"]
    told = client.body("setInstructionBreakpoints",
                       breakpoints=[{"instructionReference": reference}, {"instructionReference": "x"}])["breakpoints"]
    assert told[0]["verified"] and not told[1]["verified"], told
    client.body("evaluate", expression="goto begin", context="repl")
    client.event("stopped")
    assert client.run("continue", threadId=thread)["reason"] == "instruction breakpoint"
    client.body("setInstructionBreakpoints", breakpoints=[])
    client.body("setExceptionBreakpoints", filters=["syscall"])
    stop = client.run("reverseContinue", threadId=thread)
    assert stop["reason"] == "system call" and "before the call" in stop["description"], stop
    client.body("setExceptionBreakpoints", filters=[])
    assert client.run("continue", threadId=thread)["reason"] == "exception"
    client.body("setInstructionBreakpoints", breakpoints=[{"instructionReference": reference}])
    client.run("reverseContinue", threadId=thread)
    client.body("setInstructionBreakpoints", breakpoints=[])


def check_looking(client, source):
    thread = client.body("threads")["threads"][0]["id"]
    frames = client.body("stackTrace", threadId=thread)["stackFrames"]
    assert [f["name"].split("(")[0] for f in frames[:2]] == ["die", "main"], frames
    assert frames[0]["source"]["path"] == os.path.realpath(source), frames[0]
    part = client.body("stackTrace", threadId=thread, startFrame=1, levels=1)["stackFrames"]
    assert len(part) == 1 and part[0]["name"] == frames[1]["name"], part
    scopes = client.body("scopes", frameId=frames[0]["id"])["scopes"]
    values = {}
    for scope in scopes:
        for one in client.body("variables", variablesReference=scope["variablesReference"])["variables"]:
            values[one["name"]] = one["value"]
    counter = values.get("rip") or values.get("pc")
    assert counter == frames[0]["instructionPointerReference"], values
    assert "<unavailable>" in list(values.values()), values
    refused(client, "scopes", "frame", frameId=100000)
    refused(client, "variables", "variables", variablesReference=10**12)
    shown = client.body("disassemble", memoryReference=counter, instructionOffset=-2, instructionCount=5)["instructions"]
    assert len(shown) == 5 and shown[2]["address"] == counter, shown
    refused(client, "disassemble", "address", memoryReference="zero", instructionCount=1)
    sources = [s["path"] for s in client.body("loadedSources")["sources"]]
    assert os.path.realpath(source) in sources, sources
    content = client.body("source", source={"path": os.path.realpath(source)}, sourceReference=0)["content"]
    assert content == open(source).read()
    refused(client, "source", "/etc/passwd", source={"path": "/etc/passwd"}, sourceReference=0)
    refused(client, "evaluate", "no values", expression="x", context="hover")
    assert "thread" in client.body("evaluate", expression="who", context="repl")["result"]
    refused(client, "stackTrace", "no thread", threadId=2**40)


def check_goto(client, source):
    thread = client.body("threads")["threads"][0]["id"]
    client.body("evaluate", expression="goto end", context="repl")
    assert client.event("stopped")["reason"] == "goto"
    line = next(i for i, text in enumerate(open(source)) if "int value" in text)
    targets = client.body("gotoTargets", source={"path": source}, line=line)["targets"]
    assert len(targets) == 2 and targets[0]["line"] == line, targets
    stop = client.run("goto", threadId=thread, targetId=targets[1]["id"])
    assert stop["reason"] == "goto", stop
    assert client.body("stackTrace", threadId=thread)["stackFrames"][0]["line"] == line
    refused(client, "goto", "does not come", threadId=thread, targetId=targets[1]["id"])
    refused(client, "goto", "target", threadId=thread, targetId=77)


def check_crash(client):
    thread = client.body("threads")["threads"][0]["id"]
    told = client.body("exceptionInfo", threadId=thread)
    assert told["exceptionId"] == "SIGSEGV", told


def peak_megabytes(client):
    for line in open(f"/proc/{client.program.pid}/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return 0


def check_memory(client, flowback):
    """The worst message of its size; docs/explanation/bounds.md. Sanitizers keep what is freed."""
    if b"__asan_init" in open(flowback, "rb").read():
        return
    before = peak_megabytes(client)
    for _ in range(5):
        client.send_bytes(b"[" * (1 << 20))
    client.ask("threads")
    assert peak_megabytes(client) - before < 180, (before, peak_megabytes(client))
    wanted = [{"line": 1}] * 5000
    refused(client, "setBreakpoints", "more than", source={"path": "x.c"}, breakpoints=wanted)
    refused(client, "setBreakpoints", "log message", source={"path": "x.c"},
            breakpoints=[{"line": 1, "logMessage": "x" * 5000}])


def check_rubbish(client):
    client.send_bytes(b"[1, 2]")
    client.send_bytes(b"{]")
    for arguments in [{"threadId": "one"}, {"threadId": None}, {"threadId": [1]}]:
        assert not client.ask("next", **arguments)["success"]
    client.send_bytes(b'{"seq": "x", "type": "request", "command": 5}')
    for command in ("breakpointLocations", "completions", "modules", "readMemory", "cancel", "source", "evaluate"):
        for arguments in ("null", "[1]", '"x"'):
            client.sent += 1
            request = f'{{"seq": {client.sent}, "type": "request", "command": "{command}", "arguments": {arguments}}}'
            client.send_bytes(request.encode())
            client.answer(client.sent)
    client.ask("setBreakpoints", source=3, breakpoints={"line": "x"})
    client.ask("setBreakpoints", breakpoints=[1, None, {"line": -5}])
    assert any("JSON" in text for text in client.outputs())
    paused = client.run("pause", threadId=0)
    assert paused["reason"] == "pause", paused
    client.program.stdin.write(b"Content-Length: many\r\n\r\n")
    client.program.stdin.flush()
    client.event("output")
    assert client.program.wait(60) == 0


def main():
    flowback, compiler, source = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        program, recording = os.path.join(folder, "crash"), os.path.join(folder, "crash.data")
        subprocess.run([compiler, "-g", "-O0", "-o", program, source], check=True)
        subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
        command = [flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")]
        client = Client(command)
        check_before_launch(client, folder)
        client.body("attach", recording=recording, at="crash")
        client.event("initialized")
        client.start()
        check_breakpoints(client, source)
        check_looking(client, source)
        check_goto(client, source)
        check_crash(client)
        check_memory(client, flowback)
        check_rubbish(client)
        # A client that goes away.
        client = Client(command)
        client.open(recording)
        client.program.stdin.close()
        assert client.program.wait(60) == 0
    print("all requests are answered")


main()
