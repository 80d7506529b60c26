# SPDX-License-Identifier: MIT
# Loaded by gdb: random commands, forward and backward, of a replay of one thread. The listing of its
# instructions says where each must lead. LISTING: a line for each, in program order: the address, "-" ahead of one
# where flow is missing before it, and how many calls deep it is, if that is known. SEED, COUNT.
import os
import random

import gdb


class Replayed:
    """Where the listing says that the thread stands."""

    def __init__(self, lines):
        words = [line.split() for line in lines]
        self.listing = [int(word[0].lstrip("-"), 16) for word in words]
        self.losses = {i for i, word in enumerate(words) if word[0].startswith("-")}
        self.depths = [int(word[1]) for word in words if len(word) > 1]
        self.stops = set()
        self.at, pc = place()
        if self.at == len(self.listing):  # that the flow came to, and that never executed
            self.listing.append(pc)
            self.depths += self.depths[-1:]

    def step(self, by):
        """Whether that ends a command of several steps."""
        to = min(max(self.at + by, 0), len(self.listing) - 1)
        stops = to == self.at or max(to, self.at) in self.losses or self.listing[to] in self.stops
        self.at = to
        return stops

    def run(self, by):
        while 0 <= self.at + by < len(self.listing):
            if self.step(by):
                return

    def finish(self, by):
        """To where the call has returned, or back to its call. False: the listing has not both ends of it."""
        depth = self.depths[self.at]
        ends = range(self.at + 1, len(self.listing)) if by == 1 else range(self.at - 1, -1, -1)
        end = next((i for i in ends if self.depths[i] < depth), None)
        if end is None or depth == 0:
            return False
        # gdb itself goes back to the last begin of the function, in whichever call that was.
        if by == -1 and max(self.depths[end:self.at + 1]) > depth:
            return False
        self.at = end
        return True


def place():
    number = gdb.execute("monitor when", to_string=True).split("#")[1].split()[0]
    return int(number), gdb.newest_frame().pc()


def step_lines(truth, chance):
    """Lines are not in the listing. A step by line must lead to a place that is, in its direction, and one over calls
    no deeper."""
    by = chance.choice([1, -1])
    kind = chance.choice(["next", "step"])
    before = truth.at
    words = kind if by == 1 else "reverse-" + kind
    try:
        gdb.execute(words, to_string=True)
    except gdb.error:
        pass  # code without a function
    truth.at, pc = place()
    if truth.listing[truth.at] != pc or (truth.at - before) * by < 0:
        return words + " (elsewhere)"
    # A breakpoint or a loss may lie deeper.
    free = not truth.stops and not truth.losses and truth.depths
    if free and kind == "next" and truth.depths[truth.at] > truth.depths[before]:
        return words + " (deeper)"
    return ""


def command(truth, chance):
    kind = chance.randrange(9)
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
            if truth.step(by):
                break
        return "%s %d" % ("stepi" if by == 1 else "reverse-stepi", times)
    by = chance.choice([1, -1])
    if kind < 7 and truth.depths and not truth.stops and not truth.losses and truth.finish(by):
        return "finish" if by == 1 else "reverse-finish"
    truth.run(by)
    return "continue" if by == 1 else "reverse-continue"


def main():
    with open(os.environ["LISTING"], encoding="ascii") as file:
        truth = Replayed(file.read().splitlines())
    chance = random.Random(int(os.environ["SEED"]))
    done = 0
    for _ in range(int(os.environ["COUNT"])):
        before = truth.at
        if chance.randrange(4) == 0:
            wrong = step_lines(truth, chance)
            if wrong:
                print("wrong behind", done, wrong, "from", before, place())
                return
            done += 1
            continue
        words = command(truth, chance)
        if words == "nothing":
            continue
        gdb.execute(words, to_string=True)
        done += 1
        if place() != (truth.at, truth.listing[truth.at]):
            print("wrong behind", done, words, "from", before, place(), (truth.at, truth.listing[truth.at]))
            return
    print("\nright", done)  # a step may have left a line without its end


main()
