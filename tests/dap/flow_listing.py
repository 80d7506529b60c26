# SPDX-License-Identifier: MIT
"""What ran, from flowback's listing: each instruction, its line and the call that it belongs to. Steps by line follow
from that without a debugger: they are the judge of those that the debugger makes."""

import subprocess


class Call:
    def __init__(self, parent):
        self.parent = parent
        self.own = []  # numbers of its own instructions


class Listing:
    """REQUIRES: one thread, whose calls all return; code without optimisation."""

    def __init__(self, flowback, recording, source):
        text = subprocess.run(
            [flowback, "decode", "--no-cache", "-F", "ip,srcline,insn", recording],
            check=True, capture_output=True, text=True).stdout
        self.ips = []
        self.lines = []  # in the source; None: elsewhere
        self.calls = []
        call = Call(None)
        for row in text.splitlines():
            if row.startswith("#") or not row.strip():
                continue
            words = row.split()
            name = next((w for w in words if w.startswith(source + ":")), None)
            number = len(self.ips)
            self.ips.append(int(words[0].rstrip(":"), 16))
            self.lines.append(int(name.split(":")[1]) if name else None)
            self.calls.append(call)
            call.own.append(number)
            if "call" in words:
                call = Call(call)
            elif "ret" in words:
                call = call.parent or Call(None)

    def own_after(self, number):
        own = self.calls[number].own
        return own[own.index(number) + 1:]

    def own_before(self, number):
        own = self.calls[number].own
        return own[:own.index(number)][::-1]

    def after_call(self, call):
        """Where its caller goes on; None: nowhere that has lines."""
        while call.parent is not None:
            last = call.own[-1]
            call = call.parent
            rest = [n for n in call.own if n > last]
            if rest and self.lines[rest[0]] is not None:
                return rest[0]
        return None

    def next(self, number):
        for n in self.own_after(number):
            if self.lines[n] is not None and self.lines[n] != self.lines[number]:
                return n
        return self.after_call(self.calls[number])

    def step_in(self, number):
        previous = number
        for n in self.own_after(number):
            if n > previous + 1 and self.lines[previous + 1] is not None:
                return self.behind_prolog(previous + 1)
            if self.lines[n] is not None and self.lines[n] != self.lines[number]:
                return n
            previous = n
        return self.after_call(self.calls[number])

    def behind_prolog(self, entry):
        return next(n for n in self.own_after(entry) if self.lines[n] != self.lines[entry])

    def step_out(self, number):
        call = self.calls[number]
        rest = [n for n in call.parent.own if n > call.own[-1]]
        return rest[0]

    def step_back(self, number):
        before = self.own_before(number)
        if not before:
            call = self.calls[number]
            before = [n for n in call.parent.own if n < number][::-1]
        begin = before[0]
        for n in before[1:]:
            if self.lines[n] != self.lines[begin]:
                break
            begin = n
        return begin
