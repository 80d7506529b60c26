# SPDX-License-Identifier: MIT
# Loaded by gdb, live or at a replay: plays scenes and prints where each command led; then goes from
# visit to visit of some functions, an instruction on a few times from each, and prints all frames.
import json
import os

import gdb

LIVE = os.environ["SCENES_LIVE"] == "1"


def frames():
    """From the innermost to main, or to what a signal interrupted: functions with their lines."""
    found = []
    frame = gdb.newest_frame()
    while frame is not None:
        # A function that ended in a jump to another one has left the stack of the flow.
        if frame.type() != gdb.TAILCALL_FRAME:
            found.append([frame.name() or "?", frame.find_sal().line])
        if frame.name() in ("main", "on_signal"):
            break
        frame = frame.older()
    return found


def offset():
    pc = gdb.newest_frame().pc()
    block = gdb.block_for_pc(pc)
    while block is not None and block.function is None:
        block = block.superblock
    return pc - block.start if block is not None else None


def number():
    if LIVE:
        return None
    return int(gdb.execute("monitor when", to_string=True).split("#")[1].split()[0])


def show(scene, command, error=None):
    told = {"scene": scene, "command": command, "frames": frames(), "offset": offset(),
            "number": number(), "pc": gdb.newest_frame().pc(), "error": error}
    print("@" + json.dumps(told))


def play(scene, commands):
    gdb.execute("delete")
    if not LIVE:
        gdb.execute("monitor goto begin", to_string=True)
    gdb.execute("break " + scene, to_string=True)
    gdb.execute("continue", to_string=True)
    gdb.execute("delete")
    if LIVE:
        # All of the scene is recorded first, so that no command leaves what gdb has recorded.
        gdb.execute("record", to_string=True)
        gdb.execute("finish", to_string=True)
        gdb.execute("stepi 40", to_string=True)
        gdb.execute("reverse-continue", to_string=True)
    show(scene, "entered")
    for command in commands:
        error = None
        try:
            gdb.execute(command, to_string=True)
        except gdb.error as failure:
            error = str(failure)
        show(scene, command, error)
        if error:
            break
    gdb.execute("delete")
    gdb.execute("set exec-direction forward")
    if LIVE:
        gdb.execute("record stop", to_string=True)


def whole_stack():
    """All frames but those that a signal interrupted: function, file, line."""
    found = []
    frame = gdb.newest_frame()
    while frame is not None:
        sal = frame.find_sal()
        if frame.type() != gdb.TAILCALL_FRAME:
            found.append([frame.name(), sal.symtab.filename if sal.symtab else None, sal.line])
        frame = None if frame.name() in ("on_signal", "__restore_rt") else frame.older()
    return found


def moments(count):
    gdb.execute("delete")
    if not LIVE:
        gdb.execute("monitor goto begin", to_string=True)
    gdb.execute("tbreak main", to_string=True)
    gdb.execute("run" if LIVE else "continue", to_string=True)
    for function in ("callee", "factorial", "last", "tail", "leave", "on_signal", "kept", "twice"):
        gdb.execute("break " + function, to_string=True)
    for i in range(count):
        gdb.execute("stepi" if i % 16 else "continue", to_string=True)
        if not gdb.selected_inferior().threads() or gdb.newest_frame().name() is None:
            break
        print("=" + json.dumps(whole_stack()))


def main():
    gdb.execute("set confirm off")
    gdb.execute("set pagination off")
    gdb.execute("set width 0")
    for signal in ("SIGUSR1", "SIGUSR2", "SIGALRM"):
        gdb.execute("handle %s nostop noprint pass" % signal, to_string=True)
    if LIVE:
        gdb.execute("break main", to_string=True)  # libraries are there then
        gdb.execute("run", to_string=True)
    with open(os.environ["SCENES"], encoding="ascii") as file:
        for scene, commands in json.load(file):
            play(scene, commands)
    moments(int(os.environ["MOMENTS"]))


main()
