# SPDX-License-Identifier: MIT
# Loaded by gdb at a replay of throwing.cc. LISTING: each thread's instructions, as flowback decode lists
# them; they say where runs, steps and switches of threads must lead.
import json
import os
import random

import gdb


def tell(words):
    return gdb.execute(words, to_string=True)


def place():
    """The thread, the number of its instruction, and its address."""
    number = int(tell("monitor when").split("#")[1].split()[0])
    return gdb.selected_thread().ptid[1], number, gdb.newest_frame().pc()


def run(command):
    """The stops of a run from one end to the other, all at one address. gdb prints there that no history is left."""
    stops = []
    while True:
        tell(command)
        stop = place()
        if stops and stop[2] != stops[0][2]:
            return stops
        stops.append(stop)


def visits(listing, function, count):
    tell("monitor goto begin")
    tell("break " + function)
    there = run("continue")
    end = place()
    tell("stepi 40")
    assert place() == end, "the end"
    back = run("reverse-continue")
    begin = place()
    tell("reverse-stepi")
    assert place() == begin and begin[1] == 0, "the begin"
    tell("delete")
    assert there == back[::-1] and len(there) == count, (len(there), len(back))
    address = there[0][2]
    listed = {(tid, number) for tid, lines in listing.items() for number, ip in enumerate(lines) if ip == address}
    assert {stop[:2] for stop in there} == listed, function


def exceptions():
    """The stack at each throw; and from there to where it is caught, and back."""
    tell("monitor goto end")
    tell("catch throw")
    throws = run("reverse-continue")
    tell("delete")
    assert len(throws) == 12, throws
    for tid, number, _ in throws[:4]:
        tell("thread %d" % next(each.num for each in gdb.selected_inferior().threads() if each.ptid[1] == tid))
        tell("monitor goto #%d" % number)
        assert place()[:2] == (tid, number)
        frame, names = gdb.newest_frame(), []
        while frame is not None and len(names) < 4:
            names.append(frame.name())
            frame = frame.older()
        assert names == ["__cxa_throw", "fails", "serve", "work"], names
        tell("tbreak __cxa_begin_catch thread %d" % gdb.selected_thread().num)
        tell("continue")
        assert gdb.newest_frame().older().name() == "serve", gdb.newest_frame().older().name()
        tell("tbreak *%d thread %d" % (throws[0][2], gdb.selected_thread().num))
        tell("reverse-continue")
        assert place()[:2] == (tid, number), (place(), tid, number)


def switches(listing, chance, count):
    tell("monitor goto 50%")
    for _ in range(count):
        tid, number, pc = place()
        lines, by = listing[tid], chance.randrange(1, 9)
        kind = chance.randrange(5)
        if kind == 0 or number < 9 or number + 9 >= len(lines):
            number = chance.randrange(9, len(lines) - 9)
            tell("monitor goto #%d" % number)
        elif kind == 1:
            before = gdb.selected_thread().num
            other = chance.choice(gdb.selected_inferior().threads())
            tell("thread %d" % other.num)
            if chance.randrange(2):
                tell("info threads")  # gdb asks for the registers of all of them
            _, at, where = place()
            assert at >= len(listing[other.ptid[1]]) or listing[other.ptid[1]][at] == where, (other.ptid, at)
            if chance.randrange(2):
                continue
            tell("thread %d" % before)
        else:
            number += by if kind < 4 else -by
            tell("%s %d" % ("stepi" if kind < 4 else "reverse-stepi", by))
        assert place() == (tid, number, lines[number]), (kind, place(), tid, number)


def main():
    with open(os.environ["LISTING"], encoding="ascii") as file:
        listing = {int(tid): lines for tid, lines in json.load(file).items()}
    visits(listing, "fails", 24)
    exceptions()
    switches(listing, random.Random(1), int(os.environ["COUNT"]))
    print("right")


main()
