# SPDX-License-Identifier: MIT
# Loaded by gdb: random commands, forward and backward, of a replay of one thread. The listing of its
# instructions says where each must lead. LISTING: the addresses in program order, "-" ahead of one
# where flow is missing before it; SEED, COUNT.
import os
import random

import gdb


class Replayed:
    """Where the listing says that the thread stands."""

    def __init__(self, lines):
        self.listing = [int(line.lstrip("-"), 16) for line in lines]
        self.losses = {i for i, line in enumerate(lines) if line.startswith("-")}
        self.stops = set()
        self.at, pc = place()
        if self.at == len(self.listing):  # that the flow came to, and that never executed
            self.listing.append(pc)

    def step(self, by):
        self.at = min(max(self.at + by, 0), len(self.listing) - 1)

    def run(self, by):
        # Forward, gdb steps off a breakpoint first, and a step goes over what is missing.
        stepping = by == 1 and self.listing[self.at] in self.stops
        while 0 <= self.at + by < len(self.listing):
            lost = max(self.at, self.at + by) in self.losses
            self.at += by
            if self.listing[self.at] in self.stops or (lost and not stepping):
                return
            stepping = False


def place():
    number = gdb.execute("monitor when", to_string=True).split("#")[1].split()[0]
    return int(number), gdb.newest_frame().pc()


def command(truth, chance):
    kind = chance.randrange(8)
    if kind == 0:
        truth.at = chance.randrange(len(truth.listing))
        return "monitor goto #%d" % truth.at
    if kind == 1:
        address = chance.choice(truth.listing)
        if address in truth.stops:
            return "nothing"
        truth.stops.add(address)
        return "break *%d" % address
    if kind == 2 and truth.stops:
        truth.stops.clear()
        return "delete"
    if kind < 5:
        times = chance.randrange(1, 4)
        by = chance.choice([1, -1])
        for _ in range(times):
            truth.step(by)
            if truth.listing[truth.at] in truth.stops:
                break
        return "%s %d" % ("stepi" if by == 1 else "reverse-stepi", times)
    by = chance.choice([1, -1])
    truth.run(by)
    return "continue" if by == 1 else "reverse-continue"


def main():
    with open(os.environ["LISTING"], encoding="ascii") as file:
        truth = Replayed(file.read().split())
    chance = random.Random(int(os.environ["SEED"]))
    done = 0
    for _ in range(int(os.environ["COUNT"])):
        words = command(truth, chance)
        if words == "nothing":
            continue
        gdb.execute(words, to_string=True)
        done += 1
        if place() != (truth.at, truth.listing[truth.at]):
            print("wrong behind", done, words, place(), (truth.at, truth.listing[truth.at]))
            return
    print("right", done)


main()
