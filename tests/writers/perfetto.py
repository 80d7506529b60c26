# SPDX-License-Identifier: MIT
"""A Perfetto trace, read by the numbers that its published definition gives to fields, and by the rules of a reader:
numbers of names count within one sequence, from the packet on that clears what was known before."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import wire  # noqa: E402

PACKET = {8: "timestamp", 10: "sequence", 11: "event", 12: "interned", 13: "flags", 59: "defaults", 60: "track"}
EVENT = {4: "annotations", 9: "type", 10: "name_iid", 11: "track", 23: "name", 30: "counter", 47: "flows", 48: "ends"}
ANNOTATION = {1: "name_iid", 3: "number", 6: "text", 17: "text_iid"}
TRACK = {1: "uuid", 2: "name", 3: "process", 4: "thread", 5: "parent", 8: "counter"}
PROCESS = {1: "pid", 6: "name"}
THREAD = {1: "pid", 2: "tid", 5: "name"}
INTERNED = {2: "names", 3: "annotations", 29: "texts"}
NAMED = {1: "iid", 2: "name"}
CLEARED, NEEDED = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
LONGEST = 32 * 1024


class Thread:
    def __init__(self, name, process):
        self.name, self.process = name, process
        self.calls, self.states, self.waits, self.holds, self.counter, self.losses = [], [], [], [], [], []
        self.objects, self.flows, self.ends = set(), [], []
        self.whole_calls = self.instructions = 0
        self.open = {}  # names of slices that have not ended, by track


class Sequence:
    def __init__(self):
        self.names, self.annotations, self.texts = {}, {}, {}

    def learn(self, data):
        for kind, found in wire.message(data, INTERNED).items():
            for each in found:
                named = wire.message(each, NAMED)
                known = getattr(self, kind)
                if named["iid"][0] in known or named["iid"][0] == 0:
                    raise ValueError(f"the {kind} of number {named['iid'][0]} are given twice, or have none")
                known[named["iid"][0]] = text(named["name"][0])


def text(data):
    if len(data) >= LONGEST:
        raise ValueError(f"a text of {len(data)} bytes")
    return data.decode("utf-8")


class Reader:
    def __init__(self):
        self.sequences, self.tracks, self.threads, self.processes = {}, {}, {}, {}
        self.default_track = {}

    def packet(self, data):
        packet = wire.message(data, PACKET)
        number = packet["sequence"][0]
        flags = packet["flags"][0]
        if flags & CLEARED:
            self.sequences[number] = Sequence()
        sequence = self.sequences[number]
        assert flags & NEEDED
        for each in packet.get("interned", []):
            sequence.learn(each)
        for each in packet.get("defaults", []):
            track = wire.message(wire.message(each, {11: "event"})["event"][0], {11: "track"})["track"][0]
            self.default_track[number] = track
        for each in packet.get("track", []):
            self.describe(wire.message(each, TRACK))
        for each in packet.get("event", []):
            event = wire.message(each, EVENT)
            track = event.get("track", [self.default_track.get(number)])[0]
            self.event(sequence, *self.tracks[track], event, packet["timestamp"][0])

    def describe(self, track):
        uuid = track["uuid"][0]
        if uuid in self.tracks or uuid in self.processes:
            raise ValueError(f"track {uuid} is described twice")
        if "process" in track:
            self.processes[uuid] = text(wire.message(track["process"][0], PROCESS)["name"][0])
        elif "thread" in track:
            thread = wire.message(track["thread"][0], THREAD)
            tid = thread["tid"][0]
            self.threads[tid] = Thread(text(thread["name"][0]), self.processes[track["parent"][0]])
            self.tracks[uuid] = (self.threads[tid], "calls")
        else:
            name = text(track["name"][0])
            kind = {"state": "states", "instructions": "counter", "waits": "waits", "holds": "holds"}[name]
            self.tracks[uuid] = (self.tracks[track["parent"][0]][0], kind)

    def event(self, sequence, thread, kind, event, time):
        marks = {}
        for each in event.get("annotations", []):
            mark = wire.message(each, ANNOTATION)
            value = mark["number"][0] if "number" in mark else sequence.texts[mark["text_iid"][0]]
            marks[sequence.annotations[mark["name_iid"][0]]] = value
        name = text(event["name"][0]) if "name" in event else sequence.names.get(event.get("name_iid", [0])[0])
        thread.flows += [(flow, time) for flow in event.get("flows", [])]
        thread.ends += [(flow, time) for flow in event.get("ends", [])]
        what = event["type"][0]
        if what == COUNTER:
            thread.counter.append((time, event["counter"][0]))
        elif what == INSTANT and kind == "calls":
            thread.losses.append((time, name))
        elif what == INSTANT and kind == "holds":
            thread.holds.append((time, name))
        elif what in (BEGIN, END):
            self.slice(thread, kind, what == BEGIN, name, time)
        if kind == "calls" and "self instructions" in marks:
            thread.whole_calls += 1
            thread.instructions += marks["self instructions"]
        if "object" in marks:
            thread.objects.add(marks["object"])

    def slice(self, thread, kind, begins, name, time):
        """An end has no name: it ends the slice that began last."""
        told, open_slices = getattr(thread, kind), thread.open.setdefault(kind, [])
        if begins:
            open_slices.append(name)
            told.append((True, name, time))
            return
        told.append((False, open_slices.pop(), time))


def read(data):
    """{tid: Thread} of a trace."""
    reader = Reader()
    for number, packet in wire.fields(data):
        assert number == 1
        reader.packet(packet)
    return reader.threads
