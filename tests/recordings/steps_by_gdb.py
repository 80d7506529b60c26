# SPDX-License-Identifier: MIT
"""Inside gdb: steps through the program that gdb was given, of one thread and without signals, and writes the
address of each instruction that completed, in order, into the file that $STEPS names.

The processor stops at each turn of a repeated string instruction; an instruction counts once however
often it repeats."""

import os

import gdb


def main():
    gdb.execute("set pagination off")
    gdb.execute("set disable-randomization on")
    gdb.execute("starti", to_string=True)
    inferior = gdb.selected_inferior()
    previous = None
    with open(os.environ["STEPS"], "w", encoding="utf-8") as out:
        while inferior.pid:
            address = int(gdb.parse_and_eval("$pc"))
            repeats = inferior.read_memory(address, 1)[0] in (b"\xf2", b"\xf3")
            if not (repeats and address == previous):
                print(f"{address:x}", file=out)
            previous = address
            gdb.execute("stepi", to_string=True)


main()
