# SPDX-License-Identifier: MIT
"""Variables of frames: values where a core dump proves them, else `<unavailable>`.

  judge_values.py FLOWBACK COMPILER SOURCE"""

import glob
import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from commands import why_no_core_dump  # noqa: E402
from dap_client import Client  # noqa: E402

INNER = {"number": "42", "letter": "120 'x'", "fraction": "2.5", "nothing": "0x0", "large": "1234567890123",
         "yes": "true", "negative": "-5"}


def scope_of(client, frame, name):
    for scope in client.body("scopes", frameId=frame["id"])["scopes"]:
        if scope["name"] == name:
            told = client.body("variables", variablesReference=scope["variablesReference"])["variables"]
            return {one["name"]: one for one in told}
    raise KeyError(name)


def frames_of(client, thread):
    return client.body("stackTrace", threadId=thread)["stackFrames"]


def goto(client, word):
    for moment in ("50%", word):
        client.body("evaluate", expression="goto " + moment, context="repl")
        client.event("stopped")


def opened(flowback, recording, folder, *options):
    client = Client([flowback, "replay", "--dap", "--cache-dir", os.path.join(folder, "cache"), *options])
    client.open(recording, at="crash")
    client.start()
    return client, client.body("threads")["threads"][0]["id"]


def check_known(client, thread):
    """Where the program died, and at a place before it, as far as that is proven."""
    inner, main = frames_of(client, thread)[:2]
    told = scope_of(client, inner, "Locals")
    values = {name: one["value"] for name, one in told.items()}
    assert {name: values.get(name) for name in INNER} == INNER, values
    assert values["both"].startswith("8 bytes at 0x"), values
    assert told["number"]["type"] == "int" and "pair" in told["both"]["type"], told
    both = client.body("readMemory", memoryReference=told["both"]["memoryReference"], count=8)
    assert both["data"] == "KgAAAAIAAAA=", both
    values = {name: one["value"] for name, one in scope_of(client, main, "Locals").items()}
    assert values == {"outer": "41", "none": "0x0"}, values
    for context in ("hover", "watch", "repl"):
        told = client.body("evaluate", expression="number", frameId=inner["id"], context=context)
        assert told["result"] == "42" and told["type"] == "int", told
        told = client.body("evaluate", expression="outer", frameId=main["id"], context=context)
        assert told["result"] == "41", told
    response = client.ask("evaluate", expression="nobody", frameId=inner["id"], context="hover")
    assert not response["success"] and "nobody" in response["message"], response
    client.body("setFunctionBreakpoints", breakpoints=[{"name": "inner"}])
    assert client.run("reverseContinue", threadId=thread)["reason"] == "function breakpoint"
    client.body("setFunctionBreakpoints", breakpoints=[])
    main = frames_of(client, thread)[1]
    values = {name: one["value"] for name, one in scope_of(client, main, "Locals").items()}
    assert values["outer"] in ("41", "<unavailable>"), values


def check_unknown(client, thread):
    frame = frames_of(client, thread)[0]
    values = {name: one["value"] for name, one in scope_of(client, frame, "Locals").items()}
    assert set(INNER) <= set(values), values
    assert all("<unavailable>" == value for value in values.values()), values
    registers = {name: one["value"] for name, one in scope_of(client, frame, "Registers").items()}
    assert sum(value != "<unavailable>" for value in registers.values()) == 1, registers
    assert client.body("evaluate", expression="number", frameId=frame["id"], context="hover")["result"] == \
        "<unavailable>"


def check_optimized(client, thread):
    """The same at -O2, where variables are registers and constants: those that the compiler kept."""
    frames = frames_of(client, thread)
    inner = next(frame for frame in frames if frame["name"].startswith("inner"))
    main = next(frame for frame in frames if frame["name"] == "main")
    values = {name: one["value"] for name, one in scope_of(client, inner, "Locals").items()}
    for name, value in INNER.items():
        assert values.get(name) in (value, "<optimized out>"), (name, values)
    assert sum(values[name] == value for name, value in INNER.items()) > 2, values
    values = {name: one["value"] for name, one in scope_of(client, main, "Locals").items()}
    assert values["outer"] in ("41", "<optimized out>"), values


def judge(flowback, compiler, source, folder, level):
    """False: the program wrote no core dump."""
    folder = os.path.join(folder, level)
    os.mkdir(folder)
    program, recording = os.path.join(folder, "values"), os.path.join(folder, "values.data")
    subprocess.run([compiler, "-g", level, "-o", program, source], check=True)
    subprocess.run([flowback, "record", "-q", "--engine", "emulate", "-o", recording, "--", program], cwd=folder)
    if level == "-O0":
        client, thread = opened(flowback, recording, folder)
        check_unknown(client, thread)
        assert client.close() == 0
    cores = glob.glob(os.path.join(folder, "*core*"))
    if not cores:
        return False
    client, thread = opened(flowback, recording, folder, "--core", cores[0])
    (check_known if level == "-O0" else check_optimized)(client, thread)
    assert client.close() == 0
    return True


def main():
    flowback, compiler, source = sys.argv[1:]
    why = why_no_core_dump()
    resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)[1:] * 2)
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":disable_coredump=0"
    with tempfile.TemporaryDirectory() as folder:
        if not all(judge(flowback, compiler, source, folder, level) for level in ("-O0", "-O2")):
            print("SKIPPED: the part with a core dump:", why or "the program wrote none")
            sys.exit(77 if why else 1)
    print("variables have the values that are proven")


main()
