# SPDX-License-Identifier: MIT
"""Threads, tail calls, files of one name, losses, a pause, and requests that come through a pipe.

  judge_threads.py FLOWBACK COMPILER SOURCE"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from dap_client import Client  # noqa: E402


def number_of(client, thread):
    """Returns the number of the instruction that a thread stands before, by the list of all threads."""
    told = client.body("evaluate", expression="who", context="repl")["result"]
    return int(re.search(rf"thread {thread} .*?#(\d+) of", told).group(1))


def go(client, word):
    """The answer names the place only after a move, so this goes through a moment that is no end."""
    for moment in ("50%", word):
        client.run("evaluate", expression="goto " + moment, context="repl")


def visits(client, command, thread):
    found = []
    while True:
        stop = client.run(command, threadId=thread)
        if stop["reason"] != "function breakpoint":
            return found
        found.append((stop["threadId"], number_of(client, stop["threadId"])))


def check_order(client):
    threads = [each["id"] for each in client.body("threads")["threads"]]
    assert len(threads) == 4, threads
    client.body("setFunctionBreakpoints", breakpoints=[{"name": "visit"}])
    go(client, "begin")
    forward = visits(client, "continue", threads[0])
    go(client, "end")
    backward = visits(client, "reverseContinue", threads[0])
    assert len(forward) == 15 and forward == backward[::-1], (forward, backward)
    assert len({thread for thread, _ in forward}) == 3, forward
    client.body("setFunctionBreakpoints", breakpoints=[])
    return threads, forward


def check_own_end(client, threads, first):
    """A thread that goes on alone to its end leaves the others where they were at that time."""
    thread, number = first
    client.body("setFunctionBreakpoints", breakpoints=[{"name": "visit"}])
    go(client, "begin")
    stop = client.run("continue", threadId=threads[0])
    assert (stop["threadId"], number_of(client, thread)) == (thread, number), stop
    client.body("setFunctionBreakpoints", breakpoints=[])
    stop = client.run("continue", threadId=thread, singleThread=True)
    assert stop["reason"] == "end" and "the thread's flow" in stop["description"], stop
    told = client.body("evaluate", expression="who", context="repl")["result"].splitlines()
    assert sum("the recording ends here" in line or "has ended" in line for line in told) < 4, told
    main = number_of(client, threads[0])
    again = client.run("next", threadId=thread)
    assert again["reason"] == "end" and number_of(client, threads[0]) == main, again


def check_events(client, threads):
    """At each stop the client knows which threads there are: those that have begun and have not ended."""
    go(client, "begin")
    client.events.clear()
    known = {threads[0]}

    def follow():
        for event in client.events:
            if event["event"] == "thread":
                thread = event["body"]["threadId"]
                assert (event["body"]["reason"] == "started") == (thread not in known), (event, known)
                known.symmetric_difference_update({thread})
        client.events.clear()
        told = client.body("evaluate", expression="who", context="repl")["result"].splitlines()
        there = {int(re.search(r"thread (\d+)", line).group(1)) for line in told
                 if "has not begun" not in line and "the thread has ended" not in line}
        assert known == there, (known, told)

    follow()
    sizes = set()
    client.body("setFunctionBreakpoints", breakpoints=[{"name": "visit"}])
    for command in ("continue", "reverseContinue"):
        for _ in range(16):
            client.run(command, threadId=threads[0])
            follow()
            sizes.add(len(known))
    client.body("setFunctionBreakpoints", breakpoints=[])
    assert len(sizes) > 1, sizes
    assert len(known) == 1, known


def names(client, thread):
    return [frame["name"] for frame in client.body("stackTrace", threadId=thread)["stackFrames"]]


def check_tail_call(client, threads):
    client.body("setFunctionBreakpoints", breakpoints=[{"name": "last"}])
    go(client, "begin")
    client.run("continue", threadId=threads[0])
    client.body("setFunctionBreakpoints", breakpoints=[])
    assert names(client, threads[0])[:2] == ["last", "main"], names(client, threads[0])
    here = number_of(client, threads[0])
    client.run("stepBack", threadId=threads[0])
    assert names(client, threads[0])[:2] == ["tail", "main"], names(client, threads[0])
    client.run("stepIn", threadId=threads[0])
    assert names(client, threads[0])[0] == "last", names(client, threads[0])
    assert number_of(client, threads[0]) >= here
    client.run("stepOut", threadId=threads[0])
    assert names(client, threads[0])[0] == "main", names(client, threads[0])


def check_two_files(client, threads):
    told = client.body("setBreakpoints", source={"path": "part.c"}, breakpoints=[{"line": 3}])["breakpoints"][0]
    assert told["verified"] and "one/part.c" in told["message"] and "two/part.c" in told["message"], told
    go(client, "begin")
    found = []
    while client.run("continue", threadId=threads[0])["reason"] == "breakpoint":
        found.append(names(client, threads[0])[0])
    assert found == ["part_one", "part_two"], found
    client.body("setBreakpoints", source={"path": "part.c"}, breakpoints=[])


def check_pause(client, threads):
    """Ends the run that it comes in: nothing has moved."""
    go(client, "end")
    before = number_of(client, threads[0])
    client.body("setExceptionBreakpoints", filters=["syscall"])
    messages = b""
    for command in ("reverseContinue", "pause"):
        client.sent += 1
        content = json.dumps({"seq": client.sent, "type": "request", "command": command,
                              "arguments": {"threadId": threads[0]}}).encode()
        messages += b"Content-Length: %d\r\n\r\n" % len(content) + content
    time.sleep(0.05)  # flowback looks for messages every 10 ms
    client.program.stdin.write(messages)
    client.program.stdin.flush()
    for number in (client.sent - 1, client.sent):
        assert client.answer(number)["success"]
    stop = client.event("stopped")
    assert stop["reason"] == "pause", stop
    assert number_of(client, threads[0]) == before
    client.body("setExceptionBreakpoints", filters=[])


def check_losses(command, source):
    shared = os.environ.get("FLOWBACK_SHARED", os.path.join(os.path.dirname(source), "../../../../shared"))
    recording = os.path.join(shared, "traces", "intel-pt", "lldb", "intelpt-trace-multi-file", "multi-file-no-ld.json")
    if not os.path.exists(recording):
        return print("left out: the shared recordings")
    client = Client(command)
    client.open(recording)
    client.start()
    client.body("setExceptionBreakpoints", filters=["loss"])
    thread = client.body("threads")["threads"][0]["id"]
    stop = client.run("reverseContinue", threadId=thread)
    assert stop["reason"] == "loss" and "no record" in stop["text"], stop
    before = number_of(client, thread)
    client.run("stepBack", threadId=thread, granularity="instruction")
    assert client.run("continue", threadId=thread)["reason"] == "loss"
    assert number_of(client, thread) == before + 1
    client.close()


def check_exec(flowback, compiler, command, source, folder):
    """The client hears of the program that the process is, also going back."""
    becomes = os.path.join(os.path.dirname(source), "../../gdb/programs/becomes.c")
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    subprocess.run([compiler, "-o", first, becomes], check=True)
    subprocess.run([compiler, "-DSECOND", "-o", second, becomes], check=True)
    recording = os.path.join(folder, "exec.data")
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", first, second])
    client = Client(command)
    client.open(recording, at="begin")
    client.start()
    thread = client.body("threads")["threads"][0]["id"]
    assert client.event("process")["name"] == first
    for way, program in (("continue", second), ("reverseContinue", first)):
        client.run(way, threadId=thread)
        assert client.event("process")["name"] == program, way
    client.close()


def check_waiting(flowback, compiler, command, source, folder):
    """A thread that waits in the kernel to the end has not exited; another one has."""
    program, recording = os.path.join(folder, "waits"), os.path.join(folder, "waits.data")
    text = os.path.join(os.path.dirname(source), "waits.c")
    subprocess.run([compiler, "-g", "-pthread", "-o", program, text], check=True)
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program], check=True)
    client = Client(command)
    client.open(recording, at="begin")
    client.start()
    client.events.clear()
    # From the begin: at another moment the thread at hand may be the one that has ended by then.
    client.run("evaluate", expression="goto end", context="repl")
    known = {}
    for event in client.events:
        if event["event"] == "thread":
            known[event["body"]["threadId"]] = event["body"]["reason"]
    told = client.body("evaluate", expression="who", context="repl")["result"].splitlines()
    assert sum("the thread has ended" in line for line in told) == 1, told
    assert sum("no exit of it is recorded" in line for line in told) == 1, told
    waiting = int(re.search(r"thread (\d+).*no exit", "\n".join(told)).group(1))
    assert known[waiting] == "started", (known, told)
    assert client.close() == 0


def check_pipe(command, recording):
    """What came before the end of input is answered."""
    wanted = ["initialize", "launch", "configurationDone", "reverseContinue", "threads"]
    messages = b""
    for number, name in enumerate(wanted):
        arguments = {"recording": recording} if name == "launch" else {"threadId": 1}
        if name == "reverseContinue":
            name, arguments = "evaluate", {"expression": "goto begin", "context": "repl"}
        content = json.dumps({"seq": number + 1, "type": "request", "command": name, "arguments": arguments}).encode()
        messages += b"Content-Length: %d\r\n\r\n" % len(content) + content
    done = subprocess.run(command, input=messages, capture_output=True, timeout=100)
    answered = [int(number) for number in re.findall(rb'"request_seq":(\d+)', done.stdout)]
    assert done.returncode == 0 and answered == [1, 2, 3, 4, 5], (answered, done)


def main():
    flowback, compiler, source = sys.argv[1:]
    here = os.path.dirname(source)
    sources = [source] + [os.path.join(here, folder, "part.c") for folder in ("one", "two")]
    with tempfile.TemporaryDirectory() as folder:
        program, recording = os.path.join(folder, "threads"), os.path.join(folder, "threads.data")
        subprocess.run([compiler, "-g", "-O2", "-pthread", "-o", program] + sources, check=True)
        subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program])
        command = [flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache")]
        client = Client(command)
        client.open(recording)
        client.start()
        process = client.event("process")
        assert (process["name"], process["pointerSize"], process["isLocalProcess"]) == (program, 64, False), process
        threads, forward = check_order(client)
        check_events(client, threads)
        check_own_end(client, threads, forward[0])
        check_tail_call(client, threads)
        check_two_files(client, threads)
        check_pause(client, threads)
        assert client.close() == 0
        check_losses(command, source)
        check_exec(flowback, compiler, command, source, folder)
        check_waiting(flowback, compiler, command, source, folder)
        check_pipe(command, recording)
    print("threads, tail calls, losses and a pause are as they should")


main()
