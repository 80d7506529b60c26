# SPDX-License-Identifier: MIT
"""Run by gdb: stops a program at moments and writes where its frames go on to the file $FRAMES.

$MOMENTS names a file with a line "ADDRESS COUNT" for each: the instruction there, after it was
executed so many times since the moment before. Writes "frames ADDRESS ..." for each, the innermost
first, without inlined ones; "signal" stands for the kernel's."""

import os

import gdb


def frames():
    words = []
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() == gdb.SIGTRAMP_FRAME:
            words.append("signal")
        elif frame.type() != gdb.INLINE_FRAME:
            words.append(f"{frame.pc():x}")
        frame = frame.older()
    return words


for setting in (
    "pagination off",
    "confirm off",
    "disable-randomization on",
    "backtrace past-main on",
    "backtrace past-entry on",
    "debuginfod enabled off",
):
    gdb.execute(f"set {setting}", to_string=True)
gdb.execute("starti", to_string=True)
with (
    open(os.environ["MOMENTS"], encoding="ascii") as moments,
    open(os.environ["FRAMES"], "w", encoding="ascii") as told,
):
    for line in moments:
        address, count = line.split()
        stop = gdb.Breakpoint(f"*0x{address}", internal=True)
        stop.ignore_count = int(count)
        gdb.execute("continue", to_string=True)
        print("frames", *frames(), file=told)
        stop.delete()
gdb.execute("kill", to_string=True)
